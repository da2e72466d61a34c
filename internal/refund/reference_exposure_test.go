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

// answersOf returns the answers of a number's sends, as a set, and whether there was a send. An answer about a low balance that
// takes a new number is the kind "low balance".
func (o *reference) answersOf(no int) (map[FactKind]bool, bool) {
	all, sent := map[FactKind]bool{}, false
	for _, a := range o.r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			kind := a.Answer
			if kind == RefusedNewNumber && slices.Contains(o.c.Codes.LowBalance, a.Code) {
				kind = lowBalance
			}
			all[kind], sent = true, true
		}
	}
	return all, sent
}

const lowBalance = FactKind("low balance")

// hopeless is rule R37 of docs/rules.md: with nothing exposed, the set of answers ends the refund.
func (o *reference) hopeless() bool {
	for _, d := range o.r.Dispatches {
		if d.Ordinal > o.r.DispatchNo && !d.FinalNegativeAt.IsZero() {
			return true
		}
	}
	if !o.live().FinalNegativeAt.IsZero() {
		return true
	}
	for no := o.r.DispatchNo; no > 0; no-- {
		d, _ := o.r.Dispatch(no)
		all, sent := o.answersOf(no)
		switch {
		case d.Overridden:
			return false
		case all[RefusedClean], all[RefusedEcho], !d.FinalNegativeAt.IsZero(), all[RefusedNewNumber] && !o.first(no):
			return true
		case sent:
			return false
		}
	}
	return false
}

// lowOnly: the number was given up because of a low balance alone. What is said after the next one was sent does not count.
func (o *reference) lowOnly(no int) bool {
	d, _ := o.r.Dispatch(no)
	var next time.Time
	for i := len(o.r.Attempts) - 1; i >= 0; i-- {
		if a := o.r.Attempts[i]; a.DispatchNo == no+1 && a.Kind == AttemptSend {
			next = a.StartedAt
		}
	}
	low := false
	for _, a := range o.r.Attempts {
		if a.DispatchNo == no && a.Answer == RefusedNewNumber && a.Kind == AttemptSend && (next.IsZero() || !next.Before(a.AnsweredAt)) {
			if !slices.Contains(o.c.Codes.LowBalance, a.Code) {
				return false
			}
			low = true
		}
	}
	return low && !d.Overridden
}

// first reports whether another number may follow: this one, or every one before it, met a low balance only.
func (o *reference) first(no int) bool {
	for before := 1; before < no && !o.lowOnly(no); before++ {
		if !o.lowOnly(before) {
			return false
		}
	}
	return true
}

// overdue: the wait of PENDING is over, counted from the first send of the live number and of those before it that met a low balance.
func (o *reference) overdue() bool {
	first := o.r.DispatchNo
	for first > 1 && o.lowOnly(first-1) {
		first--
	}
	for _, a := range o.r.Attempts {
		if a.DispatchNo == first && a.Kind == AttemptSend {
			return o.r.Now.Sub(a.StartedAt) >= o.c.Waits.Pending.D()
		}
	}
	return false
}

// spent: the live number may not be sent again, and another one may follow.
func (o *reference) spent() bool {
	all, _ := o.answersOf(o.r.DispatchNo)
	return o.keyExpired(o.live()) || all[RefusedNewNumber] || all[lowBalance]
}

func (o *reference) keyExpired(d *Dispatch) bool {
	all, _ := o.answersOf(o.r.DispatchNo)
	if o.c.Key.KeepsAnswer && (all[""] || all[Unknown] || all[RefusedEcho] || o.absent(o.r.DispatchNo)) { // the channel would only repeat an unclear answer
		return true
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
