package refund

import (
	"encoding/binary"
	"time"
)

// Bounds of waits. The intervals between questions, and between repeated sends, double from 1 s.
const (
	firstBackoff   = time.Second
	longestBackoff = 300 * time.Second
	heldRecheck    = HandoutTTL  // interval between two readings of a refund while an epoch is open
	excessRecheck  = time.Minute // interval between two readings of a refund whose payment has excess that nobody accepted
	caseRecheck    = time.Hour   // interval between two readings of an open case when the channel cannot be asked
)

func (r *Record) openWait(c Contract) time.Duration {
	if r.State == StateAccepted {
		return c.Waits.Accepted.D()
	}
	return c.Waits.Unknown.D()
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
		return sent.Add(c.questionTerms().FirstDelay.D())
	}
	due := last.Add(r.backoff(asked))
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
	sends, last := 0, Attempt{}
	for _, a := range r.Attempts {
		if a.DispatchNo == d.Ordinal && a.Kind == AttemptSend {
			sends, last = sends+1, a
		}
	}
	at := last.StartedAt.Add(r.backoff(sends))
	if c.Key.InFlightRefused && last.Answer != "" {
		return at
	}
	return later(at, r.Exposure(d, c, now).ExecutableUntil)
}

// retryAt returns when a send that did nothing may be repeated.
func (r *Record) retryAt(last Attempt, c Contract) time.Time {
	sends := 0
	for _, a := range r.Attempts {
		if a.DispatchNo == last.DispatchNo && a.Kind == AttemptSend {
			sends++
		}
	}
	wait := r.backoff(sends)
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

// backoff returns the wait before try n+1: 1, 2, 4 … 300 s, ± 20 % derived from the refund's id, so that it is the same each
// time.
func (r *Record) backoff(n int) time.Duration {
	d := longestBackoff
	if n < 10 {
		d = min(firstBackoff<<(max(n, 1)-1), longestBackoff)
	}
	draw := binary.BigEndian.Uint16(r.RID[14:]) ^ uint16(n*0x9e37&0xffff) // #nosec G115 -- masked to 16 bits
	return d + time.Duration(int64(d)*(int64(draw)-0x8000)/0x8000/5)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
