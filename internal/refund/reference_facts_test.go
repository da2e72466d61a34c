package refund

// Each fact in each state, as in rule R13 of docs/rules.md.

// column applies the fact.
func (o *reference) column() {
	switch o.f.Kind {
	case Succeeded:
		o.succeeded()
	case Acknowledged:
		o.accepted()
	case FailedFinal:
		o.failedFinal()
	case Reversed:
		o.reversed()
	case RefusedClean, RefusedNewNumber, Retryable, NotSent:
		o.negative()
	case RefusedEcho, Unknown:
		if o.in(StateProcessing) && o.ofSend() && !o.newerSendOpen() {
			o.r.State = StateUnknown
		}
	case NotFound:
		o.notFound()
	case LeaseEnd:
		o.r.State = StateUnknown
	case KeyExpired:
		if o.in(StatePending) && o.isLive() && o.spent() {
			if o.first(o.r.DispatchNo) {
				o.newNumber()
				o.answered(CaseNoStep)
			} else {
				o.open(CaseNoStep)
			}
		}
	case Deadline:
		o.open(o.f.Reason)
	case Withdrawn:
		if o.in(StatePending) && o.r.AskNo == 0 {
			o.r.State = StateCanceled
		}
	case EpochMark:
		o.epoch()
	case Settled:
		if o.in(StatePending) && o.hopeless() {
			o.r.State = StateFailed
		}
		if o.ended() && o.clear() {
			o.answered(CaseAcknowledgedAfterEnd)
		}
	}
}

func (o *reference) accepted() {
	if o.ackWas || !o.exposedNo(o.f.Dispatch) {
		return
	}
	switch {
	case o.in(StatePending):
		o.r.State = StateUnknown
		o.open(CaseAcknowledgedAfterEnd)
	case o.inFlight() && o.isLive():
		o.r.State = StateAccepted
	case o.inFlight(), o.in(StateFailed, StateCanceled):
		o.open(CaseAcknowledgedAfterEnd)
	} // under SUCCESS and REVERSED: other-number-open, which close derives
}

func (o *reference) failedFinal() {
	switch {
	case o.in(StatePending) && o.r.AskNo == o.f.Dispatch:
		o.r.AskNo = 0
		return
	case o.inFlight() && o.clear() && o.isLive():
		o.r.State = StateFailed
	case o.in(StateSuccess):
		if i, ok := o.standing(); ok {
			switch {
			case o.personOnly(o.r.Effects[i]):
				o.open(CaseContradiction)
			case o.c.Codes.LateFailure:
				o.takeBack(i)
			}
			return
		}
	}
	if o.clear() {
		o.answered(CaseAcknowledgedAfterEnd)
	}
}

func (o *reference) negative() {
	if !o.ofSend() {
		return
	}
	if o.in(StateSuccess) {
		if i, ok := o.standing(); ok && o.personOnly(o.r.Effects[i]) {
			o.open(CaseContradiction)
		}
		return
	}
	if !o.inFlight() || (o.in(StateProcessing) && o.newerSendOpen()) {
		return
	}
	if !o.clear() {
		refused := o.f.Kind == RefusedClean || o.f.Kind == RefusedNewNumber
		if refused || o.in(StateProcessing) {
			o.r.State = StateUnknown
		}
		return
	}
	switch {
	case o.hopeless():
		o.r.State = StateFailed
	case o.f.Kind == RefusedNewNumber && o.isLive() && o.first(o.r.DispatchNo):
		o.newNumber()
	default:
		o.r.State = StatePending
	}
}

func (o *reference) notFound() {
	d := o.d()
	if d.Acknowledged {
		lag := o.c.Query.VisibilityLag.D()
		if !o.c.Query.Exists {
			lag = o.c.List.VisibilityLag.D()
		}
		known := o.before.StateSince // a notice makes the refund ACCEPTED
		told := o.isLive()
		for i := len(o.r.Attempts) - 1; i >= 0; i-- {
			if a := o.r.Attempts[i]; a.DispatchNo == d.Ordinal && a.Answer == Acknowledged {
				known, told = a.AnsweredAt, true
			}
		}
		if told && o.inFlight() && o.asked != nil && o.asked.StartedAt.After(known.Add(lag)) {
			o.open(CaseContradiction)
		}
		return
	}
	if !o.absent(o.f.Dispatch) {
		return
	}
	switch {
	case o.in(StatePending) && o.r.AskNo == o.f.Dispatch:
		o.r.AskNo = 0
	case !o.inFlight() || !o.clear():
	case o.hopeless():
		o.r.State = StateFailed
	case !o.isLive(): // leaveIfClear decides
	default:
		o.r.State = StatePending
	}
}

func (o *reference) epoch() {
	if o.ended() {
		return
	}
	for i := range o.r.Dispatches {
		d := &o.r.Dispatches[i]
		d.MarkedEpoch = o.r.Epoch
		if t := o.r.Now.Add(LongestLease); t.After(d.LostSendUntil) {
			d.LostSendUntil = t
		}
		if d.KeyExpiresAt.IsZero() || d.KeyExpiresAt.After(o.r.Now) {
			d.KeyExpiresAt = o.r.Now
		}
	}
	if o.in(StatePending, StateProcessing) {
		o.r.State = StateUnknown
	}
}
