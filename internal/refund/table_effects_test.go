package refund

import (
	"testing"
	"time"
)

func TestReturnOfWhatAPersonConfirmed(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.loseAnswer()
	s.confirmSuccess()
	s.notice(Reversed, 1, "X")
	s.expect("the money came back", StateReversed, false)
	s.expectBalances("refundable again", 0, 0, 0)
	s.notice(Succeeded, 1, "X")
	s.expect("the success of the same refund is known", StateReversed, false)
	if len(s.r.Effects) != 1 {
		t.Errorf("one refund moved at the channel, books hold %d", len(s.r.Effects))
	}
}

func TestSuccessAfterRevocation(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "X"} {
		s := newScenario(t, "noticing")
		s.loseAnswer()
		s.confirmSuccess()
		s.revokeConfirmation()
		s.notice(Succeeded, 1, id)
		s.expect("the money had moved", StateSuccess, false, CaseSuccessAfterEnd)
		s.expectBalances("booked", 0, 1000, 0)
	}
}

// Once the channel has confirmed a person's confirmation, the effect is the channel's.
func TestPairedEffectIsConfirmedByTheChannel(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing") // its "failed" may follow a success
	s.loseAnswer()
	s.confirmSuccess()
	s.notice(Succeeded, 1, "X")
	s.expect("paired", StateSuccess, false)
	s.notice(FailedFinal, 1, "X")
	s.expect("the contract's late failure", StateReversed, false)
}

func TestOtherAmountOfAKnownEffect(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"", "X"} {
		s := newScenario(t, ProfileKeyedQueryable)
		s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: first})
		s.expect("no amount given", StateSuccess, false)
		s.enter(Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: "X", Amount: 999, Currency: "USD", Source: "notice"})
		s.expect("the channel reports another amount of the same refund", StateSuccess, false, CaseContradiction)
		s.expectBalances("what is booked stands", 0, 1000, 0)
	}
	s := newScenario(t, ProfileKeyedQueryable)
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "X"})
	s.enter(Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "X", Amount: 1000, Currency: "EUR", Source: "notice"})
	s.expect("another currency came back", StateSuccess, false, CaseContradiction)
}

func TestReturnAfterAReturn(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.resend()
	s.notice(FailedFinal, 1, "")
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "B"})
	s.notice(Reversed, 2, "B")
	s.expect("returned", StateReversed, false)
	s.notice(Reversed, 1, "A")
	s.expect("another refund moved and came back", StateReversed, false, CaseSuccessAfterEnd)
	s.expectBalances("nothing stands", 0, 0, 0)
	if len(s.r.Effects) != 2 {
		t.Errorf("both moved at the channel, books hold %d", len(s.r.Effects))
	}
}

// "Failed" may follow a success here: a success that arrives after it is booked with its return, in every state.
func TestSuccessAfterItsLateFailure(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "A"} {
		s := newScenario(t, "noticing")
		s.loseAnswer()
		s.notice(FailedFinal, 1, id)
		s.notice(Succeeded, 1, id)
		s.expect("open: booked with its return", StateReversed, false)
	}
	s := newScenario(t, "noticing")
	s.loseAnswer()
	s.resend()
	s.notice(FailedFinal, 1, "A")
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "B"})
	ch := s.notice(Succeeded, 1, "A")
	s.expect("beside another success", StateSuccess, false, CaseMultipleEffects)
	s.expectBalances("only the second stands", 0, 1000, 0)
	if len(ch.Steps) != 2 {
		t.Errorf("a success and its end are two transitions, got %d", len(ch.Steps))
	}
}

func TestHeldLineOfTheSameRefund(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	s.r.Effects = append(s.r.Effects, Effect{ChannelRefundID: "X", Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectHeld, At: s.now()})
	s.r.Payment.Held, s.r.Payment.Excess = 1000, 500
	s.r.Case = &Case{Reasons: []CaseReason{CaseUnmatchedLine}, OpenedAt: s.now()}
	s.notice(Succeeded, 1, "X")
	s.expect("the held line was this one", StateSuccess, false)
	s.expectBalances("counted once", 0, 1000, 0)
}

// An id that is booked as foreign cannot be given to a second effect.
func TestForeignLineIsNotPaired(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.loseAnswer()
	s.confirmSuccess()
	s.r.Effects = append(s.r.Effects, Effect{ChannelRefundID: "X", Amount: 400, Currency: "USD", Counted: 400, Status: EffectMoved, At: s.now()})
	s.r.Payment.Refunded += 400
	s.enter(Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: "X", Amount: 400, Currency: "USD", Source: "notice"})
	s.expect("attributed, with a case", StateSuccess, false, CaseContradiction, CaseMultipleEffects)
	s.expectBalances("counted as before", 0, 1400, 0)
}

// A return of another amount is not booked; once its success is known, both are.
func TestReturnBeforeASuccessOfAnotherAmount(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.loseAnswer()
	odd := Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "A", Amount: 1001, Currency: "USD", Source: "notice"}
	s.enter(odd)
	s.expect("a case opens", StateUnknown, true, CaseContradiction)
	odd.Kind = Succeeded
	s.enter(odd)
	s.expect("moved and returned", StateReversed, false, CaseContradiction)
	s.expectBalances("nothing stands", 0, 0, 0)

	s = newScenario(t, ProfileKeyedQueryable) // the success arrives without an id first, and the return once more
	s.loseAnswer()
	odd.Kind = Reversed
	s.enter(odd)
	s.enter(Fact{Kind: Succeeded, Dispatch: 1, Amount: 1001, Currency: "USD", Source: "query"})
	s.enter(Fact{Kind: Succeeded, Dispatch: 1, Amount: 1001, Currency: "USD", ChannelRefundID: "A", Source: "notice"})
	s.expect("no return was reported since", StateSuccess, false, CaseContradiction)
	s.enter(odd)
	s.expect("the return is attributed now", StateReversed, false, CaseContradiction)
}

func TestAKnownFactOpensNoCaseAgain(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "X", Amount: 1000, Currency: "USD"})
	part := Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "X", Amount: 10, Currency: "USD", Source: "notice"}
	s.enter(part)
	s.expect("a part came back", StateSuccess, false, CaseContradiction)
	s.r.Case, s.r.NextActionAt = nil, time.Time{} // a person has accepted it
	s.enter(part)
	s.expect("the same notice again", StateSuccess, false)
}

// A channel id of one number never counts as another number's.
func TestAnIDBelongsToOneNumber(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.answerWith(s.send(), RefusedNewNumber)
	s.answerWith(s.send(), Succeeded)
	s.notice(Reversed, 1, "A")
	s.expect("the first number's refund moved and came back beside the live one", StateSuccess, false, CaseMultipleEffects)
	s.notice(FailedFinal, 2, "A")
	s.expect("the id is the other number's, which has been returned", StateSuccess, false, CaseMultipleEffects)
	s.expectBalances("the live number's effect stands", 0, 1000, 0)
}

// A return, even of another amount, proves that the channel has the refund: nothing may be sent, whatever a person decides
// about the case.
func TestAPartialReturnStopsTheSend(t *testing.T) {
	t.Parallel()
	s := newScenario(t, ProfileKeyedQueryable)
	s.answerWith(s.send(), Retryable)
	s.enter(Fact{Kind: Reversed, Dispatch: 1, ChannelRefundID: "A", Amount: 10, Currency: "USD", Source: "notice"})
	s.expect("the channel has it", StateUnknown, true, CaseContradiction)
	s.r.Case = nil
	s.expectStep("asks, never sends", StepQuery)
}
