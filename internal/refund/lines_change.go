package refund

import "slices"

// hold stores the line as held and opens a case of the refund that it may be.
func (set *PaymentSet) hold(i, no int, line Effect) (Change, bool, error) {
	return set.refundOnly(i, no, LineHeld, line, func(s *transition) {
		s.r.Effects = append(s.r.Effects, line)
	}, CaseUnmatchedLine)
}

// pair gives the line's id to the effect without one. It books nothing, because the effect is booked.
func (set *PaymentSet) pair(i, no int, line Effect) (Change, bool, error) {
	return set.refundOnly(i, no, LinePaired, line, func(s *transition) {
		given := false
		for n := range s.r.Effects {
			e := &s.r.Effects[n]
			switch {
			case !e.Ours && e.ChannelRefundID == line.ChannelRefundID && e.Status == EffectHeld:
				e.Status = EffectDropped
			case !given && e.Ours && e.DispatchNo == no && e.Status == EffectMoved && e.ChannelRefundID == "" && e.Amount == line.Amount:
				e.ChannelRefundID, given = line.ChannelRefundID, true
			}
		}
	}, "")
}

// release ends the wait of a held line without changing a refund.
func (set *PaymentSet) release(n int, to EffectStatus) Change {
	return set.paymentOnly(func(p *Payment, lines []Effect) []Effect {
		e := &lines[n]
		e.Status = to
		if to == EffectMoved {
			p.Refunded += e.Counted
		}
		return lines
	})
}

// paymentOnly returns a change of the payment that concerns none of its refunds; its record has no RID.
func (set *PaymentSet) paymentOnly(do func(p *Payment, lines []Effect) []Effect) Change {
	r := Record{Payment: set.Payment, Effects: slices.Clone(set.Lines), Now: set.Now}
	r.Tenant, r.PaymentID, r.Account, r.Currency = set.Payment.Tenant, set.Payment.PaymentID, set.Payment.Account, set.Payment.Currency
	ch := Change{Before: r, After: clone(r), VoidProposals: true}
	ch.After.Effects = do(&ch.After.Payment, ch.After.Effects)
	refunds := make([]*Record, len(set.Records))
	for i := range set.Records {
		refunds[i] = &set.Records[i]
	}
	coverLines(ch.After.Effects, refunds)
	ch.After.Payment.Held += heldByLines(ch.After.Effects) - heldByLines(ch.Before.Effects)
	ch.After.Payment = ch.After.Payment.WithExcess()
	return ch
}

// refundOnly returns a change of one refund, with the steps of a fact and a journal row.
func (set *PaymentSet) refundOnly(i, no int, kind FactKind, line Effect, do func(*transition), reason CaseReason) (Change, bool, error) {
	return lineChange(set.full(i), set.Contract, Fact{Kind: kind, Dispatch: no, ChannelRefundID: line.ChannelRefundID, Amount: line.Amount,
		Currency: line.Currency, Source: set.Source, Actor: "system:lines"}, do, reason)
}

func lineChange(r Record, c Contract, fact Fact, do func(*transition), reason CaseReason) (Change, bool, error) {
	ch := Change{Before: r, After: clone(r)}
	s := &transition{rules: stateTable, r: &ch.After, c: c, f: fact, now: r.Now, change: &ch}
	s.d, _ = s.r.Dispatch(fact.Dispatch)
	acts := []mutation{{JournalKind(fact.Kind), do}}
	if reason != "" {
		acts = append(acts, openReason(reason))
	}
	s.applyRule(rule{id: "line/" + JournalKind(fact.Kind), fact: fact.Kind, in: anyState, moves: stay(acts...)})
	s.leaveIfClear()
	s.setTimer()
	return ch, true, s.check()
}

// Unpair takes the channel refund id from an effect that has it from a line only, because the channel gives the id to
// another refund. false = the channel itself gave it, or no effect here has it.
func Unpair(r Record, id string, c Contract) (Change, bool, error) {
	for _, e := range r.Effects {
		if e.Ours && e.ChannelRefundID == id && r.idFromLine(e) {
			return lineChange(r, c, Fact{Kind: LineUnpaired, Dispatch: e.DispatchNo, ChannelRefundID: id, Source: "list", Actor: "system:lines"},
				func(s *transition) { s.takeID(0) }, "")
		}
	}
	return Change{}, false, nil
}

// idFromLine reports whether the effect has an id that the channel never gave to a number of this refund.
func (r *Record) idFromLine(e Effect) bool {
	d, ok := r.Dispatch(e.DispatchNo)
	if !ok || e.ChannelRefundID == "" || d.ChannelRefundID != "" {
		return false
	}
	for _, d := range r.Dispatches {
		if d.ChannelRefundID == e.ChannelRefundID {
			return false
		}
	}
	return true
}

// takeID removes the fact's id from effects of other numbers than except that have it from a line only.
func (s *transition) takeID(except int) {
	if s.f.ChannelRefundID == "" {
		return
	}
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo != except && e.ChannelRefundID == s.f.ChannelRefundID && s.r.idFromLine(*e) {
			e.ChannelRefundID = ""
		}
	}
}
