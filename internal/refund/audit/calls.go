package audit

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Calls checks the stored numbers and calls of a refund: dispatches, attempts and effects of r, against each other and the
// folded journal. contracts returns the contract that an attempt relied on. r.Effects must be those of the refund that stand
// or were returned.
func (f *Fold) Calls(r *refund.Record, contracts func(account string, version int) (refund.Contract, bool)) {
	f.checkNumbers(r)
	f.checkAttempts(r)
	f.checkAnswers(r)
	f.checkRow(r)
	f.checkBookings(r)
	for _, a := range r.Attempts {
		if _, ok := contracts(r.Account, a.ContractVersion); !ok {
			f.a.report("P10", "contract-unknown", "attempt %d relied on contract version %d, which is not stored", a.No, a.ContractVersion)
			return // without its terms no call can be checked
		}
	}
	f.checkClaims(r, contracts)
	f.checkReported(r, contracts)
	f.checkRepeats(r, contracts)
	f.checkExposure(r, contracts)
}

// checkNumbers checks that the ordinals have no gap, that every number is the computed one, and that each number before the
// live one is retired.
func (f *Fold) checkNumbers(r *refund.Record) {
	exposed := false
	for i, d := range r.Dispatches {
		exposed = exposed || d.Exposed
		if d.Ordinal != i+1 {
			f.a.report("P8", "dispatch-gap", "dispatch %d follows %d", d.Ordinal, i)
		}
		if d.Ordinal < r.DispatchNo && !d.Retired {
			f.a.report("P8", "not-retired", "dispatch %d has a successor and no proof of its retirement", d.Ordinal)
		}
		if want := refund.DispatchNumber(r.Installation, r.TenantCode, r.RefundID, d.Ordinal); d.Number != want {
			f.a.report("P1", "dispatch-number", "dispatch %d has number %s, not %s", d.Ordinal, d.Number, want)
		}
	}
	beyond := 0 // an epoch marks the number behind the live one, too
	for _, d := range r.Dispatches {
		if d.Ordinal > r.DispatchNo && d.MarkedEpoch == 0 {
			beyond++
		}
	}
	if _, ok := r.Dispatch(r.DispatchNo); !ok || beyond > 0 {
		f.a.report("P8", "live-dispatch", "the live dispatch is %d, there are %d", r.DispatchNo, len(r.Dispatches))
	}
	if exposed != r.Exposed {
		f.a.report("P8", "exposed-flag", "the refund says exposed %t, its dispatches say %t", r.Exposed, exposed)
	}
	if exposed && !r.State.MayBeExposed(r.Case != nil) {
		f.a.report("P8", "closed-while-exposed", "%s while something is exposed", r.State)
	}
}

// checkAttempts checks that every attempt has its claim and respects its times.
func (f *Fold) checkAttempts(r *refund.Record) {
	has := map[int]bool{} // generations that have an attempt
	sent := map[int]int{} // generation → attempt of the send
	for i, a := range r.Attempts {
		has[a.Generation] = true
		if a.No != i+1 {
			f.a.report("P10", "attempt-gap", "attempt %d follows %d", a.No, i)
		}
		if i > 0 && a.StartedAt.Before(r.Attempts[i-1].StartedAt) {
			f.a.report("P10", "attempt-order", "attempt %d started before attempt %d", a.No, r.Attempts[i-1].No)
		}
		if a.Kind != refund.AttemptSend {
			continue
		}
		if other := sent[a.Generation]; other != 0 {
			f.a.report("P10", "two-sends-one-claim", "attempts %d and %d share generation %d", other, a.No, a.Generation)
		}
		sent[a.Generation] = a.No
		if !f.sendClaims[a.Generation] {
			f.a.report("P10", "send-without-claim", "attempt %d has no claim of generation %d in the journal", a.No, a.Generation)
		}
		f.checkTimes(r, a)
	}
	if n := len(r.Attempts); n != r.AttemptNo {
		f.a.report("P10", "attempt-count", "%d attempts, the refund says %d", n, r.AttemptNo)
	}
	for _, claims := range []map[int]bool{f.sendClaims, f.askClaims} {
		for g := range claims {
			if !has[g] {
				f.a.report("P10", "claim-without-attempt", "generation %d was claimed and has no attempt", g)
			}
		}
	}
	if a, ok := attemptOf(r, r.Generation); r.State == refund.StateProcessing && (!ok || a.Kind != refund.AttemptSend) {
		f.a.report("P10", "processing-without-attempt", "PROCESSING with generation %d, which has no send", r.Generation)
	}
}

