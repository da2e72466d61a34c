package refund

import (
	"encoding/binary"
	"slices"
	"time"
)

// Bounds of waits. The intervals between questions double from 1 s; those between the sends of a number grow threefold.
const (
	firstBackoff       = time.Second
	longestBackoff     = 300 * time.Second
	longestSendBackoff = 15 * time.Minute
	excessRecheck      = time.Minute // interval between two readings of a refund whose payment has excess that nobody accepted
	heldRecheck        = HandoutTTL  // interval between two readings of a refund while an epoch is open
	caseRecheck        = time.Hour   // interval between two readings of an open case when the channel cannot be asked
)

// LongestWait returns how far ahead the timer of a refund can be, by its state and, in PENDING, its reason. A timer that is
// further away was set by a clock that ran ahead: it is due.
func LongestWait(s State, why PendingReason) time.Duration {
	switch {
	case s == StateProcessing:
		return LongestLease
	case s == StatePending && why == PendingLowBalance:
		return lowBalanceWaits[len(lowBalanceWaits)-1]
	}
	return caseRecheck
}

// leased reports whether an owner's lease runs. One that ends later than any lease can was given by a clock that ran ahead, and
// does not count: what may still be sent under it is bounded by the exposure, not by the lease.
func (r *Record) leased(now time.Time) bool {
	return r.LeaseEndsAt.After(now) && !r.LeaseEndsAt.After(now.Add(LongestLease))
}

func (r *Record) openWait(c Contract) time.Duration {
	if r.State == StateAccepted {
		return c.Waits.Accepted.D()
	}
	return c.Waits.Unknown.D()
}

// questionDue returns when the next question about a number is due. Each send is followed by a question at once, and the intervals
// after it begin the longer, the more sends there were.
func (r *Record) questionDue(no int, c Contract, now time.Time) time.Time {
	sends, asked, last := 0, 0, time.Time{}
	for _, a := range r.Attempts {
		switch {
		case a.DispatchNo != no:
		case a.Kind == AttemptSend:
			sends, asked, last = sends+1, 0, a.StartedAt
		default:
			asked, last = asked+1, a.StartedAt
		}
	}
	switch {
	case last.After(now):
		return now // by a clock that ran ahead
	case asked == 0:
		return last.Add(c.questionTerms().FirstDelay.D())
	}
	due := last.Add(r.backoff(asked + max(sends-1, 0)))
	d, _ := r.Dispatch(no)
	e := r.Exposure(*d, c, now)
	if d.Acknowledged || e.AbsenceFrom.IsZero() {
		return due
	}
	if last.Before(e.AbsenceFrom) && e.AbsenceFrom.Before(due) {
		return e.AbsenceFrom
	}
	if again := e.LastReading.Add(c.questionTerms().ReadingGap.D()); e.Readings > 0 && e.Readings < c.questionTerms().Readings && again.Before(due) {
		return again
	}
	return due
}

// replayAt returns when a number may be replayed: once no earlier send can be executed any more, or earlier if the channel
// refuses repeats in flight.
func (r *Record) replayAt(d Dispatch, c Contract, now time.Time) time.Time {
	last, _ := r.lastSend(d.Ordinal)
	at := last.StartedAt.Add(r.sendBackoff(r.sends(d.Ordinal)))
	if last.StartedAt.After(now) {
		at = now // by a clock that ran ahead
	}
	if c.Key.InFlightRefused && last.Answer != "" {
		return at
	}
	return later(at, r.Exposure(d, c, now).ExecutableUntil)
}

// retryAt returns when a number that provably did nothing may be sent again. The wait grows with each send of the number, however
// it was answered.
func (r *Record) retryAt(last Attempt, now time.Time) time.Time {
	wait := r.sendBackoff(r.sends(last.DispatchNo))
	if last.RetryAfter > wait {
		wait = min(last.RetryAfter, time.Hour)
	}
	since := later(last.StartedAt, last.AnsweredAt)
	if since.After(now) {
		return now // by a clock that ran ahead
	}
	return since.Add(wait)
}

func (r *Record) sends(no int) int {
	n := 0
	for _, a := range r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			n++
		}
	}
	return n
}

// pendingReason returns why a refund waits for its next send after this one.
func (c Contract) pendingReason(a Attempt) PendingReason {
	switch {
	case slices.Contains(c.Codes.LowBalance, a.Code):
		return PendingLowBalance
	case slices.Contains(c.Codes.Credentials, a.Code):
		return PendingCredentials
	case a.Answer == Retryable:
		return PendingRateLimit
	}
	return PendingQueued
}

// backoff returns the wait before question n+1: 1, 2, 4 … 300 s.
func (r *Record) backoff(n int) time.Duration { return r.growing(n, 2, longestBackoff) }

// sendBackoff returns the wait before send n+1 of a number: 1, 3, 9, 27 … 900 s. There are at most 12 sends in the first hour.
func (r *Record) sendBackoff(n int) time.Duration { return r.growing(n, 3, longestSendBackoff) }

// growing returns the n-th of waits that grow by a factor from 1 s, ± 20 % derived from the refund's id, so that it is the same
// each time.
func (r *Record) growing(n int, factor int64, longest time.Duration) time.Duration {
	d := firstBackoff
	for range n - 1 {
		if d = min(time.Duration(int64(d)*factor), longest); d == longest {
			break
		}
	}
	draw := binary.BigEndian.Uint16(r.RID[14:]) ^ uint16(n*0x9e37&0xffff) // #nosec G115 -- masked to 16 bits
	return d + time.Duration(int64(d)*(int64(draw)-0x8000)/0x8000/5)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
