package refund

import (
	"slices"
	"time"
)

// The ranking of answers (rule R37 of docs/rules.md): once nothing of a refund is exposed, the set of the stored answers says
// what follows, never their order. FAILED comes before the next number, and the next number before another send of this one.

// refusedForGood reports whether the stored answers say that the refund will not be done: the live number was refused, or has
// ended negatively, or was answered with an echo that the proven absence shows to be real, or is the second number that the
// channel does not take. Where the live number was never sent, the answers of the number before it count, unless a person's
// decision has overridden it. The result holds only while nothing is exposed, which the caller checks.
func (r *Record) refusedForGood(c Contract) bool {
	if r.endedNegatively() {
		return true
	}
	for no := r.DispatchNo; no > 0; no-- {
		d, ok := r.Dispatch(no)
		switch {
		case !ok:
			continue
		case d.Overridden:
			return false
		case !d.FinalNegativeAt.IsZero() || r.answered(no, RefusedClean) || r.answered(no, RefusedEcho):
			return true
		case r.answered(no, RefusedNewNumber) && !r.nextAllowed(no, c):
			return true
		case !r.firstTry(no).IsZero():
			return false // what the channel says about an older number is evidence only
		}
	}
	return false
}

// decidingRefusal returns the send whose answer decides a failure: REFUSED before an echo, and an echo before a number that the
// channel does not take. It looks at the number that refusedForGood looks at.
func (r *Record) decidingRefusal() (Attempt, bool) {
	no := r.DispatchNo
	for no > 1 && r.firstTry(no).IsZero() {
		no--
	}
	for _, kind := range []FactKind{RefusedClean, RefusedEcho, RefusedNewNumber} {
		for i := len(r.Attempts) - 1; i >= 0; i-- {
			if a := r.Attempts[i]; a.DispatchNo == no && a.Kind == AttemptSend && a.Answer == kind {
				return a, true
			}
		}
	}
	return Attempt{}, false
}

// answered reports whether a send of the number has an answer of the kind.
func (r *Record) answered(no int, kind FactKind) bool {
	return slices.ContainsFunc(r.Attempts, func(a Attempt) bool { return a.DispatchNo == no && a.Kind == AttemptSend && a.Answer == kind })
}

// nextAllowed reports whether another number may follow this one without a person: once per refund. Numbers that were refused
// because the balance was low do not count.
func (r *Record) nextAllowed(no int, c Contract) bool {
	if r.refusedForBalance(no, c) {
		return true
	}
	for before := 1; before < no; before++ {
		if !r.refusedForBalance(before, c) {
			return false
		}
	}
	return true
}

// needsNextNumber reports whether the live number must not be sent again although the refund may still be made.
func (r *Record) needsNextNumber(d Dispatch, c Contract, now time.Time) bool {
	return r.numberSpent(d, c, now) || r.answered(d.Ordinal, RefusedNewNumber)
}

// lowBalanceNumbers returns how many numbers right before the live one were refused only because the balance was low.
func (r *Record) lowBalanceNumbers(c Contract) int {
	n := 0
	for r.DispatchNo-1-n > 0 && r.refusedForBalance(r.DispatchNo-1-n, c) {
		n++
	}
	return n
}

// refusedForBalance reports whether every refusal of the number that asks for the next one was about a low balance. It is false
// for a number without one, and for one that a decision has overridden. Answers that came after the next number was sent are
// evidence only.
func (r *Record) refusedForBalance(no int, c Contract) bool {
	d, ok := r.Dispatch(no)
	if !ok || d.Overridden {
		return false
	}
	low, next := false, r.firstTry(no+1)
	for _, a := range r.Attempts {
		late := !next.IsZero() && a.AnsweredAt.After(next)
		if a.DispatchNo != no || a.Kind != AttemptSend || a.Answer != RefusedNewNumber || late {
			continue
		}
		if !slices.Contains(c.Codes.LowBalance, a.Code) {
			return false
		}
		low = true
	}
	return low
}

// lowBalanceWaits are the waits before the next number, after the first, second, … number in a row that was refused because the
// balance was low. The last one repeats.
var lowBalanceWaits = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}

// balanceWaitUntil returns when a live number that was never sent may be sent after numbers that were refused because the balance
// was low; zero = at once.
func (r *Record) balanceWaitUntil(c Contract, now time.Time) time.Time {
	n := r.lowBalanceNumbers(c)
	if n == 0 || !r.firstTry(r.DispatchNo).IsZero() {
		return time.Time{}
	}
	var last time.Time
	for _, a := range r.Attempts {
		if a.DispatchNo == r.DispatchNo-1 && a.Kind == AttemptSend && a.Answer == RefusedNewNumber {
			last = later(last, a.AnsweredAt)
		}
	}
	if last.After(now) {
		return time.Time{} // by a clock that ran ahead
	}
	return last.Add(lowBalanceWaits[min(n, len(lowBalanceWaits))-1])
}
