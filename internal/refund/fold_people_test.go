package refund

import (
	"testing"
	"time"
)

func peopleFindings(rid RID, r *Record, rows []StoredEntry, p ReviewRecords) map[string]bool {
	out := map[string]bool{}
	f := NewAuditor(func(f Finding) {
		if f.Promise == "P8" || f.Check == "attempt-missing" || f.Check == "effects-per-refund" {
			out[f.Check] = true
		}
	}).Fold(rid)
	for _, e := range rows {
		f.Add(e)
	}
	f.answered(r)
	f.People(r, func(string, int) (Contract, bool) { return Contract{Key: IdempotencyTerms{Dedupes: true}}, true }, p)
	f.Unproven(p.Decisions)
	return out
}

// A table row with two steps tells one answer under two names; a row under the claim's name tells none.
func TestFoldComparesAnswers(t *testing.T) {
	t.Parallel()
	rid := RID{15: 9}
	step := func(kind, data string) Entry {
		return Entry{Kind: kind, From: StatePending, To: StatePending, Source: "answer", Actor: "system:worker", Data: data}
	}
	rows := journalOf(rid, Entry{Kind: "requested", To: StatePending, Data: `{"attempt":7}`}, Entry{Kind: "claim_send", From: StatePending, To: StatePending, Source: "worker", Data: `{}`},
		step("succeeded", `{"attempt":1,"code":"\"attempt\":5","rule":"failed/late-attached"}`), step("reversed", `{"attempt":1,"rule":"failed/late-attached"}`),
		step("refused", `{"attempt":2,"rule":"refused/open"}`), step("known", `{"dispatch":1}`))
	for _, c := range []struct {
		first, second FactKind
		want          string
	}{
		{FailedFinal, RefusedClean, ""},
		{Succeeded, RefusedClean, "answer-differs"},
		{FailedFinal, "", "answer-differs"},
		{FailedFinal, NotSent, "answer-differs"},
	} {
		r := &Record{Attempts: []Attempt{{No: 1, Answer: c.first}, {No: 2, Answer: c.second}}}
		if got := peopleFindings(rid, r, rows, ReviewRecords{}); got[c.want] != (c.want != "") || (c.want == "" && len(got) > 0) {
			t.Errorf("%s, %s: %v, want %q", c.first, c.second, got, c.want)
		}
	}
	if got := peopleFindings(rid, &Record{Attempts: []Attempt{{No: 1, Answer: FailedFinal}}}, rows, ReviewRecords{}); !got["attempt-missing"] {
		t.Errorf("no second attempt: %v", got)
	}
}

// Two effects are what two people have judged only while nothing came behind their decision.
func TestFoldLeavesOutWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	rid, id, caseID := RID{15: 9}, RID{15: 10}, RID{15: 11}
	open := Entry{Kind: "succeeded", From: StateSuccess, To: StateSuccess, Source: "notice", Data: `{"case":["multiple-effects"],"dispatch":1}`}
	judged := Entry{Kind: "accept-as-is", From: StateSuccess, To: StateSuccess, Source: "decision", Actor: "actor:bob", Data: `{"checker":"bob","decision":"` + id.String() + `","dispatch":1,"maker":"ann"}`}
	rows := journalOf(rid, Entry{Kind: "requested", To: StateSuccess, Data: "{}"}, open, judged)
	opened, applied := rows[1].At, rows[2].At
	sound := func() (*Record, ReviewRecords) {
		effect := Effect{Ours: true, DispatchNo: 1, Status: EffectMoved, ChannelRefundID: "a", At: opened}
		other := effect
		other.ChannelRefundID = "b"
		return &Record{Effects: []Effect{effect, other}, Attempts: []Attempt{{No: 1, Kind: AttemptSend}}}, ReviewRecords{
			Cases: []StoredCase{{ID: caseID, OpenedAt: opened, ClosedAt: applied}},
			Decisions: []Decision{{ID: id, CaseID: caseID, Action: ActionAcceptAsIs, Maker: "ann", Checker: "bob", Verdict: DecisionApproved,
				MadeAt: opened.Add(time.Millisecond), AppliedAt: applied}}}
	}
	r, p := sound()
	if got := peopleFindings(rid, r, rows, p); len(got) > 0 {
		t.Errorf("a sound case: %v", got)
	}
	for name, c := range map[string]struct {
		change func(r *Record, p *ReviewRecords)
		want   string
	}{
		"an effect behind the decision": {func(r *Record, _ *ReviewRecords) { r.Effects[1].At = applied }, "effects-per-refund"},
		"not closed by it":              {func(_ *Record, p *ReviewRecords) { p.Cases[0].ClosedAt = applied.Add(time.Second) }, "effects-per-refund"},
		"no decision":                   {func(_ *Record, p *ReviewRecords) { p.Decisions = nil }, "decision-missing"},
		"no case":                       {func(_ *Record, p *ReviewRecords) { p.Cases = nil }, "case-missing"},
		"one actor":                     {func(_ *Record, p *ReviewRecords) { p.Decisions[0].Checker = "ann" }, "decision-unproven"},
		"another maker":                 {func(_ *Record, p *ReviewRecords) { p.Decisions[0].Maker = "cid" }, "decision-differs"},
		"another action":                {func(_ *Record, p *ReviewRecords) { p.Decisions[0].Action = ActionResend }, "decision-differs"},
		"another time":                  {func(_ *Record, p *ReviewRecords) { p.Decisions[0].AppliedAt = opened }, "decision-differs"},
		"another case":                  {func(_ *Record, p *ReviewRecords) { p.Decisions[0].CaseID = id }, "decision-differs"},
		"an untold one": {func(_ *Record, p *ReviewRecords) {
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
