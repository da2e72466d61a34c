package refund

import "time"

// conclusion is a fact of our own: it follows from time and from missing evidence, without an answer of the channel.
// Record.conclude alone decides when one holds: Decide proposes its result, and Apply accepts nothing else.
type conclusion struct {
	kind     FactKind   // LeaseEnd, Settled, KeyExpired or Deadline
	dispatch int        // KeyExpired: the number that has expired
	reason   CaseReason // Deadline: why a person must review the refund
}

// Conclusion reports whether facts of this kind are conclusions. The generation fences them; it never fences evidence.
func (k FactKind) Conclusion() bool {
	return k == LeaseEnd || k == Settled || k == KeyExpired || k == Deadline
}

// concludes reports whether the conclusion f holds on the record as it stands: the generation is that of the proposal, and
// the same conclusion would be proposed again.
func (r *Record) concludes(f Fact, c Contract) bool {
	holds, ok := r.conclude(c, r.Now)
	return ok && f.Generation == r.Generation && f.Kind == holds.kind && f.Reason == holds.reason &&
		(holds.dispatch == 0 || f.Dispatch == holds.dispatch)
}

// conclude returns the conclusion that holds at a time, if there is one. There is none while an owner is at work, and none
// while an epoch is open: sends that a restore has removed could contradict it.
func (r *Record) conclude(c Contract, now time.Time) (conclusion, bool) {
	switch {
	case idle(r.Refund) || r.leased(now):
		return conclusion{}, false
	case r.State == StateProcessing:
		return conclusion{kind: LeaseEnd}, true
	case r.SendingHeld && !r.State.Final():
		return conclusion{}, false
	case r.State == StatePending && r.AskNo != 0:
		return r.concludeAsk(c, now)
	case r.State == StatePending:
		return r.concludePending(c, now)
	}
	return r.concludeOpen(c, now)
}

// concludeAsk is for a resend that waits for the channel's answer about the old number. Asking continues under a case.
func (r *Record) concludeAsk(c Contract, now time.Time) (conclusion, bool) {
	switch {
	case r.Case != nil:
		return conclusion{}, false
	case now.Sub(r.StateSince) >= c.Waits.Pending.D():
		return conclusion{kind: Deadline, reason: CaseDeadline}, true
	}
	return conclusion{kind: Deadline, reason: CaseNoStep}, !c.canAsk()
}

// pendingTooLong reports whether the deadline of PENDING has passed. It counts from the first send of the live number, or of the
// numbers before it that met a low balance; and from the begin of the state if something prevents even the first send. A refund
// that is only queued has no deadline.
func (r *Record) pendingTooLong(c Contract, now time.Time) bool {
	since := r.firstTry(r.DispatchNo - r.lowBalanceNumbers(c)) // each low balance takes a number of its own
	if since.IsZero() && r.PendingReason != "" && r.PendingReason != PendingQueued && r.PendingReason != PendingHeld {
		since = r.StateSince
	}
	return !since.IsZero() && now.Sub(since) >= c.Waits.Pending.D()
}

// concludePending is for a refund that waits for its next send.
func (r *Record) concludePending(c Contract, now time.Time) (conclusion, bool) {
	d, _ := r.Dispatch(r.DispatchNo)
	switch {
	case r.refusedForGood(c):
		return conclusion{kind: Settled}, true
	case r.stopped():
		return conclusion{}, false
	case r.Case == nil && r.pendingTooLong(c, now):
		return conclusion{kind: Deadline, reason: CaseDeadline}, true
	case r.Case != nil && !r.nextAllowed(d.Ordinal, c):
		return conclusion{}, false // a person is called already
	}
	return conclusion{kind: KeyExpired, dispatch: d.Ordinal}, r.needsNextNumber(*d, c, now)
}

// concludeOpen is for a refund whose last row has an exposed dispatch, and for a final state with an open case.
func (r *Record) concludeOpen(c Contract, now time.Time) (conclusion, bool) {
	target, exposed := r.exposedTarget()
	if !exposed {
		return conclusion{kind: Settled}, !r.State.Final()
	}
	d, _ := r.Dispatch(target)
	switch {
	case !r.Exposure(*d, c, now).Exposed:
		return conclusion{kind: Settled}, true
	case !d.FinalNegativeAt.IsZero() || r.Case != nil || r.State.Final():
		return conclusion{}, false
	case now.Sub(r.StateSince) >= r.openWait(c):
		return conclusion{kind: Deadline, reason: CaseDeadline}, true
	}
	return conclusion{kind: Deadline, reason: CaseNoStep}, r.noStepLeft(*d, c, now)
}

// noStepLeft reports whether the contract allows neither a question nor a replay about an exposed dispatch, and no notice
// can resolve it.
func (r *Record) noStepLeft(d Dispatch, c Contract, now time.Time) bool {
	switch c.Recovery() {
	case RecoverByReplay:
		return r.needsReplayOrPerson(d) && (r.numberSpent(d, c, now) || d.MarkedEpoch > 0)
	case RecoverByNobody:
		return true
	default:
		return false
	}
}

// step returns the step by which Decide proposes the conclusion.
func (k conclusion) step() Step {
	switch k.kind {
	case Settled:
		return Step{Kind: StepSettle}
	case KeyExpired:
		return Step{Kind: StepRetireKey, Dispatch: k.dispatch}
	default:
		return Step{Kind: StepOpenCase, Reason: k.reason}
	}
}
