package refund

import (
	"testing"
	"time"
)

// After one absence that counts, the next question waits for the reading gap where that is shorter than the backoff, and not for less.
func TestTheSecondReadingWaitsForTheReadingGap(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	d := Dispatch{Ordinal: 1, Exposed: true}
	send := Attempt{No: 1, DispatchNo: 1, Kind: AttemptSend, StartedAt: day0, NotAfter: second(3), Answer: Unknown}
	early := absenceAt(second(10)) // before an absence counts, from +18 s
	for name, x := range map[string]struct {
		attempts []Attempt
		want     time.Time
	}{
		"no question yet":            {[]Attempt{send}, second(1)},
		"early questions only":       {[]Attempt{send, early, early, early, early, early}, second(18)},
		"one reading that counts":    {[]Attempt{send, early, early, early, early, absenceAt(second(18))}, second(20)},
		"a question of another kind": {[]Attempt{send, early, early, early, early, {DispatchNo: 2, Kind: AttemptQuery, StartedAt: second(50)}, absenceAt(second(18))}, second(20)},
	} {
		r := Record{Dispatches: []Dispatch{d}, Attempts: x.attempts}
		if got := r.questionDue(1, c, second(18)); !got.Equal(x.want) {
			t.Errorf("%s: due at %v, want %v", name, got.Sub(day0), x.want.Sub(day0))
		}
	}
}

// A replay waits until no earlier send can be executed any more. It may come earlier only where the channel refuses a repeat while
// the first request is in flight, and the last send has an answer.
func TestAReplayWaitsForATwinInFlight(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	c.Query = QueryTerms{}
	d := Dispatch{Ordinal: 1, Exposed: true}
	for name, x := range map[string]struct {
		refused bool
		answer  FactKind
		horizon bool
	}{
		"repeats may be executed, answered":     {false, Unknown, true},
		"repeats may be executed, no answer":    {false, "", true},
		"repeats in flight refused, no answer":  {true, "", true},
		"repeats in flight refused, and answer": {true, Unknown, false},
	} {
		c.Key.InFlightRefused = x.refused
		r := Record{Dispatches: []Dispatch{d}, Attempts: []Attempt{{No: 1, DispatchNo: 1, Kind: AttemptSend, StartedAt: day0, NotAfter: second(3), Answer: x.answer}}}
		want := day0.Add(r.backoff(1))
		if x.horizon {
			want = second(13)
		}
		if got := r.replayAt(d, c, second(1)); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", name, got.Sub(day0), want.Sub(day0))
		}
	}
}

// An acknowledged refund has the patience of ACCEPTED, any other open one that of UNKNOWN.
func TestEachOpenStateHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	c := boundTerms()
	for state, wait := range map[State]time.Duration{StateAccepted: 3 * time.Hour, StateUnknown: 2 * time.Hour} {
		for _, x := range []struct {
			age time.Duration
			ok  bool
		}{{wait - 1, false}, {wait, true}} {
			r := Record{Dispatches: []Dispatch{{Ordinal: 1, Exposed: true, Acknowledged: true}}}
			r.State, r.Exposed, r.DispatchNo, r.StateSince = state, true, 1, day0
			got, _ := r.conclude(c, day0.Add(x.age))
			if (got.kind == Deadline && got.reason == CaseDeadline) != x.ok {
				t.Errorf("%s after %v: %+v, want a deadline: %v", state, x.age, got, x.ok)
			}
		}
	}
}

// The owner's answer to a question ends its lease while the refund is PENDING; an answer of an earlier owner leaves the lease.
func TestAnAnswerWhilePendingEndsTheLeaseOfItsOwnerOnly(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.answerWith(s.send(), Unknown)
	s.wait(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.applyDecision(ActionResend) // PENDING, with a question about number 1
	before := s.query(1)
	s.wait(leaseTime)
	now := s.query(1)
	lease := s.r.LeaseEndsAt
	s.answerWith(before, Unknown)
	if s.r.State != StatePending || !s.r.LeaseEndsAt.Equal(lease) {
		t.Errorf("an earlier owner's answer: %s, lease until %v, want %v", s.r.State, s.r.LeaseEndsAt, lease)
	}
	s.answerWith(now, Unknown)
	if s.r.State != StatePending || !s.r.LeaseEndsAt.IsZero() {
		t.Errorf("the owner's answer: %s, lease until %v, want none", s.r.State, s.r.LeaseEndsAt)
	}
}
