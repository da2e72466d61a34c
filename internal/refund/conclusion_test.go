package refund

import (
	"errors"
	"testing"
	"time"
)

// A conclusion that does not hold under the lock is refused and changes nothing.
func TestConclusionThatDoesNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	refused := func(s *scenario, f Fact) {
		t.Helper()
		if _, err := Apply(s.r, f, s.c); !errors.Is(err, ErrNotOwner) {
			t.Errorf("%s in %s: %v, want ErrNotOwner", f.Kind, s.r.State, err)
		}
	}
	t.Run("key expired, entered twice", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, "replaying")
		s.answerWith(s.send(), Retryable)
		s.wait(time.Minute)
		s.expectStep("the key has expired", StepRetireKey)
		f := Fact{Kind: KeyExpired, Dispatch: 1, Generation: s.r.Generation, Source: "sweeper"}
		s.enter(f)
		refused(s, f)
		if s.r.DispatchNo != 2 {
			t.Errorf("number %d is live, want 2", s.r.DispatchNo)
		}
	})
	t.Run("deadline after the end", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		f := Fact{Kind: Deadline, Generation: s.r.Generation, Reason: CaseDeadline, Source: "sweeper"}
		refused(s, f) // an hour too early
		s.notice(Succeeded, 1, "X")
		refused(s, f)
	})
	t.Run("of another generation", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.send()
		s.wait(leaseTime)
		f := Fact{Kind: LeaseEnd, Generation: s.r.Generation - 1, Source: "sweeper"}
		refused(s, f)
		f.Generation++
		s.enter(f)
		s.expect("the lease has ended", StateUnknown, true)
		refused(s, f)
	})
	t.Run("for another reason", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileBlind)
		s.loseAnswer()
		f := Fact{Kind: Deadline, Generation: s.r.Generation, Reason: CaseDeadline, Source: "sweeper"}
		refused(s, f)
		f.Reason = CaseNoStep
		s.enter(f)
		s.expect("no step is left", StateUnknown, true, CaseNoStep)
	})
	t.Run("of another number", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, "replaying")
		s.answerWith(s.send(), RefusedNewNumber)
		s.answerWith(s.send(), Retryable)
		s.wait(time.Minute)
		refused(s, Fact{Kind: KeyExpired, Dispatch: 1, Generation: s.r.Generation, Source: "sweeper"})
		s.enter(Fact{Kind: KeyExpired, Dispatch: 2, Generation: s.r.Generation, Source: "sweeper"})
		s.expect("no third number", StatePending, false, CaseNoStep)
	})
}

// A number's end that is known before the horizon becomes final with time, under a final state too.
func TestExposureUnderAFinalStateEndsWithTime(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	earlyEndStart(s)
	s.expect("number 1 may still be executed, and its amount is held", StateSuccess, true, CaseOtherNumberOpen, CaseExcess)
	s.r.Now = s.expectStep("only time is missing", StepWait).Until
	s.expectStep("nothing can be executed any more", StepSettle)
	s.conclude(Settled, "")
	s.expect("the question is answered", StateSuccess, false)
}
