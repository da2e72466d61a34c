package refund

import (
	"testing"
	"time"
)

// Edge cases of the table.

func TestAcknowledgedVoidsAnOverride(t *testing.T) {
	t.Parallel()
	t.Run("of a refund reported as FAILED", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, "noticing")
		s.loseAnswer()
		s.confirmNotDone()
		s.notice(Acknowledged, 1, "")
		s.expect("the channel has a refund that a person confirmed as not done", StateFailed, true, CaseAcknowledgedAfterEnd)
		s.expectBalances("its amount is held again", 0, 0, 1000)
		s.wait(time.Hour)
		s.notice(FailedFinal, 1, "")
		s.expect("its end is known", StateFailed, false)
		s.expectBalances("nothing is held any more", 0, 0, 0)
	})
	t.Run("of an older number before the next one is sent", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		s.resend()
		s.notice(Acknowledged, 1, "")
		s.expect("nothing is sent", StateUnknown, true, CaseAcknowledgedAfterEnd)
	})
}

func TestFailedFinalBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	send := s.send()
	s.notice(FailedFinal, 1, "")
	s.expect("the send in flight may still be executed", StateProcessing, true)
	s.answerWith(send, Acknowledged)
	s.expect("an older acknowledgement changes nothing: the number has ended negatively", StateFailed, false)
}

func TestFailedFinalWhilePending(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.answerWith(s.send(), Retryable)
	s.expect("may be sent again", StatePending, false)
	s.notice(FailedFinal, 1, "")
	s.expect("stored", StatePending, false)
	s.expectStep("an ended number is not sent", StepSettle)
	s.conclude(Settled, "")
	s.expect("ended negatively", StateFailed, false)
	s.expectStep("nothing is left to do", StepDone)
}

// The number's end is known and only one unanswered send could still be executed; its late answer says that it was not.
func TestLateNegativeAfterTheNumbersEnd(t *testing.T) {
	t.Parallel()
	for _, late := range []FactKind{Retryable, NotSent, RefusedClean, RefusedNewNumber} {
		s := newScenario(t, "replaying")
		s.c.Horizon, s.c.Key.Lifetime = Duration(time.Minute), 0
		first := s.send()
		s.wait(leaseTime)
		s.conclude(LeaseEnd, "")
		second := s.send()
		s.answerWith(second, Acknowledged)
		s.expect("the second send was acknowledged", StateAccepted, true)
		s.notice(FailedFinal, 1, "")
		s.expect("the first send may still be executed", StateAccepted, true)
		s.answerWith(first, late)
		s.expect(string(late)+": the number has ended, and nothing can be executed", StateFailed, false)
	}
}

func TestOtherNumberOpenIsAnIndependentReason(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.resend()
	s.r.Payment.Captured = 5000
	s.notice(Acknowledged, 1, "")                                              // UNKNOWN, case
	s.enter(Fact{Kind: Succeeded, Dispatch: 2, Amount: 900, Source: "notice"}) // another amount: a case of its own
	s.expect("number 1 may still pay", StateSuccess, true, CaseAcknowledgedAfterEnd, CaseContradiction, CaseOtherNumberOpen)
	s.wait(time.Minute)
	s.notice(FailedFinal, 1, "")
	s.expect("number 1 has ended", StateSuccess, false, CaseContradiction)
}

func TestNegativeAnswerToAQuestionLeavesTheSend(t *testing.T) {
	t.Parallel()
	for _, k := range []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent, RefusedEcho} {
		s := newScenario(t, ProfileKeyedQueryable)
		s.answerWith(s.send(), Acknowledged)
		q := s.query(1)
		s.answerWith(q, k)
		s.expect(string(k)+" of a question", StateAccepted, true)

		s = newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		s.confirmSuccess()
		next, attempt := ask(s.r, 1, s.c, s.now())
		s.r = next
		s.answerWith(attempt, k)
		s.expect(string(k)+" of a check", StateSuccess, false)
	}
}

func TestEpochMarkNeverExtendsAKey(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "replaying")
	s.loseAnswer()
	expires := s.r.Dispatches[0].KeyExpiresAt
	s.wait(time.Hour)
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.expect("marked", StateUnknown, true)
	if d := s.r.Dispatches[0]; !d.KeyExpiresAt.Equal(expires) {
		t.Errorf("the key expired at %v, now %v", expires, d.KeyExpiresAt)
	}
}

// An absence of an older number clears that number only; the answer to the live number's last send still counts.
func TestAbsenceOfAnOlderNumber(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "listing")
	s.answerWith(s.send(), RefusedNewNumber)
	s.answerWith(s.send(), Retryable)
	s.wait(time.Minute)
	send := s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.wait(time.Hour)
	s.answerWith(send, RefusedClean)
	for _, no := range []int{2, 1} {
		s.r.LeaseEndsAt = time.Time{}
		s.answerWith(s.query(no), NotFound)
	}
	s.expect("the live number was refused, the older one did nothing", StateFailed, false)
}

// The database refuses rows in UNKNOWN, ACCEPTED and PROCESSING with nothing exposed, even between two transitions.
func TestNoRowIsOpenWithNothingExposed(t *testing.T) {
	t.Parallel()
	t.Run("the unanswered send's answer comes after the horizon", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		send := s.send()
		s.notice(FailedFinal, 1, "")
		s.wait(5 * time.Second)
		ch := s.answerWith(send, Unknown)
		s.expect("ended", StateFailed, false)
		if s.r.Failure.Code != "channel-failed" || len(ch.Steps) != 1 {
			t.Errorf("failure %+v in %d steps", s.r.Failure, len(ch.Steps))
		}
	})
	t.Run("an older number's end clears the refund", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.answerWith(s.send(), RefusedNewNumber)
		s.notice(Acknowledged, 1, "")
		s.expect("an older number is acknowledged", StateUnknown, true, CaseAcknowledgedAfterEnd)
		ch := s.notice(FailedFinal, 1, "")
		s.expect("and has ended; number 2 was never sent", StateFailed, false)
		if len(ch.Steps) != 1 || ch.Steps[0].Entry.FactKey == nil {
			t.Errorf("one row must have the fact with its key, got %+v", ch.Steps)
		}
	})
}

// A channel that cannot be asked proves no absence.
func TestNotFoundNeedsAQuestion(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileBlind)
	s.loseAnswer()
	s.wait(time.Hour)
	next, no := ask(s.r, 1, s.c, s.now())
	s.r = next
	s.answerWith(no, NotFound)
	s.expect("nothing is proven", StateUnknown, true)
}
