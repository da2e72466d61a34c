package refund

import (
	"testing"
	"time"
)

// A decision takes effect once, and only with the verdict APPROVED, outside of an epoch, when no send can be executed any more.
func TestADecisionTakesEffectOnceAndOnlyWhenApproved(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	r := Record{Attempts: []Attempt{{DispatchNo: 1, Kind: AttemptSend, NotAfter: second(3)}, {DispatchNo: 1, Kind: AttemptQuery, NotAfter: second(50)}}}
	held := r
	held.SendingHeld = true
	for name, x := range map[string]struct {
		d     Decision
		r     Record
		after time.Time
		want  bool
	}{
		"approved":                   {Decision{Verdict: DecisionApproved}, r, second(13), true},
		"approved, a send may act":   {Decision{Verdict: DecisionApproved}, r, second(13).Add(-1), false},
		"approved, an epoch is open": {Decision{Verdict: DecisionApproved}, held, second(13), false},
		"in effect already":          {Decision{Verdict: DecisionApproved, AppliedAt: second(14)}, r, second(15), false},
		"not judged":                 {Decision{}, r, second(13), false},
		"rejected":                   {Decision{Verdict: DecisionRejected}, r, second(13), false},
		"expired":                    {Decision{Verdict: DecisionExpired}, r, second(13), false},
		"void":                       {Decision{Verdict: DecisionVoid}, r, second(13), false},
	} {
		if got := x.d.MayTakeEffect(x.r, c, x.after); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

// A decision waits for the last moment of a send that a restore may have removed, and one horizon more.
func TestADecisionWaitsForALostSend(t *testing.T) {
	t.Parallel()
	r := Record{Dispatches: []Dispatch{{Ordinal: 1}, {Ordinal: 2, LostSendUntil: second(60)}},
		Attempts: []Attempt{{DispatchNo: 1, Kind: AttemptSend, NotAfter: second(3)}}}
	if got := r.TakesEffectFrom(boundTerms()); !got.Equal(second(70)) {
		t.Errorf("from %v, want +70 s", got.Sub(day0))
	}
}

// A proposal repeats another one only if maker, action, evidence and line are equal: two makers make two proposals.
func TestTwoMakersMakeTwoProposals(t *testing.T) {
	t.Parallel()
	p := Proposal{Action: ActionConfirmSuccess, Evidence: "ticket 4711", EffectID: RID{15: 1}, Actor: "ann"}
	d := Decision{Action: p.Action, Evidence: p.Evidence, EffectID: p.EffectID, Maker: p.Actor}
	if !d.Same(p) {
		t.Error("a repeat is not recognised")
	}
	for name, change := range map[string]func(*Proposal){
		"maker":    func(p *Proposal) { p.Actor = "bob" },
		"action":   func(p *Proposal) { p.Action = ActionWait },
		"evidence": func(p *Proposal) { p.Evidence = "ticket 4712" },
		"line":     func(p *Proposal) { p.EffectID = RID{15: 2} },
	} {
		other := p
		change(&other)
		if d.Same(other) {
			t.Errorf("another %s counts as a repeat", name)
		}
	}
}

// A proposal is open until it is judged, and an approved one until it takes effect.
func TestADecisionIsOpenUntilItTakesEffect(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[DecisionVerdict]bool{"": true, DecisionApproved: true, DecisionRejected: false, DecisionExpired: false, DecisionVoid: false} {
		if got := (Decision{Verdict: verdict}).Open(); got != want {
			t.Errorf("verdict %q: open %v, want %v", verdict, got, want)
		}
	}
	if (Decision{Verdict: DecisionApproved, AppliedAt: day0}).Open() {
		t.Error("a decision in effect is open")
	}
}

// A channel expresses an amount between its bounds, both included, in one of its currencies; an empty list means all.
func TestAmountsAndCurrenciesThatAContractExpresses(t *testing.T) {
	t.Parallel()
	limited := LimitTerms{MinAmount: 10, MaxAmount: 900, Currencies: []Currency{"USD", "EUR"}}
	for name, x := range map[string]struct {
		l      LimitTerms
		amount int64
		cur    Currency
		want   bool
	}{
		"the smallest":        {limited, 10, "USD", true},
		"below the smallest":  {limited, 9, "USD", false},
		"the largest":         {limited, 900, "USD", true},
		"above the largest":   {limited, 901, "USD", false},
		"the second currency": {limited, 10, "EUR", true},
		"another currency":    {limited, 10, "JPY", false},
		"no limits":           {LimitTerms{}, MaxAmount, "JPY", true},
		"the same step":       {LimitTerms{Step: map[Currency]int64{"USD": 5}}, 10, "USD", true},
		"between two steps":   {LimitTerms{Step: map[Currency]int64{"USD": 5}}, 11, "USD", false},
	} {
		if got := (Contract{Limits: x.l}).Expresses(x.amount, x.cur); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}
