package refund

import "time"

// ClockMargin is subtracted from a key's expiry, because clocks differ.
const ClockMargin = 2 * time.Second

// Exposure is what all stored answers of one dispatch prove together. It is computed from all of them each time: a later
// clean refusal does not undo an earlier timeout.
type Exposure struct {
	Exposed     bool
	ActsUntil   time.Time // until then a request that left may still be executed; zero = nothing sent
	AbsenceFrom time.Time // an absence that was read earlier does not count; zero = nothing sent
	Readings    int       // counting absences since the last send
	LastReading time.Time
	Proven      bool // absence was proven after the last send
}

// Exposure folds the attempts of a dispatch (rules R2 and R8 of docs/rules.md).
func (r *Record) Exposure(d Dispatch, c Contract, now time.Time) Exposure {
	e := Exposure{Exposed: d.MarkedEpoch > 0, ActsUntil: d.MayActUntil}
	if !d.MayActUntil.IsZero() {
		e.ActsUntil = d.MayActUntil.Add(c.Horizon.D())
		e.AbsenceFrom = e.ActsUntil.Add(c.questionTerms().VisibilityLag.D())
	}
	last, _ := r.lastSend(d.Ordinal)
	for _, a := range r.Attempts {
		if a.DispatchNo != d.Ordinal {
			continue
		}
		if a.Kind == AttemptSend {
			e.send(a, c)
			if a.No == last.No { // the terms of the claim stay valid when the contract changes
				e.AbsenceFrom = later(e.AbsenceFrom, d.AbsenceCountsFrom)
			}
		} else if a.Answer == NotFound && !d.Acknowledged {
			e.reading(a, c)
		}
	}
	e.Exposed = e.Exposed || d.Acknowledged
	if !d.FinalNegativeAt.IsZero() && !r.mayStillAct(d, c, now) {
		e.Exposed = false
	}
	if d.Overridden || r.booked(d.Ordinal) {
		e.Exposed = false
	}
	return e
}

func (e *Exposure) send(a Attempt, c Contract) {
	acts := a.NotAfter.Add(c.Horizon.D())
	e.ActsUntil = later(e.ActsUntil, acts)
	e.AbsenceFrom = later(e.AbsenceFrom, acts.Add(c.questionTerms().VisibilityLag.D()))
	e.Readings, e.LastReading, e.Proven = 0, time.Time{}, false
	if !Disproves(a.Answer) {
		e.Exposed = true
	}
}

func (e *Exposure) reading(a Attempt, c Contract) {
	if !c.questionTerms().Exists || e.AbsenceFrom.IsZero() || a.StartedAt.Before(e.AbsenceFrom) {
		return // a channel that cannot be asked proves no absence
	}
	if e.Readings > 0 && a.StartedAt.Sub(e.LastReading) < c.questionTerms().ReadingGap.D() {
		return
	}
	e.Readings++
	e.LastReading = a.StartedAt
	if e.Readings >= c.questionTerms().Readings {
		e.Exposed, e.Proven = false, true
	}
}

// mayStillAct reports whether a send without a definite answer may still be executed.
func (r *Record) mayStillAct(d Dispatch, c Contract, now time.Time) bool {
	if now.Before(d.MayActUntil.Add(c.Horizon.D())) && !d.MayActUntil.IsZero() {
		return true
	}
	for _, a := range r.Attempts {
		open := a.Answer == "" || a.Answer == Unknown || a.Answer == RefusedEcho
		if a.DispatchNo == d.Ordinal && a.Kind == AttemptSend && open && now.Before(a.NotAfter.Add(c.Horizon.D())) {
			return true
		}
	}
	return false
}

// anyExposed reports whether a dispatch is exposed, by the stored flags.
func (r *Record) anyExposed() bool {
	for _, d := range r.Dispatches {
		if d.Exposed {
			return true
		}
	}
	return false
}

// otherExposed reports whether a dispatch other than no is exposed.
func (r *Record) otherExposed(no int) bool {
	for _, d := range r.Dispatches {
		if d.Ordinal != no && d.Exposed {
			return true
		}
	}
	return false
}
