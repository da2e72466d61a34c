package refund

import (
	"encoding/binary"
	"time"
)

// Bounds of waiting. Steps between questions grow from 0 by doubling from 1 s; sends that may be repeated wait likewise.
const (
	firstStep   = time.Second
	longestStep = 300 * time.Second
	caseRecheck = time.Hour // how often an open case is looked at when nothing can be asked
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

func (r *Record) patience(c Contract) time.Duration {
	if r.State == StateAccepted {
		return c.Waits.Accepted.D()
	}
	return c.Waits.Unknown.D()
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

func (r *Record) questionDue(no int, c Contract, now time.Time) time.Time {
	asked, last, sent := 0, time.Time{}, time.Time{}
	for _, a := range r.Attempts {
		switch {
		case a.DispatchNo != no:
		case a.Kind == AttemptSend:
			asked, last, sent = 0, time.Time{}, a.StartedAt
		default:
			asked, last = asked+1, a.StartedAt
		}
	}
	if asked == 0 {
		return sent.Add(c.asking().FirstDelay.D())
	}
	due := last.Add(r.step(asked))
	d, _ := r.Dispatch(no)
	e := r.Exposure(*d, c, now)
	if d.Acknowledged || e.AbsenceFrom.IsZero() {
		return due
	}
	if last.Before(e.AbsenceFrom) && e.AbsenceFrom.Before(due) {
		return e.AbsenceFrom
	}
	if again := e.LastReading.Add(c.asking().ReadingGap.D()); e.Readings > 0 && again.Before(due) {
		return again
	}
	return due
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

// replayAt: a twin may only follow once nothing sent can still act, unless the channel refuses twins in flight.
func (r *Record) replayAt(d Dispatch, c Contract, now time.Time) time.Time {
	sends, last := 0, Attempt{}
	for _, a := range r.Attempts {
		if a.DispatchNo == d.Ordinal && a.Kind == AttemptSend {
			sends, last = sends+1, a
		}
	}
	at := last.StartedAt.Add(r.step(sends))
	if c.Key.InFlightRefused && last.Answer != "" {
		return at
	}
	return later(at, r.Exposure(d, c, now).ActsUntil)
}

// firstTry is when a number's first send started; zero = never.
func (r *Record) firstTry(no int) time.Time {
	for _, a := range r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			return a.StartedAt
		}
	}
	return time.Time{}
}

// retryAt is when a send that did nothing may be repeated.
func (r *Record) retryAt(last Attempt, c Contract) time.Time {
	sends := 0
	for _, a := range r.Attempts {
		if a.DispatchNo == last.DispatchNo && a.Kind == AttemptSend {
			sends++
		}
	}
	wait := r.step(sends)
	if last.RetryAfter > wait {
		wait = min(last.RetryAfter, time.Hour)
	}
	return last.AnsweredAt.Add(wait)
}

func (c Contract) pendingReason(a Attempt) PendingReason {
	for _, code := range c.Codes.LowBalance {
		if code == a.Code {
			return PendingLowBalance
		}
	}
	if a.Answer == NotSent {
		return PendingQueued
	}
	return PendingRateLimit
}

// step is the wait before try n+1: 1, 2, 4 … 300 s, ± 20 % drawn from the refund's id so that it is the same each time it is computed.
func (r *Record) step(n int) time.Duration {
	d := longestStep
	if n < 10 {
		d = min(firstStep<<(max(n, 1)-1), longestStep)
	}
	draw := binary.BigEndian.Uint16(r.RID[14:]) ^ uint16(n*0x9e37&0xffff) // #nosec G115 -- masked to 16 bits
	return d + time.Duration(int64(d)*(int64(draw)-0x8000)/0x8000/5)
}
