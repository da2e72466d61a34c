package intake

import "time"

// WaitingAlarm is how long an item may wait for its payment before an alarm.
const WaitingAlarm = 15 * time.Minute

// park stores an item whose sender gets no synchronous answer.
func (p *planner) park(in Intake, o Outcome) {
	stays := o.Verdict == Conflict || o.Verdict == Refused || o.Verdict == Waiting
	reason := string(o.Code)
	if o.Verdict == Waiting {
		reason = ParkedWaiting
	}
	switch {
	case o.Verdict == NotLocked || o.Verdict == Busy:
	case !in.Parked.IsZero() && stays:
		row := UnparkedRow{Tenant: in.Tenant.ID, ID: in.Parked, Reason: reason}
		if o.Verdict == Waiting {
			row.WakePayment, row.AlarmAt = p.wait(in)
		}
		p.plan.Unparked = append(p.plan.Unparked, row)
	case !in.Parked.IsZero():
		how := map[Verdict]string{Taken: "accepted", Replayed: "replayed"}[o.Verdict]
		if o.Cause != CauseSettled {
			p.plan.Unparked = append(p.plan.Unparked, UnparkedRow{Tenant: in.Tenant.ID, ID: in.Parked, How: how, By: in.Actor})
		}
	case in.Park != nil && stays && !o.Replayed:
		row := ParkedRow{EventRef: event(in), Park: *in.Park, Reason: reason}
		if o.Verdict == Waiting {
			row.WakePayment, row.AlarmAt = p.wait(in)
		}
		p.plan.Parked = append(p.plan.Parked, row)
	}
}

// wait registers the item for its payment, so that a later item with the payment wakes it, and returns the time of the
// alarm.
func (p *planner) wait(in Intake) (paymentID string, alarm time.Time) {
	p.v.Waiters[PaymentRef{in.Tenant.ID, in.PaymentID()}] = true
	return in.PaymentID(), p.v.Now.Add(WaitingAlarm)
}
