package refund

import (
	"testing"
	"time"
)

// Failures of other refund systems (docs/cases.md), as facts and the record after each of them.

func TestCasesOfTheRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"age alone never fails a refund":                        caseAge,              // C2
		"a timed-out send is asked for under our own number":    caseTimeout,          // C3
		"a definite refusal frees the amount":                   caseRefusal,          // C11
		"a later clean answer does not hide an earlier timeout": caseEarlierTimeout,   // C23
		"our own effect read as a refusal":                      caseEcho,             // C24
		"the proof arrives after the owner has lost its lease":  caseTakeover,         // C25
		"money that moved is booked against what was told":      caseMovedAfterReport, // C26
		"a retired number does not reverse the live one":        caseRetiredNumber,    // C27
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func caseAge(t *testing.T) {
	s := newScenario(t, ProfileKeyedQueryable)
	s.send() // the process dies during the call
	s.wait(leaseTime)
	s.conclude(LeaseEnd, "")
	s.expect("the owner is gone", StateUnknown, true)
	s.wait(400 * 24 * time.Hour)
	s.expectStep("a year of silence is a case, not a failure", StepOpenCase)
	s.conclude(Deadline, CaseDeadline)
	s.expect("still in doubt", StateUnknown, true, CaseDeadline)
	s.expectBalances("the amount stays reserved", 1000, 0, 0)
	s.expectStep("asking goes on", StepQuery)
	s.answer(s.query(1), Answer{Kind: Succeeded, ChannelRefundID: "X"})
	s.expect("the channel's answer ends it", StateSuccess, false)
	s.expectBalances("paid once", 0, 1000, 0)
}

func caseTimeout(t *testing.T) {
	s := newScenario(t, ProfileKeyedQueryable)
	send := s.send()
	if number := s.r.Dispatches[0].Number; number == "" || s.r.Attempts[0].Answer != "" {
		t.Fatalf("number %q and the attempt must be durable before the call", number)
	}
	s.answerWith(send, Unknown)
	s.expect("nothing is known of the channel's id", StateUnknown, true)
	s.expectStep("asked by number", StepQuery)
	s.answer(s.query(1), Answer{Kind: Succeeded, ChannelRefundID: "X", Amount: 1000, Currency: "USD"})
	s.expect("found", StateSuccess, false)
	s.notice(Succeeded, 1, "X")
	if len(s.r.Effects) != 1 || s.r.Effects[0].ChannelRefundID != "X" {
		t.Errorf("the notice of the same refund must change nothing: %+v", s.r.Effects)
	}
}

func caseRefusal(t *testing.T) {
	s := newScenario(t, ProfileKeyedQueryable)
	s.expectBalances("reserved at acceptance", 1000, 0, 0)
	s.answer(s.send(), Answer{Kind: RefusedClean, Code: "not_refundable_window"})
	s.expect("definite", StateFailed, false)
	s.expectBalances("free for the next refund", 0, 0, 0)
	if got := s.r.Payment.Refundable(); got != 1500 {
		t.Errorf("refundable %d, want all of 1500", got)
	}
	if s.r.Failure != (Failure{Code: "channel-refused", ChannelCode: "not_refundable_window"}) {
		t.Errorf("failure %+v", s.r.Failure)
	}
	s.expectStep("nothing is left to do", StepDone)
}

// A second send can only follow where a key may be replayed, or where another process still had a claim.
func caseEarlierTimeout(t *testing.T) {
	for _, clean := range []FactKind{Retryable, NotSent, RefusedClean, RefusedNewNumber} {
		s := newScenario(t, "replaying")
		s.answerWith(s.send(), Unknown) // it was executed
		s.wait(10 * time.Second)
		s.expectStep("the same key may be sent again", StepSend)
		s.answerWith(s.send(), clean)
		s.expect(string(clean)+" of the second send says nothing of the first", StateUnknown, true)
		s.expectBalances("the amount stays reserved", 1000, 0, 0)
		s.wait(5 * time.Second)
		s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "X"})
		s.expect("the replay returns the state", StateSuccess, false)
		s.expectBalances("one effect", 0, 1000, 0)
	}
	s := newScenario(t, ProfileBlind)
	s.answerWith(s.send(), Retryable)
	s.wait(5 * time.Second)
	s.answerWith(s.send(), Unknown)
	s.expectStep("nothing may be repeated, whatever the first answer was", StepOpenCase)
	s.conclude(Deadline, CaseNoStep)
	s.expect("a case opens", StateUnknown, true, CaseNoStep)
}

