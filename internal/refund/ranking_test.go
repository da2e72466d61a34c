package refund

import (
	"slices"
	"testing"
	"time"
)

// twoOpen has two sends of number 1 that are open together: the first owner is silent, and the key is replayed.
func twoOpen(t *testing.T) (s *scenario, first, second int) {
	t.Helper()
	s = newScenario(t, ProfileKeyReplayOnly)
	first = s.send()
	s.wait(leaseTime)
	s.conclude(LeaseEnd, "")
	s.expectStep("the key is replayed: the first send cannot be executed any more", StepSend)
	second = s.send()
	return s, first, second
}

// A refusal stands, whatever the other sends of the number answer before or after it.
func TestARefusalStandsInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, other := range []FactKind{NotSent, Retryable, RefusedNewNumber} {
		s, first, second := twoOpen(t)
		s.answerWith(first, RefusedClean)
		s.answerWith(second, other)
		s.expect("refused, then "+string(other), StateFailed, false)
		s, first, second = twoOpen(t)
		s.answerWith(second, other)
		s.answerWith(first, RefusedClean)
		s.expect(string(other)+", then refused", StateFailed, false)
	}
}

// A number that the channel does not take is not sent again, whatever its other sends answer.
func TestANumberThatTheChannelDoesNotTakeIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, newNumberFirst := range []bool{true, false} {
		s, first, second := twoOpen(t)
		if newNumberFirst {
			s.answerWith(first, RefusedNewNumber)
			s.answerWith(second, NotSent)
		} else {
			s.answerWith(first, NotSent)
			s.answerWith(second, RefusedNewNumber)
		}
		for s.r.DispatchNo == 1 {
			s.expectStep("the next number follows", StepRetireKey)
			s.conclude(KeyExpired, "")
		}
		s.wait(time.Minute)
		if step := s.expectStep("the next number is sent", StepSend); step.Dispatch != 2 {
			t.Errorf("sends number %d, want 2", step.Dispatch)
		}
	}
}

// A late refusal of the first number ends the refund as long as the next number was never sent; then it is evidence only.
func TestALateRefusalOfTheNumberBefore(t *testing.T) {
	t.Parallel()
	unsent := func() (*scenario, int) {
		s := newScenario(t, ProfileListAndMatch)
		silent := s.send()
		s.wait(leaseTime)
		s.conclude(LeaseEnd, "")
		s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom
		s.proveAbsence(1)
		s.conclude(KeyExpired, "")
		s.expect("number 2 was opened", StatePending, false)
		return s, silent
	}
	s, silent := unsent()
	s.answerWith(silent, RefusedClean)
	s.expectStep("refused for good", StepSettle)
	s.conclude(Settled, "")
	s.expect("number 2 was never sent", StateFailed, false)
	if s.r.Failure.Code != "channel-refused" {
		t.Errorf("failure %+v", s.r.Failure)
	}
	s, silent = unsent()
	send := s.send()
	s.answerWith(silent, RefusedClean)
	s.answerWith(send, Retryable)
	s.expect("number 2 was sent: the refusal is evidence", StatePending, false)
}

// A low balance where the channel keeps its first answer takes a number each time and is waited for: 1 min, 5 min, 30 min, 2 h, then
// every 6 h, until the deadline of PENDING opens a case.
func TestALowBalanceIsWaitedForUnderNewNumbers(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "notice-only")
	var waits []time.Duration
	for range 40 {
		low := s.send()
		s.answer(low, Answer{Kind: RefusedNewNumber, Code: "insufficient_balance"})
		step := Decide(s.r, s.c, s.now())
		if step.Kind == StepOpenCase {
			break
		}
		if step.Kind != StepWait || s.r.PendingReason != PendingLowBalance || s.r.Failure.Code != "" {
			t.Fatalf("%+v, %s because of %q", step, s.r.State, s.r.PendingReason)
		}
		waits = append(waits, step.Until.Sub(s.now()))
		s.r.Now = step.Until
		if next := Decide(s.r, s.c, s.now()); next.Kind == StepOpenCase {
			s.conclude(Deadline, next.Reason)
			break
		}
	}
	want := []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour, 6 * time.Hour, 6 * time.Hour, 6 * time.Hour}
	if !slices.Equal(waits, want) {
		t.Errorf("waits %v, want %v", waits, want)
	}
	s.expect("a day of low balance", StatePending, false, CaseDeadline)
}

// A number that the channel does not take is counted, whatever the low balances around it.
func TestLowBalancesDoNotCountAsTheNextNumber(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "notice-only")
	low := Answer{Kind: RefusedNewNumber, Code: "insufficient_balance"}
	s.answer(s.send(), low)
	s.wait(time.Minute)
	s.answer(s.send(), Answer{Kind: RefusedNewNumber, Code: "spent"})
	s.expect("the first number that was not taken", StatePending, false)
	s.answer(s.send(), low)
	s.expect("a low balance in between", StatePending, false)
	s.wait(time.Minute)
	s.answer(s.send(), Answer{Kind: RefusedNewNumber, Code: "spent"})
	s.expect("the second number that was not taken", StateFailed, false)
}
