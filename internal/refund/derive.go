package refund

import "slices"

// refoldExposure brings the exposure flags in step with the answers. Exposure ends by evidence. It begins only with a send's
// claim, an acknowledgement or an epoch mark, so that new terms of a contract cannot expose what was disproved under the old
// ones.
func (s *transition) refoldExposure() {
	for i := range s.r.Dispatches {
		d := &s.r.Dispatches[i]
		stays := s.heldByEpoch(*d) || s.r.Exposure(*d, s.c, s.now).Exposed
		d.Exposed = (d.Exposed || (s.f.Kind == EpochMark && d.MarkedEpoch > 0)) && stays
	}
	s.r.Exposed = s.r.anyExposed()
}

// heldByEpoch reports whether a dispatch stays exposed because an epoch is open: a restore may have removed sends that
// followed the answers.
func (s *transition) heldByEpoch(d Dispatch) bool {
	was, ok := s.change.Before.Dispatch(d.Ordinal)
	return s.r.SendingHeld && ok && was.Exposed && !d.Overridden && !s.r.booked(d.Ordinal)
}

// deriveFlags derives what holds after every rule: the case of an exposed final state, the held amount, the excess, and the
// case reasons that an end has answered.
func (s *transition) deriveFlags() {
	s.refoldExposure()
	switch moved := s.r.State == StateSuccess || s.r.State == StateReversed; {
	case !s.r.State.Final():
	case !s.r.Exposed:
		s.dropReason(CaseDeadline)
		s.dropReason(CaseNoStep)
		s.dropReason(CaseOtherNumberOpen)
	case moved || s.r.Case == nil:
		s.addReason(CaseOtherNumberOpen)
	}
	p := &s.r.Payment
	s.coverLines()
	lines := heldByLines(s.r.Effects)
	p.Held += underFinal(s.r.Refund) - s.heldSoFar() + lines - s.linesSoFar()
	s.linesHeld = &lines
	*p = p.WithExcess()
}

// caseOfExcess opens the case of an excess that the whole fact has caused, and removes the reason when the excess is gone.
// It runs after the last move, because a second move may return what the first one added.
func (s *transition) caseOfExcess() {
	switch p := s.r.Payment; {
	case p.Excess <= p.ExcessAccepted:
		s.dropReason(CaseExcess)
	case p.Excess > s.change.Before.Payment.Excess:
		s.addReason(CaseExcess)
	}
}

// underFinal returns the amount that a refund holds of its payment because it is exposed although it has ended.
func underFinal(r Refund) int64 {
	if r.State.Final() && r.Exposed {
		return r.Amount
	}
	return 0
}

// heldSoFar returns the amount that the last written row of this refund holds.
func (s *transition) heldSoFar() int64 {
	if n := len(s.change.Steps); n > 0 {
		return underFinal(s.change.Steps[n-1].Row)
	}
	return underFinal(s.change.Before.Refund)
}

// linesSoFar returns the amount that held lines keep of the payment, as it was last computed.
func (s *transition) linesSoFar() int64 {
	if s.linesHeld != nil {
		return *s.linesHeld
	}
	return heldByLines(s.change.Before.Effects)
}

// failureCode returns our own code of a failure.
func failureCode(r *Record, k FactKind) string {
	a, ok := r.decidingRefusal()
	switch {
	case k == ConfirmedNotDone:
		return "decided-not-done"
	case k == FailedFinal || r.endedNegatively():
		return "channel-failed"
	case ok && a.Answer == RefusedEcho:
		return "channel-refused-duplicate"
	}
	return "channel-refused"
}

// failure returns why the refund is FAILED. The channel's code is that of the answer that decided it: an absence has a code too,
// which says only that the channel does not know the number.
func (s *transition) failure() Failure {
	code := failureCode(s.r, s.f.Kind)
	if s.decided != nil || s.f.Kind == FailedFinal {
		return Failure{Code: code, ChannelCode: s.f.Code}
	}
	if s.r.endedNegatively() {
		for _, a := range slices.Backward(s.r.Attempts) {
			if a.DispatchNo == s.r.DispatchNo && a.Answer == FailedFinal {
				return Failure{Code: code, ChannelCode: a.Code}
			}
		}
		return Failure{Code: code}
	}
	a, _ := s.r.decidingRefusal()
	return Failure{Code: code, ChannelCode: a.Code}
}