func caseEcho(t *testing.T) {
	t.Run("it was our own", func(t *testing.T) {
		s := newScenario(t, "replaying")
		s.c.Query, s.c.Key.ReplaysState = classes(t)[ProfileKeyedQueryable].Query, true
		s.answerWith(s.send(), Unknown) // it was executed
		s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom.Add(-time.Second)
		s.answerWith(s.query(1), NotFound) // still hidden
		s.expect("too early to prove anything", StateUnknown, true)
		s.answerWith(s.send(), RefusedEcho) // another owner replayed the key
		s.expect("\"already refunded\" may be our own", StateUnknown, true)
		s.expectStep("asks", StepQuery)
		s.answer(s.query(1), Answer{Kind: Succeeded, ChannelRefundID: "X"})
		s.expect("it was ours", StateSuccess, false)
		s.expectBalances("one effect", 0, 1000, 0)
	})
	t.Run("it was somebody else's", func(t *testing.T) {
		s := newScenario(t, ProfileKeyedQueryable)
		s.answer(s.send(), Answer{Kind: RefusedEcho, Code: "already_refunded"})
		s.expect("an echo proves nothing", StateUnknown, true)
		s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom
		s.answer(s.query(1), Answer{Kind: NotFound, Code: "not_found"})
		s.expect("one reading of two", StateUnknown, true)
		s.wait(time.Second)
		s.answer(s.query(1), Answer{Kind: NotFound, Code: "not_found"})
		s.expect("proven not ours: refused", StateFailed, false)
		if s.r.Failure != (Failure{Code: "channel-refused-duplicate", ChannelCode: "already_refunded"}) {
			t.Errorf("failure %+v", s.r.Failure)
		}
	})
}

func caseTakeover(t *testing.T) {
	for _, class := range []string{ProfileBlind, "noticing", ProfileKeyedQueryable} {
		s := newScenario(t, class)
		send := s.send()
		s.wait(leaseTime)
		s.conclude(LeaseEnd, "")
		s.expect(class+": taken over", StateUnknown, true)
		if step := Decide(s.r, s.c, s.now()); step.Kind == StepQuery {
			s.query(1) // the new owner is at work
		}
		ch := s.answer(send, Answer{Kind: Succeeded, ChannelRefundID: "X", Amount: 1000, Currency: "USD"})
		s.expect(class+": evidence is never fenced", StateSuccess, false)
		s.expectBalances("booked", 0, 1000, 0)
		if class == ProfileKeyedQueryable && (ch.Attempt == nil || !ch.Attempt.Late) {
			t.Errorf("%s: the answer is kept as late, got %+v", class, ch.Attempt)
		}
		s.notice(Succeeded, 1, "X")
		s.expectBalances("once", 0, 1000, 0)
	}
}

func caseMovedAfterReport(t *testing.T) {
	t.Run("FAILED, then the money proves to have moved", func(t *testing.T) {
		s := newScenario(t, ProfileKeyedQueryable)
		s.answerWith(s.send(), RefusedClean)
		s.r.Payment.Reserved += 900 // meanwhile another refund has reserved the free amount
		ch, err := Apply(s.r, Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: "X", Source: "notice"}, s.c)
		if err != nil {
			t.Fatal(err)
		}
		s.r = ch.After
		s.expect("booked at once, with a case", StateSuccess, false, CaseExcess, CaseSuccessAfterEnd)
		if p := s.r.Payment; p.Excess != 400 || p.Refunded != 1000 {
			t.Errorf("the balances must be true: %+v", p)
		}
	})
	t.Run("confirmed not done, then a settlement file proves it", func(t *testing.T) {
		s := newScenario(t, ProfileBlind)
		s.loseAnswer()
		s.confirmNotDone()
		s.enter(Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: "X", Source: "settlement"})
		s.expect("booked", StateSuccess, false, CaseSuccessAfterEnd)
	})
	t.Run("two numbers both succeed", func(t *testing.T) {
		s := newScenario(t, ProfileKeyedQueryable)
		s.loseAnswer()
		s.resend()
		s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom
		s.answerWith(s.query(1), NotFound)
		s.wait(time.Second)
		s.answerWith(s.query(1), NotFound)
		s.expect("the ask is answered", StatePending, false)
		s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "B"})
		s.expect("the second number paid", StateSuccess, false)
		s.notice(Succeeded, 1, "A")
		s.expect("the first one had, too", StateSuccess, false, CaseExcess, CaseMultipleEffects)
		s.expectBalances("both are counted", 0, 2000, 0)
	})
}

func caseRetiredNumber(t *testing.T) {
	s := newScenario(t, "listing") // "failed" may follow "succeeded" here
	s.answerWith(s.send(), RefusedNewNumber)
	s.expect("the first number is used up", StatePending, false)
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "B"})
	s.expect("the second paid", StateSuccess, false)
	s.notice(FailedFinal, 1, "A")
	s.expect("it is not about the second number", StateSuccess, false)
	s.notice(FailedFinal, 1, "")
	s.expect("nor is this one", StateSuccess, false)
	s.expectBalances("it stands", 0, 1000, 0)
	s.notice(FailedFinal, 2, "B")
	s.expect("the second number's own late failure counts", StateReversed, false)
	s.expectBalances("refundable again", 0, 0, 0)
}
