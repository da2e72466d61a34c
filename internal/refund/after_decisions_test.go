package refund

import "time"

// Effects of approved decisions on a record, written a second time. The table must be right in every state that they lead
// to.

func overrideNumber(r *Record, no int) {
	d, _ := r.Dispatch(no)
	d.Overridden, d.Exposed = true, false
	r.Exposed = r.anyExposed()
}

// afterNotDone is confirm-not-done: every number without an effect is closed, the refund has failed, the case is closed.
func afterNotDone(r Record) Record {
	r = clone(r)
	for _, d := range r.Dispatches {
		overrideNumber(&r, d.Ordinal)
	}
	r.State, r.StateSince, r.FinalAt = StateFailed, r.Now, r.Now
	r.Case, r.AskNo, r.PendingReason, r.NextActionAt, r.LeaseEndsAt = nil, 0, "", time.Time{}, time.Time{}
	r.Payment.Reserved -= r.Amount
	r.Payment = r.Payment.WithExcess()
	return r
}

// afterResend is resend: the live number is closed, the next one waits for the channel's answer about it.
func afterResend(r Record) Record {
	r = clone(r)
	old := r.DispatchNo
	overrideNumber(&r, old)
	r.DispatchNo++
	r.Dispatches = append(r.Dispatches, Dispatch{Ordinal: r.DispatchNo, Number: DispatchNumber(r.Installation, r.TenantCode, r.RefundID, r.DispatchNo)})
	r.State, r.StateSince, r.PendingReason, r.AskNo = StatePending, r.Now, PendingQueued, old
	r.Case, r.LeaseEndsAt = nil, time.Time{}
	return r
}

// confirmedSuccess is confirm-success: a fact without the channel's id.
func confirmedSuccess(r Record) Fact {
	return Fact{Kind: Succeeded, Dispatch: r.DispatchNo, Source: "decision", Actor: "actor:ann"}
}

// afterRevocation is revoke-confirmation: effects that only a person had confirmed are taken back.
func afterRevocation(r Record) Record {
	r = clone(r)
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Ours && e.ByPerson && e.ChannelRefundID == "" && e.Status == EffectMoved {
			e.Status, e.ReversedAt = EffectReversed, r.Now
			r.Payment.Refunded -= e.Counted
			overrideNumber(&r, e.DispatchNo)
		}
	}
	r.State, r.StateSince, r.Case, r.NextActionAt = StateReversed, r.Now, nil, time.Time{}
	r.Payment = r.Payment.WithExcess()
	return r
}

// afterAcceptance closes the case of an ended refund and accepts its excess.
func afterAcceptance(r Record) Record {
	r = clone(r)
	r.Case, r.NextActionAt = nil, time.Time{}
	r.Payment.ExcessAccepted = r.Payment.Excess
	return r
}
