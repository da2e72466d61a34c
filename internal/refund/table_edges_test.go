package refund

import (
	"errors"
	"testing"
	"time"
)

// Corners of the table, each one told as it happens.

func (s *story) confirmNotDone() { s.r = personNotDone(s.r) }
func (s *story) resend()         { s.r = personResend(s.r) }
func (s *story) takeBack()       { s.r = personTakesBack(s.r) }

// confirmSuccess stands for that decision: an effect without the channel's id. The case is closed.
func (s *story) confirmSuccess() {
	s.t.Helper()
	s.enter(personSuccess(s.r))
	s.r.Case, s.r.NextActionAt = nil, time.Time{}
}

// unsure drives a refund to UNKNOWN: the first send's answer is lost.
func (s *story) unsure() int {
	s.t.Helper()
	send := s.send()
	s.says(send, Unknown)
	s.wants("an answer was lost", StateUnknown, true)
	return send
}

func TestAcknowledgedVoidsAnOverride(t *testing.T) {
	t.Parallel()
	t.Run("of a refund told FAILED", func(t *testing.T) {
		t.Parallel()
		s := tell(t, "noticing")
		s.unsure()
		s.confirmNotDone()
		s.notice(Acknowledged, 1, "")
		s.wants("the channel has what a person held for not done", StateFailed, true, CaseAcknowledgedAfterEnd)
		s.balances("its amount is held again", 0, 0, 1000)
		s.after(time.Hour)
		s.notice(FailedFinal, 1, "")
		s.wants("its end is known", StateFailed, false)
		s.balances("nothing is held any more", 0, 0, 0)
	})
	t.Run("of an older number before the next one is sent", func(t *testing.T) {
		t.Parallel()
		s := tell(t, ProfileKeyedQueryable)
		s.unsure()
		s.resend()
		s.notice(Acknowledged, 1, "")
		s.wants("do not send", StateUnknown, true, CaseAcknowledgedAfterEnd)
	})
}

func TestFailedFinalBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	send := s.send()
	s.notice(FailedFinal, 1, "")
	s.wants("the send in flight may still act", StateProcessing, true)
	s.says(send, Acknowledged)
	s.wants("an older status changes nothing: the number ended negative", StateFailed, false)
}

func TestFailedFinalWhilePending(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.says(s.send(), Retryable)
	s.wants("may be sent again", StatePending, false)
	s.notice(FailedFinal, 1, "")
	s.wants("stored", StatePending, false)
	s.next("an ended number is not sent", StepSettle)
	s.conclude(Settled, "")
	s.wants("ended negative", StateFailed, false)
	s.next("nothing is left to do", StepDone)
}

// The number's end is known and only one silent send could still act; its late answer says that it did not.
func TestLateNegativeAfterTheNumbersEnd(t *testing.T) {
	t.Parallel()
	for _, late := range []FactKind{Retryable, NotSent, RefusedClean, RefusedNewNumber} {
		s := tell(t, "replaying")
		s.c.Horizon, s.c.Key.Lifetime = Duration(time.Minute), 0
		first := s.send()
		s.after(leaseTime)
		s.conclude(LeaseEnd, "")
		second := s.send()
		s.says(second, Acknowledged)
		s.wants("the second send was accepted", StateAccepted, true)
		s.notice(FailedFinal, 1, "")
		s.wants("the first send may still act", StateAccepted, true)
		s.says(first, late)
		s.wants(string(late)+": the number has ended, and nothing can act", StateFailed, false)
	}
}

func TestOtherIsAReasonOfItsOwn(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.unsure()
	s.resend()
	s.r.Payment.Captured = 5000
	s.notice(Acknowledged, 1, "")                                              // UNKNOWN, case
	s.enter(Fact{Kind: Succeeded, Dispatch: 2, Amount: 900, Source: "notice"}) // another amount: a case of its own
	s.wants("number 1 may still pay", StateSuccess, true, CaseAcknowledgedAfterEnd, CaseContradiction, CaseOtherNumberOpen)
	s.after(time.Minute)
	s.notice(FailedFinal, 1, "")
	s.wants("number 1 has ended", StateSuccess, false, CaseContradiction)
}

func TestAQuestionsNegativeSaysNothingOfTheSend(t *testing.T) {
	t.Parallel()
	for _, k := range []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent, RefusedEcho} {
		s := tell(t, ProfileKeyedQueryable)
		s.says(s.send(), Acknowledged)
		q := s.query(1)
		s.says(q, k)
		s.wants(string(k)+" of a question", StateAccepted, true)

		s = tell(t, ProfileKeyedQueryable)
		s.unsure()
		s.confirmSuccess()
		next, attempt := ask(s.r, 1, s.c, s.now())
		s.r = next
		s.says(attempt, k)
		s.wants(string(k)+" of a check", StateSuccess, false)
	}
}

