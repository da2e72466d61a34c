package refund

import (
	"fmt"
	"slices"
	"time"
)

// close derives reasons, ask and balances from state, exposure and effects.
func (o *reference) close(before Record) {
	clear := o.clear()
	if o.r.State != before.State && o.in(StatePending, StateAccepted) { // another step or another wait begins
		o.answered(CaseNoStep)
		if o.in(StateAccepted) || !o.overdue() {
			o.answered(CaseDeadline)
		}
	}
	if o.r.State != StatePending {
		o.r.AskNo = 0
	}
	switch {
	case o.ended() && clear:
		o.answered(CaseDeadline)
		o.answered(CaseNoStep)
		o.answered(CaseOtherNumberOpen)
	case o.in(StateSuccess, StateReversed):
		o.open(CaseOtherNumberOpen)
	}
	p := &o.r.Payment
	p.Reserved, p.Refunded, p.Held = 0, 0, 0
	if !o.ended() {
		p.Reserved = o.r.Amount
	} else if !clear {
		p.Held = o.r.Amount
	}
	for _, e := range o.r.Effects {
		if e.Status == EffectMoved {
			p.Refunded += e.Counted
		}
	}
	p.Excess = max(0, p.Reserved+p.Refunded+p.Held+p.RefundedElsewhere-p.Captured)
	if p.Excess <= p.ExcessAccepted {
		o.answered(CaseExcess)
	} else if p.Excess > before.Payment.Excess {
		o.open(CaseExcess)
	}
}

// differences returns the differences between a change and the reference.
func (o *reference) differences(ch Change) []string {
	var out []string
	got := ch.After
	add := func(what string, got, want any) {
		out = append(out, fmt.Sprintf("%s is %v, want %v", what, got, want))
	}
	if got.State != o.r.State || got.AskNo != o.r.AskNo || got.DispatchNo != o.r.DispatchNo {
		add("state, ask, live number", []any{got.State, got.AskNo, got.DispatchNo}, []any{o.r.State, o.r.AskNo, o.r.DispatchNo})
	}
	if len(got.Dispatches) != len(o.r.Dispatches) {
		return append(out, "numbers differ")
	}
	for _, d := range o.r.Dispatches {
		g, _ := got.Dispatch(d.Ordinal)
		has := [4]bool{g.Exposed, g.Overridden, g.Acknowledged, g.FinalNegativeAt.IsZero()}
		exposed := d.Exposed
		if !o.nothing {
			exposed = o.exposedNo(d.Ordinal)
		}
		if want := [4]bool{exposed, d.Overridden, d.Acknowledged, d.FinalNegativeAt.IsZero()}; has != want {
			add(fmt.Sprintf("number %d: exposed, overridden, acknowledged, without end", d.Ordinal), has, want)
		}
	}
	var want []CaseReason
	for r := range o.reasons {
		want = append(want, r)
	}
	slices.Sort(want)
	if !slices.Equal(reasonsOf(got.Case), want) {
		add("case", reasonsOf(got.Case), want)
	}
	same := slices.EqualFunc(got.Effects, o.r.Effects, func(a, b Effect) bool {
		a.At, a.ReversedAt, b.At, b.ReversedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return a == b
	})
	if !same {
		add("effects", plainEffects(got.Effects), plainEffects(o.r.Effects))
	}
	money := func(p Payment) [4]int64 { return [4]int64{p.Reserved, p.Refunded, p.Held, p.Excess} }
	if g, w := money(got.Payment), money(o.r.Payment); g != w {
		add("reserved, refunded, held, excess", g, w)
	}
	return out
}

func plainEffects(es []Effect) []string {
	out := []string{}
	for _, e := range es {
		out = append(out, fmt.Sprintf("%v/%d/%s/%d%s/%d/%s/%v", e.Ours, e.DispatchNo, e.ChannelRefundID, e.Amount, e.Currency, e.Counted, e.Status, e.ByPerson))
	}
	return out
}
