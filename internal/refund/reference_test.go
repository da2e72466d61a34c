package refund

import (
	"errors"
	"slices"
)

// The oracle: docs/rules.md written a second time, fact by fact and column by column, without a look at the table
// of the code. Where the rules leave room it takes the safer reading:
//
//  1. Retryable and NotSent while ACCEPTED and still exposed: ACCEPTED stays (an acknowledgement is not forgotten because
//     a twin did nothing); a refusal makes it UNKNOWN.
//  2. An Accepted that is told after the number's known end is older news, unless something sent can still act.
//  3. FailedFinal is "the same object" as a success unless both give ids and these differ; without a contract in which
//     failed may follow succeeded, the success stands, whichever is told first.
//  4. The same effect told with another amount or currency: the books stand, a person looks. A pair likewise.
//  5. A return of another amount books nothing. It proves that the channel has the refund: exposed, a case, no send. A
//     return without an id is known if any return of its number is.
//  6. A return of an unbooked effect while REVERSED is booked and mirrored, with a case.
//  7. `other` is a reason exactly while something is exposed under SUCCESS or REVERSED. `deadline` and
//     `no-automatic-step` are answered by an end without exposure, not by going back to PENDING.
//  8. FailedFinal answers what an Accepted had opened in every state, once nothing is exposed.
//  9. A reading counts from absence_counts_from on, the instant itself included; the later of the stored time and of what
//     the contract says now.
//
// 10. A person's word is not the channel's: the channel's same words later are no known fact.
//  11. A return without an id of what only a person had confirmed looks like a revoke-confirmation later; it does not expose again.
type reference struct {
	r       Record
	c       Contract
	f       Fact
	reasons map[CaseReason]bool
	asked   *Attempt
	ackWas  bool
	before  Record
	nothing bool // not even time is looked at
}

func newReference(r Record, f Fact, c Contract) *reference {
	return &reference{r: clone(r), c: c, f: f, reasons: map[CaseReason]bool{}, before: r}
}

// expectedChange says what the record must look like after the fact. Times of the row and its journal are not the oracle's.
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
				a.Answer, a.AnsweredAt = f.Kind, o.r.Now
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

// proposed says whether a conclusion would be drawn again: a lease's end by the sweeper, the others by Decide, whose steps
// stepBreaks judges.
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

// leaveIfClear: UNKNOWN, ACCEPTED and PROCESSING are left as soon as nothing is exposed, by whatever ended it.
func (o *reference) leaveIfClear() {
	if !o.inFlight() || !o.clear() {
		return
	}
	last, sent := o.lastSend()
	refused := sent && slices.Contains([]FactKind{RefusedClean, RefusedNewNumber, RefusedEcho}, last)
	if !o.live().FinalNegativeAt.IsZero() || refused {
		o.r.State = StateFailed
		return
	}
	o.r.State = StatePending
}
