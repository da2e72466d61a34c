package refund

// sameEffect returns the refund's effect that the fact is about: with the same channel id, or with the same dispatch where
// the fact has no id. A confirmation that was taken back does not count.
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

// returnKnown reports whether the books have a return that the fact could be about.
func (s *transition) returnKnown() bool {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; s.matches(e) && e.Status == EffectReversed && !e.ByPersonOnly() {
			return true
		}
	}
	return false
}

// movedEffect returns the standing effect that the fact is about, else a standing one of its dispatch.
func (s *transition) movedEffect() *Effect {
	if e := s.sameEffect(); e != nil {
		if e.Status == EffectMoved {
			return e
		}
		if s.f.ChannelRefundID != "" {
			return nil // the fact is about that effect, which has been returned
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

// effectWithoutID returns a standing effect of the fact's dispatch that has no channel id yet.
func (s *transition) effectWithoutID() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo == s.f.Dispatch && e.ChannelRefundID == "" && e.Status == EffectMoved {
			return e
		}
	}
	return nil
}

// foreignEffect returns a line of the payment that was adopted as foreign under the fact's channel id.
func (s *transition) foreignEffect() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if !e.Ours && e.Status == EffectMoved && s.f.ChannelRefundID != "" && e.ChannelRefundID == s.f.ChannelRefundID {
			return e
		}
	}
	return nil
}

// hasEffectByLine reports whether a standing effect of the fact's dispatch comes from a line only, and the fact gives
// another id.
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

// onlyByLine reports whether the effect has another id than the fact gives to its dispatch, and the channel never gave that
// id to this number.
func (s *transition) onlyByLine(e *Effect) bool {
	return e.Ours && e.DispatchNo == s.f.Dispatch && e.Status == EffectMoved && e.ChannelRefundID != "" && s.f.ChannelRefundID != "" &&
		e.ChannelRefundID != s.f.ChannelRefundID && !s.idFromChannel(e)
}

// idFromChannel reports whether the channel gave the effect's id to its number.
func (s *transition) idFromChannel(e *Effect) bool {
	return s.d.ChannelRefundID == e.ChannelRefundID || s.journalHas(Succeeded, e.ChannelRefundID, e.Amount)
}

// journalHas reports whether the journal has a fact of the channel about this number and a channel id, with one of the given
// amounts, the requested one, that of this fact, or none.
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
