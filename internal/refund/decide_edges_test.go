package refund

import (
	"testing"
	"time"
)

// A resend has its own deadline: the days of the first number do not count.
func TestResendHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.wait(48 * time.Hour)
	s.resend()
	s.notice(FailedFinal, 1, "")
	s.expect("the ask is answered", StatePending, false)
	s.expectStep("the new number is sent", StepSend)
}

// An open ask that cannot be answered ends with a case, and so does one without an answer.
func TestOpenAskEndsWithACase(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileBlind)
	s.loseAnswer()
	s.resend()
	if got := s.expectStep("nobody can be asked", StepOpenCase); got.Reason != CaseNoStep {
		t.Errorf("reason %s", got.Reason)
	}
	s = newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.resend()
	s.expectStep("the channel is asked first", StepQuery)
	s.wait(25 * time.Hour)
	if got := s.expectStep("asked for a day without an answer", StepOpenCase); got.Reason != CaseDeadline {
		t.Errorf("reason %s", got.Reason)
	}
	s.conclude(Deadline, CaseDeadline)
	s.expectStep("asking goes on under the case", StepQuery)
}

// Once the number's end is known, the refund waits for the horizon: no question, no replay, no case.
func TestKnownEndWaitsForTheHorizon(t *testing.T) {
	t.Parallel()
	for class := range classes(t) {
		s := newScenario(t, class)
		s.loseAnswer()
		s.notice(FailedFinal, 1, "")
		s.expect(class+": the silent send may still be executed", StateUnknown, true)
		step := s.expectStep(class, StepWait)
		s.r.Now = step.Until
		s.expectStep(class+": nothing can be executed any more", StepSettle)
		s.conclude(Settled, "")
		s.expect(class, StateFailed, false)
	}
}

// A contract that shortens its terms does not shorten those of an earlier claim.
func TestStoredAbsenceTimeStands(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	from := s.r.Dispatches[0].AbsenceCountsFrom
	s.c.Query.VisibilityLag, s.c.Query.Readings, s.c.Version = 0, 1, 2
	s.r.Now = from.Add(-time.Second)
	s.answerWith(s.query(1), NotFound)
	s.expect("too early by the terms of the send", StateUnknown, true)
	s.r.Now = from
	s.answerWith(s.query(1), NotFound)
	s.expect("now it counts", StatePending, false)
}

// A late answer of a former owner does not release the lease of the present one.
func TestLateAnswerKeepsTheNewOwnersLease(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	first := s.send()
	s.wait(leaseTime)
	s.conclude(LeaseEnd, "")
	s.query(1)
	lease := s.r.LeaseEndsAt
	s.answerWith(first, Unknown)
	if lease.IsZero() || !s.r.LeaseEndsAt.Equal(lease) {
		t.Errorf("the lease of the new owner ends at %v, want %v", s.r.LeaseEndsAt, lease)
	}
	s.expectStep("the present owner's question is in flight", StepWait)
}

// A send is repeated after the channel's wait, and after the wait between sends of one payment.
func TestWaitsBeforeASendIsRepeated(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.answer(s.send(), Answer{Kind: Retryable, RetryAfter: 10 * time.Minute})
	if step := s.expectStep("the channel asked for ten minutes", StepWait); !step.Until.Equal(s.now().Add(10*time.Minute)) || step.Why != PendingRateLimit {
		t.Errorf("%+v", step)
	}
	s = newScenario(t, ProfileKeyReplayOnly)
	s.r.Payment.NextSendAt = s.now().Add(time.Second)
	if step := s.expectStep("another refund of the payment was sent just now", StepWait); !step.Until.Equal(s.r.Payment.NextSendAt) || step.Why != PendingSpacing {
		t.Errorf("%+v", step)
	}
}

// A refund that was never sent has a deadline as soon as anything but the queue prevents its first send.
func TestRefundThatWasNeverSentHasADeadline(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.wait(25 * time.Hour)
	s.expectStep("only queued", StepSend)
	s.r.PendingReason = PendingBreaker
	if step := s.expectStep("prevented for a day", StepOpenCase); step.Reason != CaseDeadline {
		t.Errorf("%+v", step)
	}
}

// A number that was acknowledged cannot be absent, however often it is not found.
func TestAcknowledgedIsNeverAbsent(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.answerWith(s.send(), Acknowledged)
	s.wait(time.Hour)
	for range 3 {
		s.answerWith(s.query(1), NotFound)
		s.wait(time.Minute)
		s.r.LeaseEndsAt = time.Time{}
	}
	d, _ := s.r.Dispatch(1)
	if e := s.r.Exposure(*d, s.c, s.now()); e.Readings != 0 || e.Proven || !e.Exposed {
		t.Errorf("%+v, want no counting absence", e)
	}
}
