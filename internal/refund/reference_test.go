package refund

import (
	"errors"
	"slices"
)

// The reference: docs/rules.md written a second time, fact by fact and state by state, independently of the table. Where the
// rules leave room it takes the safer reading:
//
//  1. Retryable and NotSent while ACCEPTED and still exposed: ACCEPTED stays, because a repeat that did nothing does not
//     revoke an acknowledgement. A refusal leads to UNKNOWN.
//  2. An acknowledgement after the number's known end is older than that end, unless a request can still be executed.
//  3. FailedFinal and a success are about the same refund unless both have ids and these differ. Without a contract in which
//     failed may follow succeeded, the success stands, in either order.
//  4. The same effect with another amount or currency: the books stand and a case opens. So does a pair.
//  5. A return of another amount is not booked. It proves that the channel has the refund: exposed, a case, no send. A
//     return without an id is known if any return of its number is.
//  6. A return of an unbooked effect while REVERSED is booked with its effect, and a case opens.
//  7. other-number-open is a reason exactly while something is exposed under SUCCESS or REVERSED. An end without exposure
//     answers deadline and no-automatic-step. So do ACCEPTED and PENDING, unless the wait of PENDING is over too.
//  8. FailedFinal answers the case of an acknowledgement in every state, once nothing is exposed.
//  9. An absence counts from absence_counts_from on, that instant included; the later of the stored time and of the present
//     contract's.
//  10. A decision is no fact of the channel: the same fact from the channel later is not known.
//  11. A return without an id of an effect that only a person had confirmed has the result of a later revoke-confirmation;
//     it does not expose again.
//
// Its methods are in reference_*_test.go.
type reference struct {
	r       Record
	c       Contract
	f       Fact
	reasons map[CaseReason]bool
	asked   *Attempt
	ackWas  bool
	before  Record
	nothing bool // the change is not even dated
}

func newReference(r Record, f Fact, c Contract) *reference {
	return &reference{r: clone(r), c: c, f: f, reasons: map[CaseReason]bool{}, before: r}
}

// expectedChange returns the record after the fact. Times of the row and its journal are not part of the comparison.
func expectedChange(before Record, f Fact, c Contract) (*reference, error) {
	o := newReference(before, f, c)
	for _, x := range reasonsOf(before.Case) {
		o.reasons[x] = true
	}
	if f.Dispatch == 0 {
		o.f.Dispatch = before.DispatchNo
	}
	ours := f.Kind == LeaseEnd || f.Kind == Settled || f.Kind == KeyExpired || f.Kind == Deadline
	if ours && (f.Generation != before.Generation || !proposed(before, o.f, c)) {
		return nil, ErrNotOwner
	}
	if f.Attempt != 0 {
		for i := range o.r.Attempts {
			if a := &o.r.Attempts[i]; a.No == f.Attempt {
				if a.Answer != "" {
					o.nothing = true // an answer is written once
					return o, nil
				}
				a.Answer, a.AnsweredAt, a.Code = f.Kind, o.r.Now, f.Code
				o.asked = a
			}
		}
		if o.asked == nil {
			return nil, errors.New("no such attempt")
		}
	}
	d := o.d()
	o.ackWas = d.Acknowledged
	status := f.Kind == Succeeded || f.Kind == Acknowledged || f.Kind == FailedFinal || f.Kind == Reversed
	known := status && f.Source != "decision" && before.Facts[FactKey(d.Number, string(f.Kind), f.ChannelRefundID, f.Amount, f.Currency)]
	other := slices.ContainsFunc(o.r.Dispatches, func(x Dispatch) bool { return x.Ordinal != d.Ordinal && x.ChannelRefundID == f.ChannelRefundID })
	if status && f.ChannelRefundID != "" && d.ChannelRefundID == "" && !other {
		d.ChannelRefundID, d.Acknowledged = f.ChannelRefundID, true
	}
	if f.Kind == FailedFinal && d.FinalNegativeAt.IsZero() {
		d.FinalNegativeAt = o.r.Now
	}
	if f.Kind == Acknowledged || f.Kind == Reversed {
		if !o.ackWas {
			d.Overridden = false
		}
		d.Acknowledged = true
	}
	if !known || (f.Kind == FailedFinal && o.r.AskNo == o.f.Dispatch) || o.returnsNow() {
		o.column()
	}
	o.leaveIfClear()
	o.close(before)
	return o, nil
}

// proposed reports whether a conclusion would be proposed again: a lease's end by the sweeper, the others by Decide, whose
// steps stepBreaks checks.
func proposed(r Record, f Fact, c Contract) bool {
	if f.Kind == LeaseEnd {
		return r.State == StateProcessing && !r.LeaseEndsAt.After(r.Now)
	}
	step := Decide(r, c, r.Now)
	again := conclusionOf(step, r.Generation)
	return again.Kind == f.Kind && again.Reason == f.Reason && (again.Dispatch == 0 || again.Dispatch == f.Dispatch)
}

func (o *reference) d() *Dispatch { d, _ := o.r.Dispatch(o.f.Dispatch); return d }

func (o *reference) live() *Dispatch { d, _ := o.r.Dispatch(o.r.DispatchNo); return d }

func (o *reference) open(r CaseReason)     { o.reasons[r] = true }
func (o *reference) answered(r CaseReason) { delete(o.reasons, r) }
func (o *reference) in(s ...State) bool    { return slices.Contains(s, o.r.State) }
func (o *reference) inFlight() bool        { return o.in(StateProcessing, StateUnknown, StateAccepted) }
func (o *reference) ended() bool {
	return o.in(StateSuccess, StateFailed, StateCanceled, StateReversed)
}
func (o *reference) ofSend() bool             { return o.asked == nil || o.asked.Kind == AttemptSend }
func (o *reference) isLive() bool             { return o.f.Dispatch == o.r.DispatchNo }
func (o *reference) personOnly(e Effect) bool { return e.ByPerson && e.ChannelRefundID == "" }

func (o *reference) newNumber() {
	o.r.DispatchNo++
	o.r.Dispatches = append(o.r.Dispatches, Dispatch{Ordinal: o.r.DispatchNo})
	o.r.State = StatePending
}

// leaveIfClear: UNKNOWN, ACCEPTED and PROCESSING are left as soon as nothing is exposed, whatever ended it.
func (o *reference) leaveIfClear() {
	if !o.inFlight() || !o.clear() {
		return
	}
	if o.hopeless() {
		o.r.State = StateFailed
		return
	}
	o.r.State = StatePending
}