// A conclusion holds on the record under its lock, or it is refused and changes nothing.
func TestConclusionThatDoesNotHoldIsRefused(t *testing.T) {
	t.Parallel()
	refused := func(s *story, f Fact) {
		t.Helper()
		if _, err := Apply(s.r, f, s.c); !errors.Is(err, ErrNotOwner) {
			t.Errorf("%s in %s: %v, want ErrNotOwner", f.Kind, s.r.State, err)
		}
	}
	t.Run("key expired, entered twice", func(t *testing.T) {
		t.Parallel()
		s := tell(t, "replaying")
		s.says(s.send(), Retryable)
		s.after(time.Minute)
		s.next("the key has expired", StepRetireKey)
		f := Fact{Kind: KeyExpired, Dispatch: 1, Generation: s.r.Generation, Source: "sweeper"}
		s.enter(f)
		refused(s, f)
		if s.r.DispatchNo != 2 {
			t.Errorf("number %d is live, want 2", s.r.DispatchNo)
		}
	})
	t.Run("deadline after the end", func(t *testing.T) {
		t.Parallel()
		s := tell(t, ProfileKeyedQueryable)
		s.unsure()
		f := Fact{Kind: Deadline, Generation: s.r.Generation, Reason: CaseDeadline, Source: "sweeper"}
		refused(s, f) // an hour too early
		s.notice(Succeeded, 1, "X")
		refused(s, f)
	})
	t.Run("of another generation", func(t *testing.T) {
		t.Parallel()
		s := tell(t, ProfileKeyedQueryable)
		s.send()
		s.after(leaseTime)
		f := Fact{Kind: LeaseEnd, Generation: s.r.Generation - 1, Source: "sweeper"}
		refused(s, f)
		f.Generation++
		s.enter(f)
		s.wants("the lease has ended", StateUnknown, true)
		refused(s, f)
	})
	t.Run("for another reason", func(t *testing.T) {
		t.Parallel()
		s := tell(t, ProfileBlind)
		s.unsure()
		f := Fact{Kind: Deadline, Generation: s.r.Generation, Reason: CaseDeadline, Source: "sweeper"}
		refused(s, f)
		f.Reason = CaseNoStep
		s.enter(f)
		s.wants("no step is left", StateUnknown, true, CaseNoStep)
	})
	t.Run("of another number", func(t *testing.T) {
		t.Parallel()
		s := tell(t, "replaying")
		s.says(s.send(), RefusedNewNumber)
		s.says(s.send(), Retryable)
		s.after(time.Minute)
		refused(s, Fact{Kind: KeyExpired, Dispatch: 1, Generation: s.r.Generation, Source: "sweeper"})
		s.enter(Fact{Kind: KeyExpired, Dispatch: 2, Generation: s.r.Generation, Source: "sweeper"})
		s.wants("no third number", StatePending, false, CaseNoStep)
	})
}

// An end that is known too early to be the last word becomes one with time, under a final state too.
func TestExposureUnderAFinalStateEndsWithTime(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	anEndIsKnownTooEarly(s)
	s.wants("number 1 may still act, and its amount is held", StateSuccess, true, CaseOtherNumberOpen, CaseExcess)
	s.r.Now = s.next("only time is missing", StepWait).Until
	s.next("nothing can act any more", StepSettle)
	s.conclude(Settled, "")
	s.wants("the question is answered", StateSuccess, false)
}

func TestAKnownFactOpensNoCaseAgain(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "X", Amount: 1000, Currency: "USD"})
	part := Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "X", Amount: 10, Currency: "USD", Source: "notice"}
	s.enter(part)
	s.wants("a part came back", StateSuccess, false, CaseContradiction)
	s.r.Case, s.r.NextActionAt = nil, time.Time{} // a person has acknowledged it
	s.enter(part)
	s.wants("the same notice again", StateSuccess, false)
}

func TestReturnOfWhatAPersonConfirmed(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing")
	s.unsure()
	s.confirmSuccess()
	s.notice(Reversed, 1, "X")
	s.wants("the money came back", StateReversed, false)
	s.balances("refundable again", 0, 0, 0)
	s.notice(Succeeded, 1, "X")
	s.wants("the success of the same refund is known", StateReversed, false)
	if len(s.r.Effects) != 1 {
		t.Errorf("one refund moved at the channel, books hold %d", len(s.r.Effects))
	}
}

