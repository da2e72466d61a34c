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

// addLine stores a line of no refund.
func (set *PaymentSet) addLine(line Effect) Change {
	p := set.Payment
	if line.Status == EffectMoved {
		p.Refunded += line.Counted
	}
	lines := append(set.Lines, line)
	if slices.ContainsFunc(lines, func(e Effect) bool { return e.heldLine() }) { // who covers it may change; else the lines before it, which may be thousands, are not copied
		lines = slices.Clone(lines)
	}
	return set.paymentChange(p, lines)
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
	refunds := make([]*Record, len(set.Records))
	for i := range set.Records {
		refunds[i] = &set.Records[i]
	}
	coverLines(lines, refunds)
	p.Held += heldByLines(lines) - heldByLines(set.Lines)
	ch.After.Payment, ch.After.Effects = p.WithExcess(), lines
	return ch
}

// refundOnly returns a change of one refund, with the steps of a fact and a journal row.
func (set *PaymentSet) refundOnly(i, no int, kind FactKind, line Effect, do func(*transition), reason CaseReason) (Change, bool, error) {
	return lineChange(set.full(i), set.Contract, Fact{Kind: kind, Dispatch: no, ChannelRefundID: line.ChannelRefundID, Amount: line.Amount,
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

// Unpair takes the channel refund id from an effect that has it from a line only, because the channel gives the id to another
// refund. The refund that loses it gets a contradiction case. false = the channel itself gave the id, or no effect here has it.
func Unpair(r Record, id string, c Contract) (Change, bool, error) {
	for _, e := range r.Effects {
		if e.Ours && e.ChannelRefundID == id && r.idFromLine(e) && !slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return d.ChannelRefundID == id }) {
			return lineChange(r, c, Fact{Kind: LineUnpaired, Dispatch: e.DispatchNo, ChannelRefundID: id, Source: "list", Actor: "system:lines"},
				func(s *transition) { s.takeID(0) }, CaseContradiction)
		}
	}
	return Change{}, false, nil
}

// idFromLine reports whether the effect has an id that the channel never gave to its number.
func (r *Record) idFromLine(e Effect) bool {
	d, ok := r.Dispatch(e.DispatchNo)
	return ok && e.ChannelRefundID != "" && d.ChannelRefundID != e.ChannelRefundID && !r.reportedEffect(*d, e)
}

// reportedEffect reports whether the journal has a fact of the channel that gives the effect's id to the number.
func (r *Record) reportedEffect(d Dispatch, e Effect) bool {
	for _, kind := range []FactKind{Succeeded, Reversed, FailedFinal, Acknowledged} {
		for _, amount := range []int64{0, e.Amount, r.Amount} {
			for _, cur := range []Currency{"", e.Currency, r.Currency} {
				if r.Facts[FactKey(d.Number, string(kind), e.ChannelRefundID, amount, cur)] {
					return true
				}
			}
		}
	}
	return false
}

// byPersonOnly reports whether only a decision says that the effect is the refund's: it has no channel refund id, or that of a
// line that a person named.
func (r *Record) byPersonOnly(e Effect) bool {
	return e.ByPersonOnly() || (e.ByPerson && r.idFromLine(e))
}

// NeedsSiblings reports whether a change of the refund can concern lines of its payment, so that Siblings must be read: a line
// is held, or the refund has an id from a line, which may become a line again.
func (r *Record) NeedsSiblings() bool {
	return slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.heldLine() || (e.Ours && r.idFromLine(e)) })
}

// namedForAnother returns the effect of another number that has the fact's id because a person named the line for it; nil = none.
func (s *transition) namedForAnother() *Effect {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.ByPerson && e.DispatchNo != s.f.Dispatch && e.Status == EffectMoved && e.ChannelRefundID == s.f.ChannelRefundID && s.r.idFromLine(*e) {
			return e
		}
	}
	return nil
}

// takeID removes the fact's id from effects of other numbers than except that have it from a line only. An effect that only a
// person booked keeps it: the effect itself is that of the fact's number.
func (s *transition) takeID(except int) {
	if s.f.ChannelRefundID == "" {
		return
	}
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.DispatchNo != except && e.ChannelRefundID == s.f.ChannelRefundID && s.r.idFromLine(*e) && (except == 0 || !e.ByPerson) {
			e.ChannelRefundID = ""
		}
	}
}

// replaceLine books the effect of a number whose booked effect has its id from a line only, because the channel gives the number
// another id. The booked effect gets that id. The id that it had is a held line again, so that the payment's other refunds may
// own it: two refunds that had each other's line swap. Where the amounts differ, or the new id is that of an adopted line, the
// booked effect becomes an adopted line instead and the channel's effect is booked beside it.
func (s *transition) replaceLine() {
	var line Effect
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if !s.onlyByLine(e) {
			continue
		}
		if e.ByPerson {
			s.addReason(CaseMultipleEffects)
		}
		same := s.foreignEffect() == nil && (s.f.Amount == 0 || s.f.Amount == e.Amount) && (s.f.Currency == "" || s.f.Currency == e.Currency)
		if !same || line.ChannelRefundID != "" {
			e.Ours, e.DispatchNo = false, 0
			continue
		}
		line = Effect{ChannelRefundID: e.ChannelRefundID, Amount: e.Amount, Currency: e.Currency, Counted: e.Amount, Status: EffectHeld, At: s.now,
			ToldAt: e.ToldAt}
		e.ChannelRefundID, e.Voucher = s.f.ChannelRefundID, VoucherText(s.f.Voucher)
	}
	if line.ChannelRefundID == "" {
		s.book()
		return
	}
	s.r.Effects = append(s.r.Effects, line)
	s.dropHeldLine()
}
