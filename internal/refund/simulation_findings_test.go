package refund

import (
	"errors"
	"testing"
	"time"
)

// Cases that the simulation has found.

// newLineScenario: a success without the channel's id, and a line of equal amount that gave it one.
func newLineScenario(t *testing.T, class string) *scenario {
	t.Helper()
	s := newScenario(t, class)
	s.answerWith(s.send(), Succeeded)
	s.r.Effects[0].ChannelRefundID = "of a line"
	return s
}

// The channel names the number's refund, and the booked line is another one: that line was somebody else's.
func TestBookedLineOfAnotherRefund(t *testing.T) {
	t.Parallel()
	t.Run("success", func(t *testing.T) {
		t.Parallel()
		s := newLineScenario(t, "noticing")
		s.noticeOf1000(Succeeded, "ch_1")
		s.expect("more than was captured, but no second effect of ours", StateSuccess, false, CaseExcess)
		s.expectBalances("both moved", 0, 1000, 1000)
		if e := s.r.Effects; len(e) != 2 || e[0].ChannelRefundID != "ch_1" || !e[1].heldLine() || e[1].ChannelRefundID != "of a line" {
			t.Errorf("effects %+v", s.r.Effects)
		}
	})
	t.Run("return", func(t *testing.T) {
		t.Parallel()
		s := newLineScenario(t, ProfileKeyedQueryable)
		s.noticeOf1000(Reversed, "ch_1")
		s.expect("ours moved and came back, the line stands", StateReversed, false)
		s.expectBalances("the line's money is gone", 0, 0, 1000)
	})
	t.Run("final negative", func(t *testing.T) {
		t.Parallel()
		s := newLineScenario(t, ProfileKeyedQueryable)
		s.noticeOf1000(FailedFinal, "ch_1")
		s.expect("a case opens: ours failed, the line stands for it", StateSuccess, false, CaseContradiction)
	})
	t.Run("late failure", func(t *testing.T) {
		t.Parallel()
		s := newLineScenario(t, "noticing")
		s.noticeOf1000(FailedFinal, "ch_1")
		s.expect("ours moved and came back", StateReversed, false)
		s.expectBalances("the line's money is gone", 0, 0, 1000)
	})
	t.Run("the line's own id", func(t *testing.T) {
		t.Parallel()
		s := newLineScenario(t, "noticing")
		s.noticeOf1000(Succeeded, "of a line")
		s.expect("the line was the refund's own", StateSuccess, false)
		s.noticeOf1000(Succeeded, "ch_2")
		s.expect("a second effect is one now", StateSuccess, false, CaseExcess, CaseMultipleEffects)
	})
}

func (s *scenario) noticeOf1000(kind FactKind, id string) {
	s.t.Helper()
	s.enter(Fact{Kind: kind, Dispatch: 1, ChannelRefundID: id, Amount: 1000, Currency: "USD", Source: "notice", Actor: "system:notices"})
}

// A line that a person names gives its id to the booked effect without one; nothing is booked beside it.
func TestNamedLineIsNotBookedBesideTheEffect(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "listing")
	attempt := s.send()
	s.r.Effects = []Effect{{ID: RID{15: 1}, ChannelRefundID: "ch_1", Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectHeld, At: s.now()}}
	s.r.Payment.Held, s.r.Payment.Excess = 1000, 500
	s.r.Case = &Case{Reasons: []CaseReason{CaseExcess, CaseUnmatchedLine}}
	s.answerWith(attempt, Succeeded)
	d := s.decision(ActionConfirmSuccess)
	d.EffectID = s.r.Effects[0].ID
	s.r.Now = later(s.now(), s.r.TakesEffectFrom(s.c))
	ch, err := ApplyDecision(s.r, d, s.c)
	if err != nil {
		t.Fatal(err)
	}
	s.r = ch.After
	s.expect("named", StateSuccess, false)
	s.expectBalances("once", 0, 1000, 0)
	if e := s.r.Effects; e[0].Status != EffectDropped || e[1].ChannelRefundID != "ch_1" {
		t.Errorf("effects %+v", e)
	}
}

