package refund

import "time"

// Exposure is what all stored answers of one dispatch prove together. It is computed from all of them each time: a later
// clean refusal does not undo an earlier timeout.
type Exposure struct {
	Exposed         bool
	ExecutableUntil time.Time // until then a request that left may still be executed; zero = nothing sent, nothing marked
	AbsenceFrom     time.Time // an absence that was read earlier does not count; zero = nothing sent, nothing marked
	Readings        int       // counting absences since the last send
	LastReading     time.Time
	Proven          bool // absence was proven after the last send
}

// Exposure folds the attempts of a dispatch (rules R1 to R3 and R8 of docs/rules.md). A dispatch that was sent, acknowledged or
// marked is exposed until one of five things ends it (rule R2):
//
//  1. Each of its sends was answered with a kind that disproves it (see Disproves), the channel never acknowledged the number,
//     and no epoch marked it.
//  2. Enough absences were read late enough after the last send (rule R8), the channel never acknowledged the number, and no
//     held line of the payment can be this refund.
//  3. The channel has given the number a final negative status, and no send of it is still executable.
//  4. An effect of the number is booked.
//  5. An approved decision overrides the number.
//
// The stored flag Dispatch.Exposed is set by the claim of a send, by an acknowledgement and by an epoch mark. refoldExposure clears it when
// this function returns Exposed = false.
func (r *Record) Exposure(d Dispatch, c Contract, now time.Time) Exposure {
	e := Exposure{Exposed: d.MarkedEpoch > 0, ExecutableUntil: d.LostSendUntil}
	if !d.LostSendUntil.IsZero() {
		e.ExecutableUntil = d.LostSendUntil.Add(c.Horizon.D())
		e.AbsenceFrom = e.ExecutableUntil.Add(c.questionTerms().VisibilityLag.D())
	}
	last, _ := r.lastSend(d.Ordinal)
	blocked := r.unexplainedLine()
	for _, a := range r.Attempts {
		if a.DispatchNo != d.Ordinal {
			continue
		}
		if a.Kind == AttemptSend {
			e.send(a, c)
			if a.No == last.No { // a later contract cannot make it earlier than the claim did
				e.AbsenceFrom = later(e.AbsenceFrom, d.AbsenceCountsFrom)
			}
		} else if a.Answer == NotFound && !d.Acknowledged {
			e.reading(a, c, blocked)
		}
	}
	e.Exposed = e.Exposed || d.Acknowledged
	if !d.FinalNegativeAt.IsZero() && !r.stillExecutable(d, c, now) {
		e.Exposed = false
	}
	if d.Overridden || r.booked(d.Ordinal) {
		e.Exposed = false
	}
	return e
}

// send adds a send. It starts the count of absences again.
func (e *Exposure) send(a Attempt, c Contract) {
	until := a.NotAfter.Add(c.Horizon.D())
	e.ExecutableUntil = later(e.ExecutableUntil, until)
	e.AbsenceFrom = later(e.AbsenceFrom, until.Add(c.questionTerms().VisibilityLag.D()))
	e.Readings, e.LastReading, e.Proven = 0, time.Time{}, false
	if !Disproves(a.Answer) {
		e.Exposed = true
	}
}

// reading adds an absence, if it counts. blocked says that a line may be this refund, so that no absence is proven.
func (e *Exposure) reading(a Attempt, c Contract, blocked bool) {
	if !c.questionTerms().Exists || e.AbsenceFrom.IsZero() || a.StartedAt.Before(e.AbsenceFrom) {
		return // the channel cannot be asked, nothing was sent or marked, or the question left too early
	}
	if e.Readings > 0 && a.StartedAt.Sub(e.LastReading) < c.questionTerms().ReadingGap.D() {
		return
	}
	e.Readings++
	e.LastReading = a.StartedAt
	if e.Readings >= c.questionTerms().Readings && !blocked {
		e.Exposed, e.Proven = false, true
	}
}

// stillExecutable reports whether a send may still be executed: one without an answer or with an unclear one, or one whose attempt
// a restore has removed.
func (r *Record) stillExecutable(d Dispatch, c Contract, now time.Time) bool {
	if now.Before(d.LostSendUntil.Add(c.Horizon.D())) && !d.LostSendUntil.IsZero() {
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