func TestSuccessAfterTakeBack(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "X"} {
		s := tell(t, "noticing")
		s.unsure()
		s.confirmSuccess()
		s.takeBack()
		s.notice(Succeeded, 1, id)
		s.wants("it did happen after all", StateSuccess, false, CaseSuccessAfterEnd)
		s.balances("booked", 0, 1000, 0)
	}
}

// Once the channel has confirmed what a person had confirmed, it is the channel's effect.
func TestPairedEffectIsTheChannels(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing") // its "failed" may follow a success
	s.unsure()
	s.confirmSuccess()
	s.notice(Succeeded, 1, "X")
	s.wants("paired", StateSuccess, false)
	s.notice(FailedFinal, 1, "X")
	s.wants("the contract's late failure", StateReversed, false)
}

func TestOtherAmountOfAKnownEffect(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"", "X"} {
		s := tell(t, ProfileKeyedQueryable)
		s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: first})
		s.wants("no amount said", StateSuccess, false)
		s.enter(Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: "X", Amount: 999, Currency: "USD", Source: "notice"})
		s.wants("the channel says another amount of the same refund", StateSuccess, false, CaseContradiction)
		s.balances("what is booked stands", 0, 1000, 0)
	}
	s := tell(t, ProfileKeyedQueryable)
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "X"})
	s.enter(Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "X", Amount: 1000, Currency: "EUR", Source: "notice"})
	s.wants("another currency came back", StateSuccess, false, CaseContradiction)
}

func TestReturnsBesideAnEnd(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.unsure()
	s.resend()
	s.notice(FailedFinal, 1, "")
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "B"})
	s.notice(Reversed, 2, "B")
	s.wants("returned", StateReversed, false)
	s.notice(Reversed, 1, "A")
	s.wants("another one came and went", StateReversed, false, CaseSuccessAfterEnd)
	s.balances("nothing stands", 0, 0, 0)
	if len(s.r.Effects) != 2 {
		t.Errorf("both moved at the channel, books hold %d", len(s.r.Effects))
	}
}

// "Failed" may follow a success here, so a success that is told after it is booked and mirrored, in every state.
func TestSuccessToldAfterItsLateFailure(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "A"} {
		s := tell(t, "noticing")
		s.unsure()
		s.notice(FailedFinal, 1, id)
		s.notice(Succeeded, 1, id)
		s.wants("open: booked and mirrored", StateReversed, false)
	}
	s := tell(t, "noticing")
	s.unsure()
	s.resend()
	s.notice(FailedFinal, 1, "A")
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "B"})
	ch := s.notice(Succeeded, 1, "A")
	s.wants("beside another success", StateSuccess, false, CaseMultipleEffects)
	s.balances("only the second stands", 0, 1000, 0)
	if len(ch.Steps) != 2 {
		t.Errorf("a success and its end are two transitions, got %d", len(ch.Steps))
	}
}

func TestHeldLineOfTheSameRefund(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.unsure()
	s.r.Effects = append(s.r.Effects, Effect{ChannelRefundID: "X", Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectHeld, At: s.now()})
	s.r.Payment.Held, s.r.Payment.Excess = 1000, 500
	s.r.Case = &Case{Reasons: []CaseReason{CaseUnmatchedLine}, OpenedAt: s.now()}
	s.notice(Succeeded, 1, "X")
	s.wants("the held line was this one", StateSuccess, false)
	s.balances("counted once", 0, 1000, 0)
}

// An id that is in the books as foreign cannot be given to a second effect.
func TestForeignLineIsNotPaired(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing")
	s.unsure()
	s.confirmSuccess()
	s.r.Effects = append(s.r.Effects, Effect{ChannelRefundID: "X", Amount: 400, Currency: "USD", Counted: 400, Status: EffectMoved, At: s.now()})
	s.r.Payment.Refunded += 400
	s.enter(Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: "X", Amount: 400, Currency: "USD", Source: "notice"})
	s.wants("attributed, and a person must look", StateSuccess, false, CaseContradiction, CaseMultipleEffects)
	s.balances("counted as before", 0, 1400, 0)
}

func TestEpochMarkNeverRevivesAKey(t *testing.T) {
	t.Parallel()
	s := tell(t, "replaying")
	s.unsure()
	dies := s.r.Dispatches[0].KeyExpiresAt
	s.after(time.Hour)
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.wants("marked", StateUnknown, true)
	if d := s.r.Dispatches[0]; !d.KeyExpiresAt.Equal(dies) {
		t.Errorf("the key died at %v, now %v", dies, d.KeyExpiresAt)
	}
}

