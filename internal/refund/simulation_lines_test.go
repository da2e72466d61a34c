package refund

import "slices"

// enterLines enters lines of the payment as the store does.
func (sim *simulation) enterLines(lines []ListedEffect, source string, complete bool) {
	if len(lines) == 0 {
		return
	}
	f := sim.paymentSet(source)
	for _, l := range lines {
		if _, _, ok := f.Owner(l.Number); !ok {
			sim.writeLineChange(f, func() (Change, bool, error) { return f.Line(l, complete) })
		}
	}
	sim.settleLines(f)
	for _, l := range lines {
		if k, no, ok := f.Owner(l.Number); ok {
			sim.enter(int(k.RID[15]-7), Fact{Kind: l.Status, Dispatch: no, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency,
				Source: source, Actor: "system:lines"})
		}
	}
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
			sim.write(n, r, ch)
		}
	}
	return true
}