// While an epoch is open nothing ends by the known answers: a restore may have removed sends that followed them.
func TestNothingEndsWhileAnEpochIsOpen(t *testing.T) {
	t.Parallel()
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.r.SendingHeld = true
		s.enter(Fact{Kind: Withdrawn, Source: "cancel"})
		s.expect("may have been sent in the lost future", StatePending, false)
	})
	t.Run("refusal", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		attempt := s.send()
		s.r.SendingHeld = true
		s.answerWith(attempt, RefusedClean)
		s.expect("another send may have followed", StateUnknown, true)
		s.expectStep("waits for the marking", StepWait)
		s.r.SendingHeld = false
		s.expectStep("nothing was lost after all", StepSettle)
	})
	t.Run("final negative", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileKeyedQueryable)
		s.answerWith(s.send(), Acknowledged)
		s.r.SendingHeld = true
		s.wait(time.Hour)
		s.notice(FailedFinal, 1, "")
		s.expect("another number may have followed", StateAccepted, true)
		s.r.SendingHeld = false
		s.conclude(Settled, "")
		s.expect("nothing was lost after all", StateFailed, false)
	})
	t.Run("decision", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, ProfileBlind)
		s.answerWith(s.send(), Unknown)
		s.conclude(Deadline, CaseNoStep)
		d := s.decision(ActionConfirmNotDone)
		s.r.Now, s.r.SendingHeld = later(s.now(), s.r.TakesEffectFrom(s.c)), true
		if _, err := ApplyDecision(s.r, d, s.c); !errors.Is(err, ErrTooEarly) || d.MayTakeEffect(s.r, s.c, s.now()) {
			t.Errorf("%v, want too early", err)
		}
	})
}

// The answer of an attempt that a restore has removed never completes the one that has its ordinal now.
func TestAnswerOfALostAttempt(t *testing.T) {
	t.Parallel()
	for kind, want := range map[FactKind]State{Retryable: StateProcessing, NotSent: StateProcessing, FailedFinal: StateProcessing,
		Succeeded: StateSuccess, Acknowledged: StateAccepted} {
		s := newScenario(t, ProfileKeyedQueryable)
		lost, _ := s.r.Attempt(s.send())
		s = newScenario(t, ProfileKeyedQueryable)
		s.wait(time.Minute)
		now := s.send()
		s.enter(FactOf(*lost, Answer{Kind: kind}))
		if a, _ := s.r.Attempt(now); a.Answer != "" || s.r.State != want {
			t.Errorf("%s of a lost attempt: the new one has answer %q in %s, want none in %s", kind, a.Answer, s.r.State, want)
		}
	}
}

// A number behind the live one that ended at the channel was the live one before the restore: its end is the refund's.
func TestNegativeEndOfALostNumber(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileListAndMatch)
	s.r.Dispatches = append(s.r.Dispatches, Dispatch{Ordinal: 2, Number: "behind", Exposed: true, Retired: true, MarkedEpoch: 2, LostSendUntil: s.now()})
	s.r.Dispatches[0].MarkedEpoch, s.r.Dispatches[0].LostSendUntil, s.r.Dispatches[0].KeyExpiresAt = 2, s.now(), s.now()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.notice(FailedFinal, 2, "ch_2")
	s.wait(5 * time.Minute)
	for range 2 {
		s.answerWith(s.query(1), NotFound)
		s.wait(time.Second)
		s.r.LeaseEndsAt = time.Time{}
	}
	s.expect("no third number", StateFailed, false)
}

// After an epoch every number is exposed, and a person confirms the one that was sent, not the one behind it.
func TestConfirmedNumberIsTheOneThatWasSent(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileBlind)
	s.answerWith(s.send(), Unknown)
	s.r.Dispatches = append(s.r.Dispatches, Dispatch{Ordinal: 2, Number: "behind", Exposed: true, Retired: true, MarkedEpoch: 2, LostSendUntil: s.now()})
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.conclude(Deadline, CaseNoStep)
	s.applyDecision(ActionConfirmSuccess)
	if e := s.r.Effects; len(e) != 1 || e[0].DispatchNo != 1 {
		t.Errorf("booked %+v, want number 1", e)
	}
}

// A decision to wait is possible at any time.
func TestWaitIsNeverTooEarly(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileBlind)
	s.answerWith(s.send(), Unknown)
	s.conclude(Deadline, CaseNoStep)
	s.r.SendingHeld = true
	if _, err := ApplyDecision(s.r, s.decision(ActionWait), s.c); err != nil {
		t.Errorf("wait: %v", err)
	}
}
