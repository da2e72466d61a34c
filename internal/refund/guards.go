package refund

// guard is a named condition of a table row.
type guard struct {
	name string
	ok   func(s *transition) bool
}

// Conditions about ownership and exposure. Exposure has the fact at hand folded in already.
var (
	noCase         = guard{"no open case", func(s *transition) bool { return s.r.Case == nil }}
	noOpenAsk      = guard{"no open ask", func(s *transition) bool { return s.r.AskNo == 0 }}
	noEpochOpen    = guard{"no epoch is open", func(s *transition) bool { return !s.r.SendingHeld }}
	answersOpenAsk = guard{"answers the open ask", func(s *transition) bool { return s.r.AskNo != 0 && s.r.AskNo == s.f.Dispatch }}
	nothingExposed = guard{"nothing exposed", func(s *transition) bool { return !s.r.anyExposed() }}
	notExposed     = guard{"its dispatch is not exposed", func(s *transition) bool { return !s.d.Exposed }}
	exposed        = guard{"its dispatch is exposed", func(s *transition) bool { return s.d.Exposed }}
	liveDispatch   = guard{"live dispatch", func(s *transition) bool { return s.f.Dispatch == s.r.DispatchNo }}

	firstNumber = guard{"first number", func(s *transition) bool { return s.r.DispatchNo == 1 }}
	numberSpent = guard{"key dead", func(s *transition) bool { return s.r.numberSpent(*s.d, s.c, s.now) }}
	notFirstAck = guard{"acknowledged before", func(s *transition) bool { return s.ackBefore }}
	notProven   = guard{"absence not proven", func(s *transition) bool { return !s.r.Exposure(*s.d, s.c, s.now).Proven }}

	answersSend     = guard{"answer of a send", func(s *transition) bool { return s.attempt == nil || s.attempt.Kind == AttemptSend }}
	answersQuestion = guard{"answer of a question", func(s *transition) bool { return s.attempt != nil && s.attempt.Kind != AttemptSend }}

	newerSendOpen  = guard{"a newer send is open", func(s *transition) bool { return s.attempt != nil && s.newerSendOpen() }}
	lastSendEchoed = guard{"last send answered echo", func(s *transition) bool { a, ok := s.r.lastSend(s.r.DispatchNo); return ok && a.Answer == RefusedEcho }}

	lastSendRefused = guard{"last send refused", func(s *transition) bool {
		a, ok := s.r.lastSend(s.r.DispatchNo)
		return ok && (a.Answer == RefusedClean || a.Answer == RefusedNewNumber || a.Answer == RefusedEcho)
	}}
	liveFinalNegative = guard{"live number ended negative", func(s *transition) bool { return s.r.endedNegatively() }}
	failureMayFollow  = guard{"contract: failed may follow success", func(s *transition) bool { return s.c.Codes.LateFailure }}
)

// Conditions about money in the books.
var (
	effectBooked  = guard{"this effect is booked", func(s *transition) bool { return s.sameEffect() != nil }}
	effectLacksID = guard{"an effect of the dispatch has no id yet", func(s *transition) bool {
		return s.f.ChannelRefundID != "" && s.effectWithoutID() != nil && s.foreignEffect() == nil
	}}
	returnBooked    = guard{"this return is booked", (*transition).returnKnown}
	effectStands    = guard{"its effect stands", func(s *transition) bool { return s.movedEffect() != nil }}
	standsByChannel = guard{"its effect stands by the channel's word", func(s *transition) bool { e := s.movedEffect(); return e != nil && !e.ByPersonOnly() }}
	standsByPerson  = guard{"its effect stands by a person's word", func(s *transition) bool { e := s.movedEffect(); return e != nil && e.ByPersonOnly() }}
	effectByLine    = guard{"its effect has an id that the channel never gave to this number", (*transition).hasEffectByLine}
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
	// what is booked, else what was asked for; a fact that does not say an amount or a currency says no other one
	otherAmountOrCurrency = guard{"not the amount or currency known", func(s *transition) bool {
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
	// where "failed" may follow a success, it is the end of the object whichever of the two is told first; a return that
	// could not be booked because its amount was not ours is one, too
	sameRefundEnded = guard{"this object ended negative", func(s *transition) bool {
		if s.r.Facts[FactKey(s.d.Number, string(Reversed), s.f.ChannelRefundID, s.f.Amount, s.f.Currency)] {
			return true
		}
		mine := s.d.ChannelRefundID == "" || s.d.ChannelRefundID == s.f.ChannelRefundID
		same := s.f.ChannelRefundID == "" || s.journalHas(FailedFinal, s.f.ChannelRefundID) || (mine && s.journalHas(FailedFinal, ""))
		return !s.d.FinalNegativeAt.IsZero() && same && s.c.Codes.LateFailure
	}}
	contradictsAck = guard{"asked after it was acknowledged and visible", func(s *transition) bool {
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

// askedAfterAck says whether the question left after the acknowledgement had to be visible.
func (s *transition) askedAfterAck() bool {
	for _, a := range s.r.Attempts {
		if a.DispatchNo == s.d.Ordinal && a.Answer == Acknowledged {
			return s.attempt.StartedAt.After(a.AnsweredAt.Add(s.c.questionTerms().VisibilityLag.D()))
		}
	}
	return false
}

// endedNegatively says whether the end of the live number is known, or of one behind it: only an epoch marks such a number,
// and the channel knows it only if it was used in a future that a restore has cut off.
func (r *Record) endedNegatively() bool {
	for _, d := range r.Dispatches {
		if d.Ordinal >= r.DispatchNo && !d.FinalNegativeAt.IsZero() {
			return true
		}
	}
	return false
}
