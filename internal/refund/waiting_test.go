package refund

import (
	"testing"
	"time"
)

// propose marks an open proposal for the refund as it stands, as the store reads it.
func (s *scenario) propose() { s.r.ProposalOpen = true }

// The deadline passes while the channel is away. Afterwards what the contract allows goes on, and what is learned closes the case.
func TestACaseOfWaitingStopsNothing(t *testing.T) {
	t.Parallel()
	t.Run("a key is replayed", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyReplayOnly)
		s.loseAnswer()
		s.wait(time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.expect("an hour without an answer", StateUnknown, true, CaseDeadline)
		s.expectStep("the key is alive", StepSend)
		s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "A"})
		s.expect("done without a person", StateSuccess, false)
	})
	t.Run("a number is sent again after its proven absence", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		s.wait(time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.proveAbsence(1)
		s.expect("a day of PENDING is not over", StatePending, false)
		s.expectStep("it did nothing", StepSend)
	})
	t.Run("under the deadline of PENDING, too", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileListAndMatch)
		s.loseAnswer()
		s.wait(25 * time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.proveAbsence(1)
		s.expect("PENDING for longer than a day", StatePending, false, CaseDeadline)
		s.expectStep("the number is spent", StepRetireKey)
		s.conclude(KeyExpired, "")
		s.expectStep("the next one", StepSend)
		s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "A"})
		s.expect("done without a person", StateSuccess, false)
	})
	t.Run("an acknowledgement answers the deadline", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		s.wait(time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.notice(Acknowledged, 1, "A")
		s.expect("the wait of ACCEPTED begins", StateAccepted, true)
	})
}

// An open proposal stops sends; nothing stops questions.
func TestAnOpenProposalStopsSends(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyReplayOnly)
	s.loseAnswer()
	s.wait(time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.propose()
	s.expectStep("no replay", StepWait)
	s = newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.wait(time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.propose()
	s.expectStep("the question goes on", StepQuery)
	if ActionWait.StopsSends() || !ActionConfirmSuccess.StopsSends() || !ActionConfirmNotDone.StopsSends() || !ActionResend.StopsSends() {
		t.Error("wait alone stops nothing")
	}
}

// A proposal is void as soon as the refund has a newer version. An answer that counts for nothing makes none.
func TestAnAnswerThatCountsForNothingVoidsNoProposal(t *testing.T) {
	t.Parallel()
	t.Run("an unclear answer, an early absence", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		s.r, _ = ask(s.r, 1, s.c, s.now())
		s.wait(time.Hour)
		s.conclude(Deadline, CaseDeadline)
		s.propose()
		version := s.r.JournalSeq
		s.answerWith(s.r.AttemptNo, NotFound) // it left before the first send could not be executed any more
		s.r, _ = ask(s.r, 1, s.c, s.now())
		s.answerWith(s.r.AttemptNo, Unknown)
		if s.r.JournalSeq != version || !s.r.ProposalOpen {
			t.Errorf("version %d, was %d; proposal open: %v", s.r.JournalSeq, version, s.r.ProposalOpen)
		}
	})
	t.Run("a contradiction that is known", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.answerWith(s.send(), Acknowledged)
		s.wait(time.Minute)
		s.answerWith(s.query(1), NotFound)
		s.expect("the channel has lost it", StateAccepted, true, CaseContradiction)
		version := s.r.JournalSeq
		s.r, _ = ask(s.r, 1, s.c, s.now())
		s.answerWith(s.r.AttemptNo, NotFound)
		if s.r.JournalSeq != version {
			t.Errorf("version %d, was %d", s.r.JournalSeq, version)
		}
	})
}

// An equal refund was just made: the answer proves nothing. After the proven absence the number is sent again, with growing waits.
func TestWhatPassesLaterIsSentAgainAndNeverFails(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	var gaps []time.Duration
	last := s.now()
	for range 6 {
		sent := s.now()
		gaps, last = append(gaps, sent.Sub(last)), sent
		s.answer(s.send(), Answer{Kind: Unknown, Code: "duplicate_refund"})
		s.expect("it may be the echo of our own send", StateUnknown, true)
		s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom
		s.proveAbsence(1)
		s.expect("proven absent", StatePending, false)
		if step := Decide(s.r, s.c, s.now()); step.Kind == StepWait {
			s.r.Now = step.Until
		}
	}
	if gaps[4] < 20*time.Second || gaps[5] < 60*time.Second || s.r.DispatchNo != 1 {
		t.Errorf("number %d, gaps %v", s.r.DispatchNo, gaps)
	}
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "A"})
	s.expect("the window is over", StateSuccess, false)
}

// A refund that never succeeds is sent at most 12 times in the first hour, whatever the sends are answered.
func TestAtMostTwelveSendsInTheFirstHour(t *testing.T) {
	t.Parallel()
	for _, answer := range []FactKind{Unknown, Retryable, NotSent} {
		for seed := range byte(40) {
			s := newScenario(t, ProfileKeyedQueryable)
			s.r.RID[14], s.r.RID[15] = seed*7, seed
			began, sends := s.now(), 0
			for s.now().Sub(began) < time.Hour {
				switch step := Decide(s.r, s.c, s.now()); step.Kind {
				case StepSend:
					sends++
					s.answerWith(s.send(), answer)
				case StepQuery:
					s.answerWith(s.query(1), NotFound)
				case StepWait:
					s.r.Now = step.Until
				default:
					t.Fatalf("%+v", step)
				}
			}
			if sends > 12 || sends < 8 {
				t.Fatalf("%s: %d sends in the first hour", answer, sends)
			}
		}
	}
}

// A database clock that runs ahead for a moment leaves times in the future behind. No step waits for them longer than its own wait.
func TestTimesOfAClockThatRanAheadDelayNothing(t *testing.T) {
	t.Parallel()
	ahead := func(s *scenario, do func()) {
		s.wait(2 * time.Hour)
		do()
		s.wait(-2 * time.Hour)
	}
	t.Run("a send that did nothing", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		send := s.send()
		ahead(s, func() { s.answerWith(send, Retryable) })
		s.expectStep("it is due", StepSend)
	})
	t.Run("a lease", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		ahead(s, func() { s.send() })
		s.conclude(LeaseEnd, "")
		s.expect("the owner does not come back in two hours", StateUnknown, true)
		s.expectStep("the channel is asked", StepQuery)
	})
	t.Run("a low balance", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileNoticeOnly)
		send := s.send()
		ahead(s, func() { s.answer(send, Answer{Kind: RefusedNewNumber, Code: "insufficient_balance"}) })
		s.expectStep("it is due", StepSend)
	})
	t.Run("the payment's spacing", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyReplayOnly)
		s.r.Payment.NextSendAt = s.now().Add(2 * time.Hour)
		s.expectStep("it is due", StepSend)
	})
}

// A notice acknowledges the refund; long after it had to be visible the channel does not know it.
func TestAnAcknowledgementByNoticeIsContradictedToo(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.notice(Acknowledged, 1, "A")
	s.r, _ = ask(s.r, 1, s.c, s.now().Add(s.c.Query.VisibilityLag.D()))
	s.answerWith(s.r.AttemptNo, NotFound)
	s.expect("it may still be hidden", StateAccepted, true)
	s.wait(time.Hour)
	s.r, _ = ask(s.r, 1, s.c, s.now())
	s.answerWith(s.r.AttemptNo, NotFound)
	s.expect("an hour later", StateAccepted, true, CaseContradiction)
}
