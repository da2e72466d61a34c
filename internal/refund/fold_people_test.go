package refund

import (
	"testing"
	"time"
)

func peopleFindings(rid RID, r *Record, rows []StoredEntry, p Papers) map[string]bool {
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
	f.People(r, func(string, int) (Contract, bool) { return Contract{Key: KeyTerms{Dedupes: true}}, true }, p)
	f.Unproven(p.Decisions)
	return out
}

// A table row with two steps tells one answer under two names; a row under the claim's name tells none.
func TestFoldComparesAnswers(t *testing.T) {
	t.Parallel()
	rid := RID{15: 9}
	step := func(kind, data string) Entry {
		return Entry{Kind: kind, From: Pending, To: Pending, Source: "answer", Actor: "system:worker", Data: data}
	}
	rows := journalOf(rid, Entry{Kind: "requested", To: Pending, Data: `{"attempt":7}`}, Entry{Kind: "claim_send", From: Pending, To: Pending, Source: "worker", Data: `{}`},
		step("succeeded", `{"attempt":1,"code":"\"attempt\":5","row":"failed/late-attached"}`), step("reversed", `{"attempt":1,"row":"failed/late-attached"}`),
		step("refused", `{"attempt":2,"row":"refused/open"}`), step("known", `{"dispatch":1}`))
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
		if got := peopleFindings(rid, r, rows, Papers{}); got[c.want] != (c.want != "") || (c.want == "" && len(got) > 0) {
			t.Errorf("%s, %s: %v, want %q", c.first, c.second, got, c.want)
		}
	}
	if got := peopleFindings(rid, &Record{Attempts: []Attempt{{No: 1, Answer: FailedFinal}}}, rows, Papers{}); !got["attempt-missing"] {
		t.Errorf("no second attempt: %v", got)
	}
}

// Two effects are what two people have judged only while nothing came behind their decision.
func TestFoldLeavesOutWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	rid, id, caseID := RID{15: 9}, RID{15: 10}, RID{15: 11}
	open := Entry{Kind: "succeeded", From: Success, To: Success, Source: "notice", Data: `{"case":["multi"],"dispatch":1}`}
	judged := Entry{Kind: "acknowledge", From: Success, To: Success, Source: "decision", Actor: "actor:bob", Data: `{"checker":"bob","decision":"` + id.String() + `","dispatch":1,"maker":"ann"}`}
	rows := journalOf(rid, Entry{Kind: "requested", To: Success, Data: "{}"}, open, judged)
	opened, applied := rows[1].At, rows[2].At
	sound := func() (*Record, Papers) {
		effect := Effect{Ours: true, DispatchNo: 1, Status: EffectMoved, ChannelRefundID: "a", At: opened}
		other := effect
		other.ChannelRefundID = "b"
		return &Record{Effects: []Effect{effect, other}, Attempts: []Attempt{{No: 1, Kind: AttemptSend}}}, Papers{
			Cases: []StoredCase{{ID: caseID, OpenedAt: opened, ClosedAt: applied}},
			Decisions: []Decision{{ID: id, CaseID: caseID, Action: ActionAcknowledge, Maker: "ann", Checker: "bob", Verdict: DecisionApproved,
				MadeAt: opened.Add(time.Millisecond), AppliedAt: applied}}}
	}
	r, p := sound()
	if got := peopleFindings(rid, r, rows, p); len(got) > 0 {
		t.Errorf("a sound case: %v", got)
	}
	for name, c := range map[string]struct {
		change func(r *Record, p *Papers)
		want   string
	}{
		"an effect behind the decision": {func(r *Record, _ *Papers) { r.Effects[1].At = applied }, "effects-per-refund"},
		"not closed by it":              {func(_ *Record, p *Papers) { p.Cases[0].ClosedAt = applied.Add(time.Second) }, "effects-per-refund"},
		"no decision":                   {func(_ *Record, p *Papers) { p.Decisions = nil }, "decision-missing"},
		"no case":                       {func(_ *Record, p *Papers) { p.Cases = nil }, "case-missing"},
		"one actor":                     {func(_ *Record, p *Papers) { p.Decisions[0].Checker = "ann" }, "decision-unproven"},
		"another maker":                 {func(_ *Record, p *Papers) { p.Decisions[0].Maker = "cid" }, "decision-differs"},
		"another action":                {func(_ *Record, p *Papers) { p.Decisions[0].Action = ActionResend }, "decision-differs"},
		"another time":                  {func(_ *Record, p *Papers) { p.Decisions[0].AppliedAt = opened }, "decision-differs"},
		"another case":                  {func(_ *Record, p *Papers) { p.Decisions[0].CaseID = id }, "decision-differs"},
		"an untold one": {func(_ *Record, p *Papers) {
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
