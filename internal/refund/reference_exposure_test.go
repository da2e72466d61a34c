package refund

import (
	"slices"
	"time"
)

// exposedNo is rule R2 of docs/rules.md: a request of this number may have reached the channel and is not disproved.
func (o *reference) exposedNo(no int) bool {
	d, _ := o.r.Dispatch(no)
	for _, e := range o.r.Effects {
		if e.Ours && e.DispatchNo == no && (e.Status == EffectMoved || (e.Status == EffectReversed && !o.personOnly(e))) {
			return false
		}
		if e.Ours && e.DispatchNo == no && e.Status == EffectReversed && !o.exposedAgain(no) {
			return false
		}
	}
	if d.Overridden {
		return false
	}
	maybe, _ := o.evidence(no)
	if !d.FinalNegativeAt.IsZero() {
		return o.mayAct(no)
	}
	return d.Acknowledged || maybe > 0
}

// exposedAgain: after a revoke-confirmation only a new answer of the channel exposes.
func (o *reference) exposedAgain(no int) bool {
	for _, e := range o.before.Effects {
		if e.DispatchNo == no && o.personOnly(e) && e.Status == EffectReversed {
			d, _ := o.before.Dispatch(no)
			began := no == o.f.Dispatch && ((o.f.Kind == Acknowledged && !o.ackWas) || o.f.Kind == Reversed)
			return d.Exposed || began
		}
	}
	return false
}

// evidence counts the sends that are not disproved, and the counting absences since the last send (rule R8 of docs/rules.md).
func (o *reference) evidence(no int) (maybe, absences int) {
	d, _ := o.r.Dispatch(no)
	terms := o.c.Query
	if !terms.Exists {
		terms = o.c.List
	}
	delay := o.c.Horizon.D() + terms.VisibilityLag.D()
	var from, last time.Time
	if d.MarkedEpoch > 0 {
		maybe, from = 1, d.LostSendUntil.Add(delay)
	}
	sendsLeft := 0
	for _, a := range o.r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			sendsLeft++
		}
	}
	for _, a := range o.r.Attempts {
		switch {
		case a.DispatchNo != no:
		case a.Kind == AttemptSend:
			sendsLeft--
			absences = 0
			if t := a.NotAfter.Add(delay); t.After(from) {
				from = t
			}
			if !slices.Contains([]FactKind{NotSent, Retryable, RefusedClean, RefusedNewNumber}, a.Answer) {
				maybe++
			}
		case a.Answer == NotFound && terms.Exists && !d.Acknowledged && !from.IsZero():
			need := from
			if sendsLeft == 0 && d.AbsenceCountsFrom.After(need) {
				need = d.AbsenceCountsFrom
			}
			if a.StartedAt.Before(need) || (absences > 0 && a.StartedAt.Sub(last) < terms.ReadingGap.D()) {
				continue
			}
			absences, last = absences+1, a.StartedAt
			if absences >= terms.Readings {
				maybe = 0
			}
		}
	}
	return maybe, absences
}

// mayAct reports whether a send without a definite answer, or one of a lost future, may still be executed.
func (o *reference) mayAct(no int) bool {
	d, _ := o.r.Dispatch(no)
	h := o.c.Horizon.D()
	if !d.LostSendUntil.IsZero() && o.r.Now.Before(d.LostSendUntil.Add(h)) {
		return true
	}
	for _, a := range o.r.Attempts {
		silent := a.Answer == "" || a.Answer == Unknown || a.Answer == RefusedEcho
		if a.DispatchNo == no && a.Kind == AttemptSend && silent && o.r.Now.Before(a.NotAfter.Add(h)) {
			return true
		}
	}
	return false
}

func (o *reference) clear() bool {
	for _, d := range o.r.Dispatches {
		if o.exposedNo(d.Ordinal) {
			return false
		}
	}
	return true
}

func (o *reference) absent(no int) bool {
	terms := o.c.Query
	if !terms.Exists {
		terms = o.c.List
	}
	_, n := o.evidence(no)
	return terms.Exists && n >= terms.Readings
}

func (o *reference) lastSend() (FactKind, bool) {
	var k FactKind
	found := false
	for _, a := range o.r.Attempts {
		if a.DispatchNo == o.r.DispatchNo && a.Kind == AttemptSend {
			k, found = a.Answer, true
		}
	}
	return k, found
}

func (o *reference) keyExpired(d *Dispatch) bool {
	if o.c.Key.KeepsAnswer { // the channel would only repeat an unclear answer
		if last, sent := o.lastSend(); sent && slices.Contains([]FactKind{"", Unknown, RefusedEcho}, last) {
			return true
		}
	}
	return !d.KeyExpiresAt.IsZero() && !o.r.Now.Before(d.KeyExpiresAt.Add(-o.c.Horizon.D()-ClockMargin))
}

func (o *reference) newerSendOpen() bool {
	for _, a := range o.r.Attempts {
		if o.asked != nil && a.No > o.asked.No && a.Kind == AttemptSend && a.Answer == "" {
			return true
		}
	}
	return false
}
