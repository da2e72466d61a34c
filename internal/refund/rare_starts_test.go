package refund

import (
	"testing"
	"time"
)

// newerSendStart: the first send stays unanswered, its absence is proven, the second one is in flight.
func newerSendStart(s *scenario) {
	s.send()
	s.wait(leaseTime)
	s.conclude(LeaseEnd, "")
	s.r.Now = s.r.Dispatches[0].AbsenceCountsFrom
	s.answerWith(s.query(1), NotFound)
	s.send()
}

func twoEffectsStart(s *scenario) {
	s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "A"})
	s.notice(Succeeded, 1, "B")
}

// confirmedStart: an unanswered send, and a person's confirmation that it was executed.
func confirmedStart(s *scenario) {
	s.send()
	s.wait(leaseTime)
	s.conclude(LeaseEnd, "")
	s.confirmSuccess()
}

// secondNumberStart: the first number was refused, the second may be sent again while its key lives.
func secondNumberStart(s *scenario) {
	s.answerWith(s.send(), RefusedNewNumber)
	s.answerWith(s.send(), Retryable)
}

// twoMarkedStart: the first number was refused, the second is in flight when an epoch marks both.
func twoMarkedStart(s *scenario) {
	s.answerWith(s.send(), RefusedNewNumber)
	s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.wait(10 * time.Minute)
	s.r.LeaseEndsAt = time.Time{}
}

// earlyEndStart: the second number has paid, and the first has ended, while a send that a restore has removed may still be
// executed.
func earlyEndStart(s *scenario) {
	s.answerWith(s.send(), RefusedNewNumber)
	second := s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.answerWith(second, Succeeded)
	s.notice(FailedFinal, 1, "")
}

// rareStarts are states that a sample of the long sequences would seldom reach.
func rareStarts(t *testing.T, class string) []Record {
	begin := func(steps ...func(*scenario)) Record {
		s := newScenario(t, class)
		for _, f := range steps {
			f(s)
		}
		return s.r
	}
	out := []Record{begin(twoEffectsStart), begin(confirmedStart), begin(twoMarkedStart), begin(secondNumberStart), begin(earlyEndStart)}
	if class == "listing" {
		out = append(out, begin(newerSendStart))
	}
	return out
}
