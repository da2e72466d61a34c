package refund

import (
	"time"
)

// Decide returns the next step of a refund. It is pure. It never returns StepSend
//   - for a final refund, or while a send is in flight (PROCESSING) or a lease runs;
//   - while an epoch is open, an ask is open, a case with another reason than waiting is open, a proposal that stops sends, or the
//     payment has excess that nobody accepted;
//   - while a conclusion holds: the live number is spent or has ended negatively, or a deadline has passed;
//   - for an older number, or for one that an epoch has marked;
//   - for a PENDING refund, before the wait after a send that did nothing and the payment's spacing are over;
//   - for an exposed number, unless the contract's Recovery is a replay and the wait before it is over (rule R6 of
//     docs/rules.md).
//
// While an epoch is open (SendingHeld), a refund that is not final is not asked about either. Questions about a final refund
// that is exposed continue. No wait is longer than LongestWait.
func Decide(r Record, c Contract, now time.Time) Step {
	step := r.decide(c, now)
	if step.Kind == StepWait {
		step.Until = earlier(step.Until, now.Add(LongestWait(r.State, step.Why)))
	}
	return step
}

func (r *Record) decide(c Contract, now time.Time) Step {
	concluded, hasConclusion := r.conclude(c, now)
	switch {
	case idle(r.Refund):
		return Step{Kind: StepDone}
	case r.leased(now):
		return Step{Kind: StepWait, Until: r.LeaseEndsAt}
	case r.State == StateProcessing:
		return Step{Kind: StepWait, Until: now.Add(time.Second)} // the sweeper enters the end of the lease
	case hasConclusion:
		return concluded.step()
	case r.SendingHeld && r.State == StatePending:
		return Step{Kind: StepWait, Until: now.Add(heldRecheck), Why: PendingHeld}
	case r.SendingHeld && !r.State.Final():
		return Step{Kind: StepWait, Until: now.Add(heldRecheck)}
	case r.State == StatePending && r.AskNo != 0:
		return r.ask(r.AskNo, c, now)
	case r.State == StatePending:
		return r.send(c, now)
	}
	return r.resolve(c, now)
}

// send returns the next send of the live number, or the wait before it.
func (r *Record) send(c Contract, now time.Time) Step {
	if d, _ := r.Dispatch(r.DispatchNo); r.stopped() || r.needsNextNumber(*d, c, now) {
		return recheck(now) // a person is called
	}
	if r.Payment.excessUnaccepted() {
		return Step{Kind: StepWait, Until: now.Add(excessRecheck), Why: PendingExcess}
	}
	if last, ok := r.lastSend(r.DispatchNo); ok {
		if until := r.retryAt(last, now); until.After(now) {
			return Step{Kind: StepWait, Until: until, Why: c.pendingReason(last)}
		}
	}
	if until := r.balanceWaitUntil(c, now); until.After(now) {
		return Step{Kind: StepWait, Until: until, Why: PendingLowBalance}
	}
	if until := r.Payment.NextSendAt; until.After(now) && !until.After(now.Add(c.Limits.Spacing.D())) {
		return Step{Kind: StepWait, Until: until, Why: PendingSpacing}
	}
	return Step{Kind: StepSend, Dispatch: r.DispatchNo}
}

// resolve returns the next step for what is exposed, by the strongest way that the contract offers (see Recovery): a
// question, or a replay of the number, or a wait for a notice, or a wait for a person.
func (r *Record) resolve(c Contract, now time.Time) Step {
	target, exposed := r.exposedTarget()
	if !exposed {
		return recheck(now)
	}
	d, _ := r.Dispatch(target)
	if !d.FinalNegativeAt.IsZero() { // the number's end is known, only time is missing
		return Step{Kind: StepWait, Until: r.Exposure(*d, c, now).ExecutableUntil}
	}
	switch c.Recovery() {
	case RecoverByQuery, RecoverByList:
		return r.ask(target, c, now)
	case RecoverByReplay:
		return r.replay(*d, c, now)
	case RecoverByNotice:
		if r.Case == nil {
			return Step{Kind: StepWait, Until: r.StateSince.Add(r.openWait(c))}
		}
	case RecoverByNobody:
	}
	return recheck(now)
}

// exposedTarget returns the exposed dispatch to resolve next: the live one, else the newest.
func (r *Record) exposedTarget() (int, bool) {
	for i := len(r.Dispatches) - 1; i >= 0; i-- {
		if r.Dispatches[i].Exposed {
			return r.Dispatches[i].Ordinal, true
		}
	}
	return 0, false
}

// ask returns the next query or list about a dispatch: at once, then in growing intervals, and as soon as an absence counts.
// Where the channel cannot be asked, it waits for a person.
func (r *Record) ask(no int, c Contract, now time.Time) Step {
	if !c.canAsk() {
		return recheck(now)
	}
	if due := r.questionDue(no, c, now); due.After(now) {
		return Step{Kind: StepWait, Until: due}
	}
	if c.Recovery() == RecoverByList {
		return Step{Kind: StepList, Dispatch: no}
	}
	return Step{Kind: StepQuery, Dispatch: no}
}

// canAsk reports whether the channel can be asked about a number without a person.
func (c Contract) canAsk() bool {
	return c.Recovery() == RecoverByQuery || c.Recovery() == RecoverByList
}

// replay sends the same number again as soon as no earlier send of it can still be executed.
func (r *Record) replay(d Dispatch, c Contract, now time.Time) Step {
	if r.stopped() || r.State.Final() || !r.needsReplayOrPerson(d) || r.noStepLeft(d, c, now) {
		return recheck(now)
	}
	if until := r.replayAt(d, c, now); until.After(now) {
		return Step{Kind: StepWait, Until: until}
	}
	if r.Payment.excessUnaccepted() {
		return Step{Kind: StepWait, Until: now.Add(excessRecheck)}
	}
	return Step{Kind: StepSend, Dispatch: d.Ordinal}
}

// needsReplayOrPerson reports whether only a replay, or a person instead of it, can resolve the dispatch: it is live, or an epoch
// has marked it (see noStepLeft). An older number that is not marked waits for a notice, a line or the deadline.
func (r *Record) needsReplayOrPerson(d Dispatch) bool {
	return d.Ordinal == r.DispatchNo || d.MarkedEpoch > 0
}

// recheck waits for a person and reads the case again after caseRecheck.
func recheck(now time.Time) Step { return Step{Kind: StepWait, Until: now.Add(caseRecheck)} }