// A reading of an older number clears that number only; what the live one's last send was told still stands.
func TestAbsenceOfAnOlderNumber(t *testing.T) {
	t.Parallel()
	s := tell(t, "listing")
	s.says(s.send(), RefusedNewNumber)
	s.says(s.send(), Retryable)
	s.after(time.Minute)
	send := s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.after(time.Hour)
	s.says(send, RefusedClean)
	for _, no := range []int{2, 1} {
		s.r.LeaseEndsAt = time.Time{}
		s.says(s.query(no), NotFound)
	}
	s.wants("the live number was refused, the older one did nothing", StateFailed, false)
}

// UNKNOWN, ACCEPTED and PROCESSING with nothing exposed are rows that the database refuses, even between two transitions.
func TestNoRowIsWrittenOpenAndClear(t *testing.T) {
	t.Parallel()
	t.Run("the silent send's answer comes after the horizon", func(t *testing.T) {
		t.Parallel()
		s := tell(t, ProfileKeyedQueryable)
		send := s.send()
		s.notice(FailedFinal, 1, "")
		s.after(5 * time.Second)
		ch := s.says(send, Unknown)
		s.wants("ended", StateFailed, false)
		if s.r.Failure.Code != "channel-failed" || len(ch.Steps) != 1 {
			t.Errorf("failure %+v in %d steps", s.r.Failure, len(ch.Steps))
		}
	})
	t.Run("an older number's end clears the refund", func(t *testing.T) {
		t.Parallel()
		s := tell(t, ProfileKeyedQueryable)
		s.says(s.send(), RefusedNewNumber)
		s.notice(Acknowledged, 1, "")
		s.wants("an older number is alive", StateUnknown, true, CaseAcknowledgedAfterEnd)
		ch := s.notice(FailedFinal, 1, "")
		s.wants("and has ended", StatePending, false)
		if len(ch.Steps) != 1 || ch.Steps[0].Entry.FactKey == nil {
			t.Errorf("one row must tell the fact with its key, got %+v", ch.Steps)
		}
	})
}

// A channel id that one number has is never read as another number's.
func TestAnIDBelongsToOneNumber(t *testing.T) {
	t.Parallel()
	s := tell(t, "noticing")
	s.says(s.send(), RefusedNewNumber)
	s.says(s.send(), Succeeded)
	s.notice(Reversed, 1, "A")
	s.wants("the dead number came and went beside the live one", StateSuccess, false, CaseMultipleEffects)
	s.notice(FailedFinal, 2, "A")
	s.wants("that id is the other number's, and has been returned", StateSuccess, false, CaseMultipleEffects)
	s.balances("the live number's effect stands", 0, 1000, 0)
}

// On a channel that cannot be asked, "not found" is no reading.
func TestNotFoundNeedsAQuestion(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileBlind)
	s.unsure()
	s.after(time.Hour)
	next, no := ask(s.r, 1, s.c, s.now())
	s.r = next
	s.says(no, NotFound)
	s.wants("nothing is proven", StateUnknown, true)
}

// A return, even of another amount, proves that the channel has the refund: nothing may be sent, whatever a person says of the case.
func TestAPartialReturnStopsTheSend(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.says(s.send(), Retryable)
	s.enter(Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "A", Amount: 10, Currency: "USD", Source: "notice"})
	s.wants("the channel has it", StateUnknown, true, CaseContradiction)
	s.r.Case = nil
	s.next("asks, never sends", StepQuery)
}

// A return of an amount that is not ours is not booked; once its success is told, both are.
func TestReturnToldBeforeItsOddSuccess(t *testing.T) {
	t.Parallel()
	s := tell(t, ProfileKeyedQueryable)
	s.unsure()
	odd := Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "A", Amount: 1001, Currency: "USD", Source: "notice"}
	s.enter(odd)
	s.wants("a person must look", StateUnknown, true, CaseContradiction)
	odd.Kind = Succeeded
	s.enter(odd)
	s.wants("moved and returned", StateReversed, false, CaseContradiction)
	s.balances("nothing is out", 0, 0, 0)

	s = tell(t, ProfileKeyedQueryable) // the success is told without an id first, and the return once more
	s.unsure()
	odd.Kind = Reversed
	s.enter(odd)
	s.enter(Fact{Kind: Succeeded, Dispatch: 1, Amount: 1001, Currency: "USD", Source: "query"})
	s.enter(Fact{Kind: Succeeded, Dispatch: 1, Amount: 1001, Currency: "USD", ChannelRefundID: "A", Source: "notice"})
	s.wants("nobody has said since that it came back", StateSuccess, false, CaseContradiction)
	s.enter(odd)
	s.wants("now it is known whose return that was", StateReversed, false, CaseContradiction)
}
