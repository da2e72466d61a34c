package refund

import (
	"errors"
	"fmt"
	"slices"
	"time"
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
type oracle struct {
	r       Record
	c       Contract
	f       Fact
	reasons map[CaseReason]bool
	asked   *Attempt
	ackWas  bool
	before  Record
	nothing bool // not even time is looked at
}

func newOracle(r Record, f Fact, c Contract) *oracle {
	return &oracle{r: clone(r), c: c, f: f, reasons: map[CaseReason]bool{}, before: r}
}

// judge says what the record must look like after the fact. Times of the row and its journal are not the oracle's.
func judge(before Record, f Fact, c Contract) (*oracle, error) {
	o := newOracle(before, f, c)
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

func (o *oracle) d() *Dispatch { d, _ := o.r.Dispatch(o.f.Dispatch); return d }

func (o *oracle) live() *Dispatch { d, _ := o.r.Dispatch(o.r.DispatchNo); return d }

func (o *oracle) open(r CaseReason)        { o.reasons[r] = true }
func (o *oracle) answered(r CaseReason)    { delete(o.reasons, r) }
func (o *oracle) in(s ...State) bool       { return slices.Contains(s, o.r.State) }
func (o *oracle) inFlight() bool           { return o.in(StateProcessing, StateUnknown, StateAccepted) }
func (o *oracle) ended() bool              { return o.in(StateSuccess, StateFailed, StateCanceled, StateReversed) }
func (o *oracle) ofSend() bool             { return o.asked == nil || o.asked.Kind == AttemptSend }
func (o *oracle) isLive() bool             { return o.f.Dispatch == o.r.DispatchNo }
func (o *oracle) personOnly(e Effect) bool { return e.ByPerson && e.ChannelRefundID == "" }

// exposedNo is rule R2 of docs/rules.md: what may have reached the channel under this number, and has not been disproved.
func (o *oracle) exposedNo(no int) bool {
	d, _ := o.r.Dispatch(no)
	for _, e := range o.r.Effects {
		if e.Ours && e.DispatchNo == no && (e.Status == EffectMoved || (e.Status == EffectReversed && !o.personOnly(e))) {
			return false
		}
		if e.Ours && e.DispatchNo == no && e.Status == EffectReversed && !o.exposedAgain(no) {
			return false
		}
	}
	if d.Overridden {
		return false
	}
	maybe, _ := o.evidence(no)
	if !d.FinalNegativeAt.IsZero() {
		return o.mayAct(no)
	}
	return d.Acknowledged || maybe > 0
}

// exposedAgain: after a revoke-confirmation only a new word of the channel exposes.
func (o *oracle) exposedAgain(no int) bool {
	for _, e := range o.before.Effects {
		if e.DispatchNo == no && o.personOnly(e) && e.Status == EffectReversed {
			d, _ := o.before.Dispatch(no)
			began := no == o.f.Dispatch && ((o.f.Kind == Acknowledged && !o.ackWas) || o.f.Kind == Reversed)
			return d.Exposed || began
		}
	}
	return false
}

// evidence counts the sends that are not disproved, and the counting absences since the last send (rule R8 of docs/rules.md).
func (o *oracle) evidence(no int) (maybe, absences int) {
	d, _ := o.r.Dispatch(no)
	terms := o.c.Query
	if !terms.Exists {
		terms = o.c.List
	}
	delay := o.c.Horizon.D() + terms.VisibilityLag.D()
	var from, last time.Time
	if d.MarkedEpoch > 0 {
		maybe, from = 1, d.MayActUntil.Add(delay)
	}
	sendsLeft := 0
	for _, a := range o.r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			sendsLeft++
		}
	}
	for _, a := range o.r.Attempts {
		switch {
		case a.DispatchNo != no:
		case a.Kind == AttemptSend:
			sendsLeft--
			absences = 0
			if t := a.NotAfter.Add(delay); t.After(from) {
				from = t
			}
			if !slices.Contains([]FactKind{NotSent, Retryable, RefusedClean, RefusedNewNumber}, a.Answer) {
				maybe++
			}
		case a.Answer == NotFound && terms.Exists && !d.Acknowledged && !from.IsZero():
			need := from
			if sendsLeft == 0 && d.AbsenceCountsFrom.After(need) {
				need = d.AbsenceCountsFrom
			}
			if a.StartedAt.Before(need) || (absences > 0 && a.StartedAt.Sub(last) < terms.ReadingGap.D()) {
				continue
			}
			absences, last = absences+1, a.StartedAt
			if absences >= terms.Readings {
				maybe = 0
			}
		}
	}
	return maybe, absences
}

// mayAct: a send without a definite answer, or one of a lost future, may still do something.
func (o *oracle) mayAct(no int) bool {
	d, _ := o.r.Dispatch(no)
	h := o.c.Horizon.D()
	if !d.MayActUntil.IsZero() && o.r.Now.Before(d.MayActUntil.Add(h)) {
		return true
	}
	for _, a := range o.r.Attempts {
		silent := a.Answer == "" || a.Answer == Unknown || a.Answer == RefusedEcho
		if a.DispatchNo == no && a.Kind == AttemptSend && silent && o.r.Now.Before(a.NotAfter.Add(h)) {
			return true
		}
	}
	return false
}

func (o *oracle) clear() bool {
	for _, d := range o.r.Dispatches {
		if o.exposedNo(d.Ordinal) {
			return false
		}
	}
	return true
}

func (o *oracle) absent(no int) bool {
	terms := o.c.Query
	if !terms.Exists {
		terms = o.c.List
	}
	_, n := o.evidence(no)
	return terms.Exists && n >= terms.Readings
}

func (o *oracle) lastSend() (FactKind, bool) {
	var k FactKind
	found := false
	for _, a := range o.r.Attempts {
		if a.DispatchNo == o.r.DispatchNo && a.Kind == AttemptSend {
			k, found = a.Answer, true
		}
	}
	return k, found
}

func (o *oracle) keyDead(d *Dispatch) bool {
	if o.c.Key.KeepsAnswer { // the channel would only repeat an answer that tells nothing
		if last, sent := o.lastSend(); sent && slices.Contains([]FactKind{"", Unknown, RefusedEcho}, last) {
			return true
		}
	}
	return !d.KeyExpiresAt.IsZero() && !o.r.Now.Before(d.KeyExpiresAt.Add(-o.c.Horizon.D()-ClockMargin))
}

func (o *oracle) newNumber() {
	o.r.DispatchNo++
	o.r.Dispatches = append(o.r.Dispatches, Dispatch{Ordinal: o.r.DispatchNo})
	o.r.State = StatePending
}

func (o *oracle) newerSendOpen() bool {
	for _, a := range o.r.Attempts {
		if o.asked != nil && a.No > o.asked.No && a.Kind == AttemptSend && a.Answer == "" {
			return true
		}
	}
	return false
}

// leaveIfClear: UNKNOWN, ACCEPTED and PROCESSING are left as soon as nothing is exposed, by whatever ended it.
func (o *oracle) leaveIfClear() {
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

// close derives what hangs on state, exposure and effects: reasons, ask, balances.
func (o *oracle) close(before Record) {
	clear := o.clear()
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

// differs says in what a change is not what the oracle wants.
func (o *oracle) differs(ch Change) []string {
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
			add(fmt.Sprintf("number %d: exposed, decreed, acknowledged, without end", d.Ordinal), has, want)
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
