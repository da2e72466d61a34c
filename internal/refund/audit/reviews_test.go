package audit

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func peopleFindings(rid refund.RID, r *refund.Record, rows []StoredEntry, p ReviewRecords) map[string]bool {
	out := map[string]bool{}
	f := NewAuditor(func(f Finding) {
		if f.Promise == "P8" || f.Check == "attempt-missing" || f.Check == "effects-per-refund" {
			out[f.Check] = true
		}
	}).Fold(rid)
	for _, e := range rows {
		f.Add(e)
	}
	f.checkAnswers(r)
	f.People(r, func(string, int) (refund.Contract, bool) {
		return refund.Contract{Key: refund.IdempotencyTerms{Dedupes: true}}, true
	}, p)
	f.Unproven(p.Decisions)
	return out
}

// A rule with two steps writes one answer under two kinds; a row with a claim's kind has none.
func TestFoldComparesAnswers(t *testing.T) {
	t.Parallel()
	rid := refund.RID{15: 9}
	step := func(kind, data string) refund.Entry {
		return refund.Entry{Kind: kind, From: refund.StatePending, To: refund.StatePending, Source: "answer", Actor: "system:worker", Data: data}
	}
	rows := journalOf(rid, refund.Entry{Kind: "requested", To: refund.StatePending, Data: `{"attempt":7}`},
		refund.Entry{Kind: "claim_send", From: refund.StatePending, To: refund.StatePending, Source: "worker", Data: `{}`},
		step("succeeded", `{"attempt":1,"code":"\"attempt\":5","rule":"failed/late-attached"}`), step("reversed", `{"attempt":1,"rule":"failed/late-attached"}`),
		step("refused", `{"attempt":2,"rule":"refused/open"}`), step("known", `{"dispatch":1}`))
	rows[3].At = rows[2].At // both rows of one answer
	for _, c := range []struct {
		first, second refund.FactKind
		want          string
	}{
		{refund.FailedFinal, refund.RefusedClean, ""},
		{refund.Succeeded, refund.RefusedClean, "answer-differs"},
		{refund.FailedFinal, "", "answer-differs"},
		{refund.FailedFinal, refund.NotSent, "answer-differs"},
	} {
		r := &refund.Record{Attempts: []refund.Attempt{{No: 1, Answer: c.first, AnsweredAt: rows[2].At}, {No: 2, Answer: c.second, AnsweredAt: rows[4].At}}}
		if got := peopleFindings(rid, r, rows, ReviewRecords{}); got[c.want] != (c.want != "") || (c.want == "" && len(got) > 0) {
			t.Errorf("%s, %s: %v, want %q", c.first, c.second, got, c.want)
		}
	}
	first := &refund.Record{Attempts: []refund.Attempt{{No: 1, Answer: refund.FailedFinal}}}
	if got := peopleFindings(rid, first, rows, ReviewRecords{}); !got["attempt-missing"] {
		t.Errorf("no second attempt: %v", got)
	}
}

// Two effects are accepted by a decision only if nothing followed it.
func TestFoldIgnoresAcceptedEffects(t *testing.T) {
	t.Parallel()
	rid, id, caseID := refund.RID{15: 9}, refund.RID{15: 10}, refund.RID{15: 11}
	open := refund.Entry{Kind: "succeeded", From: refund.StateSuccess, To: refund.StateSuccess, Source: "notice",
		Data: `{"case":["multiple-effects"],"dispatch":1}`}
	judged := refund.Entry{Kind: "accept-as-is", From: refund.StateSuccess, To: refund.StateSuccess, Source: "decision", Actor: "actor:bob",
		Data: `{"checker":"bob","decision":"` + id.String() + `","dispatch":1,"maker":"ann"}`}
	rows := journalOf(rid, refund.Entry{Kind: "requested", To: refund.StateSuccess, Data: "{}"}, open, judged)
	opened, applied := rows[1].At, rows[2].At
	sound := func() (*refund.Record, ReviewRecords) {
		effect := refund.Effect{Ours: true, DispatchNo: 1, Status: refund.EffectMoved, ChannelRefundID: "a", At: opened}
		other := effect
		other.ChannelRefundID = "b"
		return &refund.Record{Effects: []refund.Effect{effect, other}, Attempts: []refund.Attempt{{No: 1, Kind: refund.AttemptSend}}}, ReviewRecords{
			Cases: []StoredCase{{ID: caseID, OpenedAt: opened, ClosedAt: applied}},
			Decisions: []refund.Decision{{ID: id, CaseID: caseID, Action: refund.ActionAcceptAsIs, Maker: "ann", Checker: "bob", Verdict: refund.DecisionApproved,
				JournalSeq: 2, MadeAt: opened.Add(time.Millisecond), AppliedAt: applied}}}
	}
	r, p := sound()
	if got := peopleFindings(rid, r, rows, p); len(got) > 0 {
		t.Errorf("a valid case: %v", got)
	}
	for name, c := range map[string]struct {
		change func(r *refund.Record, p *ReviewRecords)
		want   string
	}{
		"an effect after the decision": {func(r *refund.Record, _ *ReviewRecords) { r.Effects[1].At = applied }, "effects-per-refund"},
		"closed at another time":       {func(_ *refund.Record, p *ReviewRecords) { p.Cases[0].ClosedAt = applied.Add(time.Second) }, "effects-per-refund"},
		"no decision":                  {func(_ *refund.Record, p *ReviewRecords) { p.Decisions = nil }, "decision-missing"},
		"no case":                      {func(_ *refund.Record, p *ReviewRecords) { p.Cases = nil }, "case-missing"},
		"one actor":                    {func(_ *refund.Record, p *ReviewRecords) { p.Decisions[0].Checker = "ann" }, "decision-unproven"},
		"another maker":                {func(_ *refund.Record, p *ReviewRecords) { p.Decisions[0].Maker = "cid" }, "decision-differs"},
		"another action":               {func(_ *refund.Record, p *ReviewRecords) { p.Decisions[0].Action = refund.ActionResend }, "decision-differs"},
		"another time":                 {func(_ *refund.Record, p *ReviewRecords) { p.Decisions[0].AppliedAt = opened }, "decision-differs"},
		"made on another row":          {func(_ *refund.Record, p *ReviewRecords) { p.Decisions[0].JournalSeq = 1 }, "decision-differs"},
		"another case":                 {func(_ *refund.Record, p *ReviewRecords) { p.Decisions[0].CaseID = id }, "decision-differs"},
		"a decision without a journal row": {func(_ *refund.Record, p *ReviewRecords) {
			d := p.Decisions[0]
			d.ID = caseID
			p.Decisions = append(p.Decisions, d)
		}, "decision-untold"},
	} {
		r, p := sound()
		if c.change(r, &p); !peopleFindings(rid, r, rows, p)[c.want] {
			t.Errorf("%s: %s was not found: %v", name, c.want, peopleFindings(rid, r, rows, p))
		}
	}
}
