package refund

import "slices"

// enterLines enters lines of the payment as the store does.
func (sim *simulation) enterLines(lines []ListedEffect, source string, complete bool) {
	if len(lines) == 0 {
		return
	}
	f := sim.paymentSet(source)
	for _, l := range lines {
		if _, _, ok := sim.about(f, l); !ok {
			sim.writeLineChange(f, func() (Change, bool, error) { return f.DecideLine(l, complete) })
		}
	}
	sim.settleLines(f)
	for _, l := range lines {
		if k, no, ok := sim.about(f, l); ok {
			sim.enter(int(k.RID[15]-7), Fact{Kind: l.Status, Dispatch: no, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency,
				Source: source, Actor: "system:lines"})
		}
	}
	sim.checkKnownIDs(lines)
}

func (sim *simulation) paymentSet(source string) *PaymentSet {
	return &PaymentSet{Payment: sim.recs[0].Payment, Records: slices.Clone(sim.recs), Lines: slices.Clone(sim.lines), Contract: sim.c, Source: source,
		Now: sim.now()}
}

// settleLines settles held lines until nothing changes.
func (sim *simulation) settleLines(f *PaymentSet) {
	for n := 0; sim.writeLineChange(f, f.Settle); n++ {
		if n > 20 {
			sim.fail("held lines are never settled")
		}
	}
}

// writeLineChange writes one change of the payment's refunds and lines.
func (sim *simulation) writeLineChange(f *PaymentSet, do func() (Change, bool, error)) bool {
	before := f.Payment
	ch, ok, err := do()
	if err != nil {
		sim.fail("lines: %v", err)
	}
	if !ok {
		return false
	}
	sim.nameRows(&ch)
	sim.countLines(f, ch)
	f.Absorb(ch)
	for i := range sim.decisions {
		sim.decisions[i].proposal = nil // the proposals were made before these lines were known
	}
	sim.trace("lines: %v refunded %d held %d excess %d", ch.Rows, f.Payment.Refunded, f.Payment.Held, f.Payment.Excess)
	sim.countLineStates(ch)
	if slices.Contains(ch.Rows, "line/line_paired") {
		sim.countIf(sim.unpaired[ch.After.RID[15]-7], "a refund that had another one's line got its own")
	}
	if p := f.Payment; p.Excess > before.Excess && p.Excess > p.ExcessAccepted && ch.After.RID.IsZero() {
		sim.payCase = true
		sim.count("a payment's own case")
	}
	sim.lines = slices.Clone(f.Lines)
	if ch.After.RID.IsZero() {
		sim.setPayment(f.Payment)
		if wrong := sim.brokenBalance(); len(wrong) > 0 {
			sim.fail("lines: %v", wrong)
		}
	} else {
		i := int(ch.After.RID[15] - 7)
		sim.write(i, ch.Before, ch)
	}
	return true
}

// freeID reports whether a channel's id can be booked for the refund; an id that only a line has given to another one is
// taken back.
func (sim *simulation) freeID(i int, id string) bool {
	for n := range sim.recs {
		for _, e := range sim.recs[n].Effects {
			if n == i || e.ChannelRefundID != id || e.Status == EffectDropped {
				continue
			}
			r := sim.fullRecord(n)
			ch, ok, err := Unpair(r, id, sim.c)
			if err != nil {
				sim.fail("unpair: %v", err)
			}
			if !ok {
				return false
			}
			sim.count("a line's id proved to be another refund's")
			sim.unpaired[n] = true
			sim.write(n, r, ch)
		}
	}
	return true
}

// fullRecordOf returns the record with the payment's lines.
func (sim *simulation) fullRecordOf(i int) *Record {
	r := sim.fullRecord(i)
	return &r
}

// ownLineHeld reports whether a held line is the refund's own.
func (sim *simulation) ownLineHeld(i int) bool {
	return slices.ContainsFunc(sim.fullRecordOf(i).linesHeldFor(), func(e Effect) bool { return sim.madeBy(e.ChannelRefundID) == i })
}

// madeBy returns the refund that made a channel refund; -1 = somebody else's.
func (sim *simulation) madeBy(id string) int {
	for _, m := range sim.ch.made {
		if i, ok := sim.owner(m.number); ok && m.id == id {
			return i
		}
	}
	return -1
}

// noteLineAnswers voids the other proposals after a decision about a line, and notes a person who errs about one: what
// follows from it is no failure of the code.
func (sim *simulation) noteLineAnswers(i int, r Record, ch Change, d Decision) {
	if !ch.LineDecided && !d.BothHappened {
		return
	}
	for n := range sim.decisions {
		sim.decisions[n].proposal = nil
	}
	sim.count("a person answered about a line")
	for _, e := range r.Effects {
		own := sim.madeBy(e.ChannelRefundID) == i
		if e.ID == d.EffectID {
			sim.named[e.ID] = true
		}
		switch {
		case e.Ours || e.Status == EffectDropped:
		case e.ID == d.EffectID && !own, d.BothHappened && own && e.Status == EffectMoved, ch.After.NotOurs[e.ID] && !r.NotOurs[e.ID] && own:
			sim.lineErrors[i] = true
			sim.count("a person answered wrongly about a line")
		}
	}
}

// countLineStates counts the states of lines that a change shows.
func (sim *simulation) countLineStates(ch Change) {
	for _, e := range ch.After.Effects {
		sim.countIf(e.Status == EffectHeld && !e.CoveredBy.IsZero(), "a held line was covered by an open refund")
		sim.countIf(e.Status == EffectHeld && e.Pending, "a line whose money has not moved was held")
	}
	n := 0
	for i := range sim.recs {
		if len(sim.fullRecordOf(i).linesHeldFor()) > 0 {
			n++
		}
	}
	sim.countIf(n > 1, "two refunds may own a line")
}
