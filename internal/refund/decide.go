package refund

import (
	"time"
)

// Decide returns the next step of a refund. It is pure. It returns StepSend for an exposed dispatch only if the contract
// allows a replay of the number.
func Decide(r Record, c Contract, now time.Time) Step {
	concluded, ok := r.conclude(c, now)
	switch {
	case idle(r.Refund):
		return Step{Kind: StepDone}
	case r.LeaseEndsAt.After(now):
		return Step{Kind: StepWait, Until: r.LeaseEndsAt}
	case r.State == StateProcessing:
		return Step{Kind: StepWait, Until: now.Add(time.Second)} // the sweeper enters the end of the lease
	case ok:
		return concluded.step()
	case r.SendingHeld && r.State == StatePending:
		return Step{Kind: StepWait, Until: now.Add(HandoutTTL), Why: PendingHeld}
	case r.SendingHeld && !r.State.Final():
		return Step{Kind: StepWait, Until: now.Add(HandoutTTL)}
	case r.State == StatePending && r.AskNo != 0:
		return r.ask(r.AskNo, c, now)
	case r.State == StatePending:
		return r.send(c, now)
	}
	return r.resolve(c, now)
}

// send returns the next send of the live number, or the wait before it.
func (r *Record) send(c Contract, now time.Time) Step {
	if r.Case != nil {
		return recheck(now)
	}
	if last, ok := r.lastSend(r.DispatchNo); ok && (last.Answer == Retryable || last.Answer == NotSent) {
		if until := r.retryAt(last, c); until.After(now) {
			return Step{Kind: StepWait, Until: until, Why: c.pendingReason(last)}
		}
	}
	if r.Payment.NextSendAt.After(now) && c.Limits.Spacing > 0 {
		return Step{Kind: StepWait, Until: r.Payment.NextSendAt, Why: PendingSpacing}
	}
	return Step{Kind: StepSend, Dispatch: r.DispatchNo}
}

// resolve returns the next step for what is exposed: a question, else a replay while the key lives, else a wait for a notice
// or a person.
func (r *Record) resolve(c Contract, now time.Time) Step {
	target, exposed := r.exposedTarget()
	if !exposed {
		return recheck(now)
	}
	d, _ := r.Dispatch(target)
	if !d.FinalNegativeAt.IsZero() { // the number's end is known, only time is missing
		return Step{Kind: StepWait, Until: r.Exposure(*d, c, now).ActsUntil}
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
	if r.Case != nil || r.State.Final() || !r.replayable(d) {
		return recheck(now)
	}
	if until := r.replayAt(d, c, now); until.After(now) {
		return Step{Kind: StepWait, Until: until}
	}
	return Step{Kind: StepSend, Dispatch: d.Ordinal}
}

// replayable reports whether a replay can resolve the dispatch. Older numbers are never sent again.
func (r *Record) replayable(d Dispatch) bool { return d.Ordinal == r.DispatchNo || d.MarkedEpoch > 0 }

// recheck waits for a person and reads the case again after caseRecheck.
func recheck(now time.Time) Step { return Step{Kind: StepWait, Until: now.Add(caseRecheck)} }
