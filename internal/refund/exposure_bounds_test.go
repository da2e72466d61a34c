package refund

import (
	"testing"
	"time"
)

// boundTerms has round times: horizon 10 s, visibility lag 5 s, two readings 2 s apart, the first question after 1 s.
func boundTerms() Contract {
	return Contract{Horizon: Duration(10 * time.Second), Query: QueryTerms{Exists: true, VisibilityLag: Duration(5 * time.Second), Readings: 2,
		ReadingGap: Duration(2 * time.Second), FirstDelay: Duration(time.Second)},
		Waits: WaitTerms{Pending: Duration(time.Hour), Unknown: Duration(2 * time.Hour), Accepted: Duration(3 * time.Hour)}}
}

func second(n float64) time.Time { return day0.Add(time.Duration(n * float64(time.Second))) }

// absenceAt is a question of number 1 that left at a time and was answered with NOT_FOUND.
func absenceAt(at time.Time) Attempt {
	return Attempt{DispatchNo: 1, Kind: AttemptQuery, StartedAt: at, AnsweredAt: at, Answer: NotFound}
}

// A number that an epoch has marked may still be executed one horizon after its lost send, and an absence counts one visibility
// lag later.
func TestAfterAnEpochAnAbsenceCountsFromHorizonAndLagOfTheLostSend(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	c.Query.Readings = 1
	d := Dispatch{Ordinal: 1, Exposed: true, MarkedEpoch: 2, LostSendUntil: second(60)}
	for name, x := range map[string]struct {
		asked   time.Time
		exposed bool
	}{
		"a nanosecond too early": {second(75).Add(-1), true},
		"at the first moment":    {second(75), false},
	} {
		r := Record{Dispatches: []Dispatch{d}, Attempts: []Attempt{absenceAt(x.asked)}}
		e := r.Exposure(d, c, second(100))
		if e.Exposed != x.exposed || e.Proven == x.exposed || !e.ExecutableUntil.Equal(second(70)) || !e.AbsenceFrom.Equal(second(75)) {
			t.Errorf("%s: %+v, want exposed %v, executable until +70 s, absences from +75 s", name, e, x.exposed)
		}
	}
}

// The mark of an epoch assumes a send that may leave for the longest lease from now on, and never shortens an earlier mark.
func TestAMarkedNumberMayHaveASendForTheLongestLease(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ before, want time.Time }{
		"first mark":           {time.Time{}, day0.Add(LongestLease)},
		"after a longer mark":  {day0.Add(2 * LongestLease), day0.Add(2 * LongestLease)},
		"after a shorter mark": {day0, day0.Add(LongestLease)},
	} {
		r := newRecord()
		r.Dispatches[0].LostSendUntil = x.before
		s := &transition{r: &r, c: boundTerms(), f: Fact{Kind: EpochMark}, now: day0, change: &Change{Before: r}}
		s.markEpoch()
		if d := r.Dispatches[0]; !d.LostSendUntil.Equal(x.want) || d.MarkedEpoch != r.Epoch || !d.KeyExpiresAt.Equal(day0) || !d.Exposed {
			t.Errorf("%s: %+v, want a lost send until %v", name, d, x.want)
		}
	}
}

// A final negative status ends the exposure when no send can be executed any more: one horizon after the last moment of a lost
// send, or of a send without a clear answer.
func TestAFinalNegativeEndsExposureAfterTheHorizon(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	lost := Dispatch{Ordinal: 1, Exposed: true, MarkedEpoch: 2, LostSendUntil: second(60), FinalNegativeAt: second(1)}
	sent := Dispatch{Ordinal: 1, Exposed: true, FinalNegativeAt: second(1)}
	send := func(answer FactKind) []Attempt {
		return []Attempt{{No: 1, DispatchNo: 1, Kind: AttemptSend, StartedAt: day0, NotAfter: second(60), Answer: answer}}
	}
	for name, x := range map[string]struct {
		d       Dispatch
		sends   []Attempt
		now     time.Time
		exposed bool
	}{
		"lost send, before":       {lost, nil, second(70).Add(-1), true},
		"lost send, at the end":   {lost, nil, second(70), false},
		"no answer, before":       {sent, send(""), second(70).Add(-1), true},
		"no answer, at the end":   {sent, send(""), second(70), false},
		"unknown, before":         {sent, send(Unknown), second(70).Add(-1), true},
		"echo, before":            {sent, send(RefusedEcho), second(70).Add(-1), true},
		"acknowledged, at once":   {sent, send(Acknowledged), second(2), false},
		"no final negative known": {Dispatch{Ordinal: 1, Exposed: true}, send(Acknowledged), second(100), true},
	} {
		r := Record{Dispatches: []Dispatch{x.d}, Attempts: x.sends}
		if e := r.Exposure(x.d, c, x.now); e.Exposed != x.exposed {
			t.Errorf("%s: exposed %v, want %v", name, e.Exposed, x.exposed)
		}
	}
}

// Two absences count as two only if the second question left one reading gap after the first that counted, and a later send
// starts the count again.
func TestAbsencesCountOneReadingGapApart(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	send := Attempt{No: 1, DispatchNo: 1, Kind: AttemptSend, StartedAt: day0, NotAfter: second(3), Answer: Unknown}
	again := Attempt{No: 9, DispatchNo: 1, Kind: AttemptSend, StartedAt: second(22), NotAfter: second(25), Answer: Unknown}
	d := Dispatch{Ordinal: 1, Exposed: true}
	for name, x := range map[string]struct {
		attempts []Attempt
		readings int
		proven   bool
	}{
		"one":                        {[]Attempt{send, absenceAt(second(18))}, 1, false},
		"a nanosecond under the gap": {[]Attempt{send, absenceAt(second(18)), absenceAt(second(20).Add(-1))}, 1, false},
		"one gap apart":              {[]Attempt{send, absenceAt(second(18)), absenceAt(second(20))}, 2, true},
		"before a second send":       {[]Attempt{send, absenceAt(second(18)), absenceAt(second(20)), again}, 0, false},
	} {
		r := Record{Dispatches: []Dispatch{d}, Attempts: x.attempts}
		if e := r.Exposure(d, c, second(30)); e.Readings != x.readings || e.Proven != x.proven || e.Exposed == x.proven {
			t.Errorf("%s: %+v, want %d readings, proven %v", name, e, x.readings, x.proven)
		}
	}
}
