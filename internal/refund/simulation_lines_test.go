package refund

import "slices"

// enterLines enters lines of the payment as the store does.
func (w *simulation) enterLines(lines []ListedEffect, source string, complete bool) {
	if len(lines) == 0 {
		return
	}
	f := w.paymentSet(source)
	for _, l := range lines {
		if _, _, ok := f.Owner(l.Number); !ok {
			w.writeLineChange(f, func() (Change, bool, error) { return f.Line(l, complete) })
		}
	}
	w.settleLines(f)
	for _, l := range lines {
		if k, no, ok := f.Owner(l.Number); ok {
			w.enter(int(k.RID[15]-7), Fact{Kind: l.Status, Dispatch: no, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency,
				Source: source, Actor: "system:lines"})
		}
	}
}

func (w *simulation) paymentSet(source string) *PaymentSet {
	return &PaymentSet{Payment: w.recs[0].Payment, Records: slices.Clone(w.recs), Lines: slices.Clone(w.lines), Contract: w.c, Source: source, Now: w.now()}
}

// settleLines settles held lines until nothing changes.
func (w *simulation) settleLines(f *PaymentSet) {
	for n := 0; w.writeLineChange(f, f.Settle); n++ {
		if n > 20 {
			w.fail("held lines are never settled")
		}
	}
}

// writeLineChange writes one change of the payment's refunds and lines.
func (w *simulation) writeLineChange(f *PaymentSet, do func() (Change, bool, error)) bool {
	before := f.Payment
	ch, ok, err := do()
	if err != nil {
		w.fail("lines: %v", err)
	}
	if !ok {
		return false
	}
	w.nameRows(&ch)
	w.countLines(f, ch)
	f.Absorb(ch)
	for i := range w.decisions {
		w.decisions[i].proposal = nil // the proposals were made before these lines were known
	}
	w.trace("lines: %v refunded %d held %d excess %d", ch.Rows, f.Payment.Refunded, f.Payment.Held, f.Payment.Excess)
	if p := f.Payment; p.Excess > before.Excess && p.Excess > p.ExcessAccepted && ch.After.RID.IsZero() {
		w.payCase = true
		w.count("a payment's own case")
	}
	w.lines = slices.Clone(f.Lines)
	if ch.After.RID.IsZero() {
		w.setPayment(f.Payment)
		if wrong := w.brokenBalance(); len(wrong) > 0 {
			w.fail("lines: %v", wrong)
		}
	} else {
		i := int(ch.After.RID[15] - 7)
		w.write(i, ch.Before, ch)
	}
	return true
}

// freeID reports whether a channel's id can be booked for the refund; an id that only a line has given to another one is
// taken back.
func (w *simulation) freeID(i int, id string) bool {
	for n := range w.recs {
		for _, e := range w.recs[n].Effects {
			if n == i || e.ChannelRefundID != id || e.Status == EffectDropped {
				continue
			}
			r := w.fullRecord(n)
			ch, ok, err := Unpair(r, id, w.c)
			if err != nil {
				w.fail("unpair: %v", err)
			}
			if !ok {
				return false
			}
			w.count("a line's id proved to be another refund's")
			w.write(n, r, ch)
		}
	}
	return true
}
