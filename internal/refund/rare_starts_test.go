package refund

import "time"

// newerSendStart: the first send stays silent, its absence is proven, the second one is on its way.
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

// confirmedStart: a silent send, and a person who says that it did happen.
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

// twoMarkedStart: the first number was refused, the second is on its way when a restore puts both in doubt.
func twoMarkedStart(s *scenario) {
	s.answerWith(s.send(), RefusedNewNumber)
	s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.wait(10 * time.Minute)
	s.r.LeaseEndsAt = time.Time{}
}

// earlyEndStart: the second number has paid, and the first has ended, while a send that a restore has cut off may still act.
func earlyEndStart(s *scenario) {
	s.answerWith(s.send(), RefusedNewNumber)
	second := s.send()
	s.enter(Fact{Kind: EpochMark, Source: "epoch"})
	s.answerWith(second, Succeeded)
	s.notice(FailedFinal, 1, "")
}
