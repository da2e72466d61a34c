package refund

// sameEffect is the effect of ours that the fact speaks of: same channel id, or no id said and the same dispatch. What a
// person took back is none: nobody but a person ever said that it moved.
func (s *transition) sameEffect() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if s.matches(e) && (e.Status == EffectMoved || (e.Status == EffectReversed && !e.ByPersonOnly())) {
			return e
		}
	}
	return nil
}

func (s *transition) matches(e *Effect) bool {
	if s.f.ChannelRefundID != "" {
		return e.Ours && e.ChannelRefundID == s.f.ChannelRefundID
	}
	return e.Ours && e.DispatchNo == s.f.Dispatch
}

// returnKnown says whether a return that the fact could speak of is in the books.
func (s *transition) returnKnown() bool {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; s.matches(e) && e.Status == EffectReversed && !e.ByPersonOnly() {
			return true
		}
	}
	return false
}

// movedEffect is the standing effect that the fact speaks of, else any standing one of its dispatch.
func (s *transition) movedEffect() *Effect {
	if e := s.sameEffect(); e != nil {
		if e.Status == EffectMoved {
			return e
		}
		if s.f.ChannelRefundID != "" {
			return nil // it speaks of that one, and that one has been returned
		}
	}
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo == s.f.Dispatch && e.Status == EffectMoved && (s.f.ChannelRefundID == "" || e.ChannelRefundID == "") {
			return e
		}
	}
	return nil
}

// effectWithoutID is a standing effect of the fact's dispatch that has no channel id yet.
func (s *transition) effectWithoutID() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo == s.f.Dispatch && e.ChannelRefundID == "" && e.Status == EffectMoved {
			return e
		}
	}
	return nil
}

// foreignEffect is a line of the payment that we adopted as foreign under the id that the fact now gives.
func (s *transition) foreignEffect() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if !e.Ours && e.Status == EffectMoved && s.f.ChannelRefundID != "" && e.ChannelRefundID == s.f.ChannelRefundID {
			return e
		}
	}
	return nil
}

// hasEffectByLine says whether a standing effect of the fact's dispatch is there by a line only, and the fact gives another id.
func (s *transition) hasEffectByLine() bool {
	for i := range s.r.Effects {
		if s.onlyByLine(&s.r.Effects[i]) {
			return true
		}
	}
	return false
}

func (s *transition) noOtherEffect() bool {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; e.Ours && e.Status == EffectMoved && !s.onlyByLine(e) {
			return false
		}
	}
	return true
}

// onlyByLine: the effect has another id than the fact gives to its dispatch, and the channel never told it of this number.
func (s *transition) onlyByLine(e *Effect) bool {
	return e.Ours && e.DispatchNo == s.f.Dispatch && e.Status == EffectMoved && e.ChannelRefundID != "" && s.f.ChannelRefundID != "" &&
		e.ChannelRefundID != s.f.ChannelRefundID && !s.idFromChannel(e)
}

// idFromChannel says whether the channel gave the effect's id to its number.
func (s *transition) idFromChannel(e *Effect) bool {
	return s.d.ChannelRefundID == e.ChannelRefundID || s.journalHas(Succeeded, e.ChannelRefundID, e.Amount)
}

// journalHas says whether the journal has such a word of the channel about the fact's number and a channel id, with the amount
// and currency that were asked for, that the fact says, or that are given, or without.
func (s *transition) journalHas(kind FactKind, id string, amounts ...int64) bool {
	for _, amount := range append(amounts, 0, s.r.Amount, s.f.Amount) {
		for _, cur := range []Currency{"", s.r.Currency, s.f.Currency} {
			if s.r.Facts[FactKey(s.d.Number, string(kind), id, amount, cur)] {
				return true
			}
		}
	}
	return false
}
