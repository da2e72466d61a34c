package refund

import (
	"time"
)

// Decide says what comes next for a refund. It is pure: record, contract and time in, one step out.
// It never says Send for a dispatch that is exposed unless the contract lets a number be replayed.
func Decide(r Record, c Contract, now time.Time) Step {
	if idle(r.Refund) {
		return Step{Kind: StepDone}
	}
	if r.LeaseEndsAt.After(now) {
		return Step{Kind: StepWait, Until: r.LeaseEndsAt}
	}
	switch {
	case r.State == StateProcessing:
		return Step{Kind: StepWait, Until: later(r.LeaseEndsAt, now.Add(time.Second))} // the sweeper ends the lease
	case r.SendingHeld && r.State == StatePending:
		return Step{Kind: StepWait, Until: now.Add(HandoutTTL), Why: PendingHeld}
	case r.SendingHeld && !r.State.Final(): // what was lost may contradict every "no": the marking comes first
		return Step{Kind: StepWait, Until: now.Add(HandoutTTL)}
	case r.State == StatePending:
		return decidePending(&r, c, now)
	}
	return decideOpen(&r, c, now)
}

func decidePending(r *Record, c Contract, now time.Time) Step {
	d, _ := r.Dispatch(r.DispatchNo)
	since := r.firstTry(r.DispatchNo)
	if since.IsZero() && r.PendingReason != "" && r.PendingReason != PendingQueued && r.PendingReason != PendingHeld {
		since = r.StateSince // something keeps even the first try away; merely queued has no deadline
	}
	switch {
	case r.AskNo != 0:
		return decideAsk(r, c, now)
	case r.Case != nil:
		return Step{Kind: StepWait, Until: now.Add(caseRecheck)}
	case r.endedNegatively():
		return Step{Kind: StepSettle}
	case !since.IsZero() && now.Sub(since) >= c.Waits.Pending.D():
		return Step{Kind: StepOpenCase, Reason: CaseDeadline}
	case r.numberSpent(*d, c, now):
		return Step{Kind: StepRetireKey, Dispatch: d.Ordinal}
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

// decideAsk: a person wants a resend; the channel is asked about the old number first. Asking goes on under a case.
func decideAsk(r *Record, c Contract, now time.Time) Step {
	if r.Case == nil && now.Sub(r.StateSince) >= c.Waits.Pending.D() {
		return Step{Kind: StepOpenCase, Reason: CaseDeadline}
	}
	if s, ok := r.question(r.AskNo, c, now); ok {
		return s
	}
	if r.Case == nil {
		return Step{Kind: StepOpenCase, Reason: CaseNoStep}
	}
	return Step{Kind: StepWait, Until: now.Add(caseRecheck)}
}

// decideOpen: something is exposed, or a case is open on a final state.
func decideOpen(r *Record, c Contract, now time.Time) Step {
	target, any := r.exposedTarget()
	if !any {
		if r.State.Final() {
			return Step{Kind: StepWait, Until: now.Add(caseRecheck)}
		}
		return Step{Kind: StepSettle}
	}
	d, _ := r.Dispatch(target)
	e := r.Exposure(*d, c, now)
	switch {
	case !e.Exposed:
		return Step{Kind: StepSettle}
	case !d.FinalNegativeAt.IsZero(): // its end is known, only time is missing
		return Step{Kind: StepWait, Until: e.ActsUntil}
	}
	if r.Case == nil && !r.State.Final() && now.Sub(r.StateSince) >= r.patience(c) {
		return Step{Kind: StepOpenCase, Reason: CaseDeadline}
	}
	if s, ok := r.question(target, c, now); ok {
		return s
	}
	return r.withoutQuestion(target, c, now)
}

// exposedTarget is the exposed dispatch to work on: the live one, else the newest.
func (r *Record) exposedTarget() (int, bool) {
	for i := len(r.Dispatches) - 1; i >= 0; i-- {
		if r.Dispatches[i].Exposed {
			return r.Dispatches[i].Ordinal, true
		}
	}
	return 0, false
}

// question asks by query or list when the contract has one: at once, then in growing steps, and as soon as an absence counts.
func (r *Record) question(no int, c Contract, now time.Time) (Step, bool) {
	do := StepQuery
	switch c.Recovery() {
	case RecoverByQuery:
	case RecoverByList:
		do = StepList
	default:
		return Step{}, false
	}
	due := r.questionDue(no, c, now)
	if due.After(now) {
		return Step{Kind: StepWait, Until: due}, true
	}
	return Step{Kind: do, Dispatch: no}, true
}

// withoutQuestion: no query, no list. Replay the key while it lives, else wait for a notice, else a person.
func (r *Record) withoutQuestion(no int, c Contract, now time.Time) Step {
	d, _ := r.Dispatch(no)
	look := Step{Kind: StepWait, Until: now.Add(caseRecheck)}
	switch c.Recovery() {
	case RecoverByReplay:
		if r.Case != nil || r.State.Final() || (no != r.DispatchNo && d.MarkedEpoch == 0) {
			return look
		}
		if r.numberSpent(*d, c, now) || d.MarkedEpoch > 0 {
			return Step{Kind: StepOpenCase, Reason: CaseNoStep}
		}
		if until := r.replayAt(*d, c, now); until.After(now) {
			return Step{Kind: StepWait, Until: until}
		}
		return Step{Kind: StepSend, Dispatch: no}
	case RecoverByNotice:
		if r.Case != nil {
			return look
		}
		return Step{Kind: StepWait, Until: r.StateSince.Add(r.patience(c))}
	default: // those that can ask have been asked; nobody is left
	}
	if r.Case != nil {
		return look
	}
	if r.State == StateAccepted && c.Notices {
		return Step{Kind: StepWait, Until: r.StateSince.Add(r.patience(c))}
	}
	return Step{Kind: StepOpenCase, Reason: CaseNoStep}
}
