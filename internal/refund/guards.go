package refund

import "time"

// guard is a named condition of a rule.
type guard struct {
	name string
	ok   func(s *transition) bool
}

// Conditions about ownership and exposure. The fact is already part of the exposure.
var (
	notStopped     = guard{"no case but one of waiting is open, and no proposal that stops sends", func(s *transition) bool { return !s.r.stopped() }}
	noOpenAsk      = guard{"no ask is open", func(s *transition) bool { return s.r.AskNo == 0 }}
	noEpochOpen    = guard{"no epoch is open", func(s *transition) bool { return !s.r.SendingHeld }}
	answersOpenAsk = guard{"it answers the open ask", func(s *transition) bool { return s.r.AskNo != 0 && s.r.AskNo == s.f.Dispatch }}
	nothingExposed = guard{"nothing is exposed", func(s *transition) bool { return !s.r.anyExposed() }}
	notExposed     = guard{"its number is not exposed", func(s *transition) bool { return !s.d.Exposed }}
	exposed        = guard{"its number is exposed", func(s *transition) bool { return s.d.Exposed }}
	wasNotExposed  = guard{"its number was not exposed before", func(s *transition) bool {
		d, ok := s.change.Before.Dispatch(s.f.Dispatch)
		return ok && !d.Exposed
	}}
	liveDispatch = guard{"it is about the live number", func(s *transition) bool { return s.f.Dispatch == s.r.DispatchNo }}

	nextAllowed = guard{"the next number may follow: the first time, low balances aside", func(s *transition) bool { return s.r.nextAllowed(s.r.DispatchNo, s.c) }}
	notFirstAck = guard{"the number was acknowledged before", func(s *transition) bool { return s.ackBefore }}
	notProven   = guard{"absence is not proven", func(s *transition) bool { return !s.r.Exposure(*s.d, s.c, s.now).Proven }}

	answersSend     = guard{"it answers a send", func(s *transition) bool { return s.attempt == nil || s.attempt.Kind == AttemptSend }}
	answersQuestion = guard{"it answers a question", func(s *transition) bool { return s.attempt != nil && s.attempt.Kind != AttemptSend }}

	newerSendOpen = guard{"a newer send is in flight", func(s *transition) bool { return s.attempt != nil && s.newerSendOpen() }}

	refusedForGood   = guard{"its stored answers refuse it for good", func(s *transition) bool { return s.r.refusedForGood(s.c) }}
	somethingExposed = guard{"something is exposed", func(s *transition) bool { return s.r.anyExposed() }}
	failureMayFollow = guard{"contract: \"failed\" may follow \"succeeded\"", func(s *transition) bool { return s.c.Codes.LateFailure }}
)

// Conditions about booked money.
var (
	effectBooked  = guard{"this effect is booked", func(s *transition) bool { return s.sameEffect() != nil }}
	effectLacksID = guard{"an effect of the number has no channel refund id yet", func(s *transition) bool {
		return s.f.ChannelRefundID != "" && s.effectWithoutID() != nil && s.foreignEffect() == nil
	}}
	returnBooked    = guard{"this return is booked", (*transition).returnKnown}
	effectStands    = guard{"its effect stands", func(s *transition) bool { return s.movedEffect() != nil }}
	standsByChannel = guard{"its effect stands, confirmed by the channel", func(s *transition) bool { e := s.movedEffect(); return e != nil && !s.r.byPersonOnly(*e) }}
	standsByPerson  = guard{"its effect stands, confirmed only by a person", func(s *transition) bool {
		e := s.movedEffect()
		return e != nil && s.r.byPersonOnly(*e)
	}}
	namedForAnother = guard{"a person named its line for another number", func(s *transition) bool { return s.namedForAnother() != nil }}
	effectByLine    = guard{"its effect comes from a line with another id", (*transition).hasEffectByLine}
	noOtherEffect   = guard{"no other effect stands", (*transition).noOtherEffect}
	anotherStands   = guard{"another effect stands", func(s *transition) bool {
		this := s.movedEffect()
		for i := range s.r.Effects {
			if e := &s.r.Effects[i]; e.Ours && e.Status == EffectMoved && e != this {
				return true
			}
		}
		return false
	}}
	// the known amount is the booked one, else the requested one; a fact without amount or currency differs from neither
	otherAmountOrCurrency = guard{"amount or currency differ from the known ones", func(s *transition) bool {
		amount, cur := s.r.Amount, s.r.Currency
		e := s.sameEffect()
		if e == nil {
			e = s.movedEffect()
		}
		if e != nil {
			amount, cur = e.Amount, e.Currency
		}
		return (s.f.Amount != 0 && s.f.Amount != amount) || (s.f.Currency != "" && s.f.Currency != cur)
	}}
	// where "failed" may follow a success, it ends the refund in either order; so does a return that was not booked because its
	// amount was another one
	sameRefundEnded = guard{"this channel refund has ended negatively", func(s *transition) bool {
		if s.r.Facts[FactKey(s.d.Number, string(Reversed), s.f.ChannelRefundID, s.f.Amount, s.f.Currency)] {
			return true
		}
		mine := s.d.ChannelRefundID == "" || s.d.ChannelRefundID == s.f.ChannelRefundID
		same := s.f.ChannelRefundID == "" || s.journalHas(FailedFinal, s.f.ChannelRefundID) || (mine && s.journalHas(FailedFinal, ""))
		return !s.d.FinalNegativeAt.IsZero() && same && s.c.Codes.LateFailure
	}}
	contradictsAck = guard{"the question left after the acknowledged refund had to be visible", func(s *transition) bool {
		return s.d.Acknowledged && s.attempt != nil && s.askedAfterAck()
	}}
)

func (s *transition) newerSendOpen() bool {
	for _, a := range s.r.Attempts {
		if a.No > s.attempt.No && a.Kind == AttemptSend && a.Answer == "" {
			return true
		}
	}
	return false
}

// askedAfterAck reports whether the question left after the acknowledged refund had to be visible. Where no answer brought the
// acknowledgement, a notice did: for the live number that is the begin of the state, or earlier.
func (s *transition) askedAfterAck() bool {
	var since time.Time
	if s.d.Ordinal == s.r.DispatchNo {
		since = s.r.StateSince
	}
	for _, a := range s.r.Attempts {
		if a.DispatchNo == s.d.Ordinal && a.Answer == Acknowledged {
			since = a.AnsweredAt
			break
		}
	}
	return !since.IsZero() && s.attempt.StartedAt.After(since.Add(s.c.questionTerms().VisibilityLag.D()))
}

// endedNegatively reports whether the live number is known to have ended negatively, or a number behind it: only an epoch
// marks such a number, and the channel knows it only if it was used in a future that a restore has removed.
func (r *Record) endedNegatively() bool {
	for _, d := range r.Dispatches {
		if d.Ordinal >= r.DispatchNo && !d.FinalNegativeAt.IsZero() {
			return true
		}
	}
	return false
}
