package refund

import "slices"

// hold stores the line as held and opens a case of the refund that it may be.
func (set *PaymentSet) hold(i, no int, line Effect) (Change, bool, error) {
	return set.refundOnly(i, no, LineHeld, line, func(s *transition) {
		s.r.Effects = append(s.r.Effects, line)
		s.r.Payment.Held += line.Counted
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
				s.r.Payment.Held -= e.Counted
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
		p.Held -= e.Counted
		if to == EffectMoved {
			p.Refunded += e.Counted
		}
		return lines
	})
}

// addLine stores a line of no refund.
func (set *PaymentSet) addLine(line Effect) Change {
	p := set.Payment
	if line.Status == EffectMoved {
		p.Refunded += line.Counted
	} else {
		p.Held += line.Counted
	}
	// The lines before it are not copied, since a list may have thousands: the new one is behind their end.
	return set.paymentChange(p, append(set.Lines, line))
}

// paymentOnly returns a change of the payment that concerns none of its refunds. do may change the lines that it gets.
func (set *PaymentSet) paymentOnly(do func(p *Payment, lines []Effect) []Effect) Change {
	p := set.Payment
	lines := do(&p, slices.Clone(set.Lines))
	return set.paymentChange(p, lines)
}

// paymentChange returns the change of the payment and its lines to these. Its record has no RID.
func (set *PaymentSet) paymentChange(p Payment, lines []Effect) Change {
	r := Record{Payment: set.Payment, Effects: set.Lines, Now: set.Now}
	r.Tenant, r.PaymentID, r.Account, r.Currency = set.Payment.Tenant, set.Payment.PaymentID, set.Payment.Account, set.Payment.Currency
	ch := Change{Before: r, After: r, VoidProposals: true}
	ch.After.Payment, ch.After.Effects = p.WithExcess(), lines
	return ch
}

// refundOnly returns a change of one refund, with the steps of a fact and a journal row.
func (set *PaymentSet) refundOnly(i, no int, kind FactKind, line Effect, do func(*transition), reason CaseReason) (Change, bool, error) {
	r := set.Records[i]
	r.Effects = append(slices.Clone(r.Effects), set.Lines...)
	r.Payment, r.Now = set.Payment, set.Now
	return lineChange(r, set.Contract, Fact{Kind: kind, Dispatch: no, ChannelRefundID: line.ChannelRefundID, Amount: line.Amount,
		Currency: line.Currency, Source: set.Source, Actor: "system:lines"}, do, reason)
}

// ApplyFact applies a fact about a number of one of the set's refunds (see Owner): a line that has the number. The caller writes
// the change and passes it to Absorb. Errors: those of Apply.
func (set *PaymentSet) ApplyFact(k RefundRef, f Fact) (Change, error) {
	for _, r := range set.Records {
		if r.RefundRef == k {
			r.Effects = append(slices.Clone(r.Effects), set.Lines...)
			r.Payment, r.Now = set.Payment, set.Now
			return Apply(r, f, set.Contract)
		}
	}
	return Change{}, ErrNotFound
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
// another refund, and opens a contradiction case on the refund that loses it. false = the channel itself gave it, or no effect here has it.
func Unpair(r Record, id string, c Contract) (Change, bool, error) {
	for _, e := range r.Effects {
		if e.Ours && e.ChannelRefundID == id && r.idFromLine(e) {
			return lineChange(r, c, Fact{Kind: LineUnpaired, Dispatch: e.DispatchNo, ChannelRefundID: id, Source: "list", Actor: "system:lines"},
				func(s *transition) { s.takeID(0) }, CaseContradiction)
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