func attemptOf(r *refund.Record, generation int) (refund.Attempt, bool) {
	for _, a := range r.Attempts {
		if a.Generation == generation && a.Kind == refund.AttemptSend {
			return a, true
		}
	}
	return refund.Attempt{}, false
}

func (f *Fold) checkTimes(r *refund.Record, a refund.Attempt) {
	if a.NotAfter.Before(a.StartedAt) || a.NotAfter.Sub(a.StartedAt) > refund.LongestLease {
		f.a.report("P10", "send-window", "attempt %d started %s and may leave until %s", a.No, stamp(a.StartedAt), stamp(a.NotAfter))
	}
	d, ok := r.Dispatch(a.DispatchNo)
	switch {
	case !ok:
	case d.MarkedEpoch > 0 && a.Epoch >= d.MarkedEpoch:
		f.a.report("P10", "send-of-marked-number", "attempt %d sent dispatch %d, whose key was ended by epoch %d", a.No, d.Ordinal, d.MarkedEpoch)
	case d.MarkedEpoch == 0 && !d.KeyExpiresAt.IsZero() && a.NotAfter.After(d.KeyExpiresAt):
		f.a.report("P10", "send-after-key", "attempt %d may leave until %s, the key expires %s", a.No, stamp(a.NotAfter), stamp(d.KeyExpiresAt))
	}
}

// checkRepeats checks every send against the earlier sends of its refund, with the answers that were known when it was
// claimed.
func (f *Fold) checkRepeats(r *refund.Record, contracts func(string, int) (refund.Contract, bool)) {
	for i, later := range r.Attempts {
		if later.Kind != refund.AttemptSend {
			continue
		}
		c, _ := contracts(r.Account, later.ContractVersion)
		for _, first := range r.Attempts[:i] {
			if first.Kind != refund.AttemptSend || (refund.Disproves(first.Answer) && !first.AnsweredAt.After(later.StartedAt)) {
				continue
			}
			f.checkRepeat(r, c, first, later)
		}
	}
}

// checkRepeat checks two sends, the first of which was ambiguous or not answered when the later one was claimed.
func (f *Fold) checkRepeat(r *refund.Record, c refund.Contract, first, later refund.Attempt) {
	if d, ok := r.Dispatch(first.DispatchNo); ok && later.DispatchNo > first.DispatchNo && (d.Overridden || d.MarkedEpoch > 0 || f.decided) {
		return // after a decision, or a question about an epoch: other rules apply
	}
	switch {
	case !c.Key.Dedupes && !c.Query.Automatic() && !c.List.Automatic():
		f.a.report("P2", "blind-repeat", "attempt %d was sent although attempt %d may have been executed (%s)", later.No, first.No, answerWord(first))
	case later.DispatchNo == first.DispatchNo && c.Key.Dedupes && !c.Key.After2xx:
	case !absentBetween(r, first, later) && !endedNegative(r, first.DispatchNo, later.StartedAt):
		f.a.report("P1", "repeat-without-proof", "attempt %d was sent although attempt %d may have been executed (%s) and no absence was read between them",
			later.No, first.No, answerWord(first))
	}
}

// absentBetween reports whether an absence of the number was read after the first send could leave and before the later one
// began.
func absentBetween(r *refund.Record, first, later refund.Attempt) bool {
	for _, q := range r.Attempts {
		if q.DispatchNo == first.DispatchNo && q.Answer == refund.NotFound && !q.StartedAt.Before(first.NotAfter) && !q.AnsweredAt.After(later.StartedAt) {
			return true
		}
	}
	return false
}

func endedNegative(r *refund.Record, no int, by time.Time) bool {
	d, ok := r.Dispatch(no)
	return ok && !d.FinalNegativeAt.IsZero() && !d.FinalNegativeAt.After(by)
}

// checkExposure checks that a number that is not exposed is disproved by its answers, under a contract that was relied on.
func (f *Fold) checkExposure(r *refund.Record, contracts func(string, int) (refund.Contract, bool)) {
	for _, d := range r.Dispatches {
		if d.Exposed {
			continue
		}
		judged, proven := false, false
		for _, a := range r.Attempts {
			if a.DispatchNo != d.Ordinal {
				continue
			}
			c, _ := contracts(r.Account, a.ContractVersion)
			judged, proven = true, proven || !r.Exposure(d, c, r.Now).Exposed
		}
		if judged && !proven {
			f.a.report("P8", "clear-without-proof", "dispatch %d is stored as not exposed, but its answers do not disprove it", d.Ordinal)
		}
	}
}

func answerWord(a refund.Attempt) string {
	if a.Answer == "" {
		return "no answer"
	}
	return refund.JournalKind(a.Answer)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
