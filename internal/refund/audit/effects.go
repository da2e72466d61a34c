package audit

import (
	"slices"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// booking is an effect as the journal reports it.
type booking struct {
	dispatch   int
	id         string // channel refund id
	amount     int64
	currency   refund.Currency
	at         time.Time
	returnedAt time.Time  // zero = it stands
	person     bool       // booked by a decision alone
	effect     refund.RID // the line that a decision made the refund's own
	line       bool       // the id came from a line, or the effect was a line before
	anyID      bool       // the journal does not tell its id
}

// bookings replays the journal's rows: which effects the refund has, by the rules that applied.
func (f *Fold) bookings(r *refund.Record) []booking {
	var out []booking
	for i := range f.rows {
		row := &f.rows[i]
		if row.claim() || row.Seq == 1 {
			continue
		}
		if row.ChannelRefundID != "" && row.Source != sourceDecision { // the channel's fact takes the id from effects of other numbers
			for n := range out {
				if b := &out[n]; b.line && b.id == row.ChannelRefundID && b.dispatch != row.Dispatch {
					b.anyID = true
				}
			}
		}
		m := f.moveOf(row)
		if m.Renumbers {
			renumbered(r, out, row)
		}
		books := m.Books || m.BooksDecided
		if m.ReplacesLine {
			out, books = replaced(r, out, row)
		}
		if m.BooksDecided && explained(r, out, row) {
			books = false
		}
		if books {
			out = append(out, booked(r, row, m.BooksDecided))
		}
		f.named(out, row, m)
		f.returned(r, out, row, m)
	}
	return out
}

// renumbered gives the effect whose line a person had named for another number to the row's number.
func renumbered(r *refund.Record, all []booking, row *journalRow) {
	for n := range all {
		b := &all[n]
		e := b.find(r)
		if b.dispatch != row.Dispatch && (b.id == row.ChannelRefundID || (e != nil && e.ChannelRefundID == row.ChannelRefundID)) {
			b.dispatch = row.Dispatch
			return
		}
	}
}

// replaced gives the row's channel refund id to the first effect of its number whose id came from a line. The effects of which the
// refund no longer has one with that id became foreign; books = the channel's effect was added beside them.
func replaced(r *refund.Record, all []booking, row *journalRow) (rest []booking, books bool) {
	books = true
	rest = slices.DeleteFunc(all, func(b booking) bool {
		return b.dispatch == row.Dispatch && b.line && b.returnedAt.IsZero() && b.id != row.ChannelRefundID && b.find(r) == nil
	})
	for n := range rest {
		b := &rest[n]
		if b.dispatch == row.Dispatch && b.line && b.returnedAt.IsZero() && b.id != row.ChannelRefundID {
			b.id, b.anyID, books = row.ChannelRefundID, false, false
			break
		}
	}
	return rest, books
}

// explained reports that the line which a decision named explained an effect of the number without id, and marks that effect.
func explained(r *refund.Record, all []booking, row *journalRow) bool {
	if row.Effect.IsZero() || slices.ContainsFunc(r.Effects, func(e refund.Effect) bool { return e.Ours && e.ID == row.Effect }) {
		return false
	}
	for n := range all {
		if b := &all[n]; b.dispatch == row.Dispatch && b.id == "" && b.returnedAt.IsZero() {
			b.line, b.anyID = true, true
			return true
		}
	}
	return false
}

// find returns the refund's own effect that was a line before, or that was booked at the booking's time; nil = it has none.
func (b booking) find(r *refund.Record) *refund.Effect {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Ours && (e.ID == b.effect || (b.effect.IsZero() && e.At.Equal(b.at))) {
			return e
		}
	}
	return nil
}

func booked(r *refund.Record, row *journalRow, decided bool) booking {
	b := booking{dispatch: row.Dispatch, id: row.ChannelRefundID, amount: row.Amount, currency: row.Currency, at: row.At}
	if b.amount == 0 {
		b.amount = r.Amount
	}
	if b.currency == "" {
		b.currency = r.Currency
	}
	if decided {
		b.person, b.effect = row.Effect.IsZero(), row.Effect
	}
	if !b.effect.IsZero() || (b.id != "" && slices.Contains(row.Case, refund.CaseContradiction)) { // it may have been a line before
		b.line, b.anyID = true, !b.effect.IsZero()
	}
	return b
}

// named gives ids to effects without one, and takes them.
func (f *Fold) named(all []booking, row *journalRow, m refund.MoveEffects) {
	for n := range all {
		b := &all[n]
		switch {
		case row.Rule == "decided/not-done" || row.Rule == "decided/accepted-as-is":
			b.anyID = b.anyID || b.id == "" // it may have got the id of a held line
		case b.dispatch != row.Dispatch:
		case b.id == "" && b.returnedAt.IsZero() && (m.GivesID || row.Kind == kindLinePaired):
			b.id, b.line = row.ChannelRefundID, row.Kind == kindLinePaired
			return
		case row.Kind == kindLineUnpaired && (b.id == row.ChannelRefundID || b.anyID):
			b.id, b.anyID = "", true
		}
	}
}

var (
	kindLinePaired   = refund.JournalKind(refund.LinePaired)
	kindLineUnpaired = refund.JournalKind(refund.LineUnpaired)
)

const sourceDecision = "decision"

// returned marks the effect that the row returns: the one with its id, else one of its dispatch without id.
func (f *Fold) returned(r *refund.Record, all []booking, row *journalRow, m refund.MoveEffects) {
	for n := range all {
		b := &all[n]
		if !m.Revokes || !b.returnedAt.IsZero() || b.id != "" {
			continue
		}
		e := b.find(r)
		lostLine := !b.effect.IsZero() && e != nil && e.ReversedAt.Equal(row.At) // the channel has taken its line's id
		if b.person || lostLine {
			b.returnedAt = row.At
		}
	}
	if !m.Returns {
		return
	}
	stands := func(fits func(*booking) bool) *booking {
		for n := range all {
			if b := &all[n]; b.returnedAt.IsZero() && fits(b) {
				return b
			}
		}
		return nil
	}
	b := stands(func(b *booking) bool { return row.ChannelRefundID != "" && b.id == row.ChannelRefundID })
	if b == nil {
		b = stands(func(b *booking) bool {
			return b.dispatch == row.Dispatch && (row.ChannelRefundID == "" || b.id == "" || b.anyID)
		})
	}
	if b != nil {
		b.returnedAt = row.At
		if b.id == "" && row.ChannelRefundID != "" {
			b.id, b.anyID = row.ChannelRefundID, true
		}
	}
}

// moveOf returns what the row did. Of a rule with two moves the first is journalled as the success, the second as its return.
func (f *Fold) moveOf(row *journalRow) refund.MoveEffects {
	moves := f.a.effects[row.Rule]
	switch {
	case len(moves) == 0:
		return refund.MoveEffects{}
	case len(moves) == 2 && row.Kind == refund.JournalKind(refund.Reversed):
		return moves[1]
	}
	return moves[0]
}

// checkBookings compares the effects of the refund with those that the journal reports: each one exists once, with the
// reported number, id, amount, currency and time.
func (f *Fold) checkBookings(r *refund.Record) {
	var own []*refund.Effect
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Ours && (e.Status == refund.EffectMoved || e.Status == refund.EffectReversed) {
			own = append(own, e)
		}
	}
	for _, b := range f.bookings(r) {
		i := slices.IndexFunc(own, func(e *refund.Effect) bool { return b.is(e, false) })
		if i < 0 {
			i = slices.IndexFunc(own, func(e *refund.Effect) bool { return b.is(e, true) })
		}
		if i < 0 {
			f.a.report("P8", "effect-missing", "the journal reports an effect of dispatch %d with id %q at %s, which does not exist", b.dispatch, b.id, stamp(b.at))
			continue
		}
		f.checkBooking(r, b, own[i])
		own = slices.Delete(own, i, i+1)
	}
	for _, e := range own {
		f.a.report("P8", "effect-unreported", "effect %s of dispatch %d with id %q is not in the journal", e.ID, e.DispatchNo, e.ChannelRefundID)
	}
}

// is reports whether the effect is the booking; loosely = by its time alone.
func (b booking) is(e *refund.Effect, loosely bool) bool {
	switch {
	case !b.effect.IsZero():
		return e.ID == b.effect
	case loosely:
		return e.At.Equal(b.at)
	case b.id != "" && !b.anyID:
		return e.ChannelRefundID == b.id
	}
	return e.DispatchNo == b.dispatch && e.At.Equal(b.at)
}

func (f *Fold) checkBooking(r *refund.Record, b booking, e *refund.Effect) {
	counted := e.Amount
	if e.Currency != r.Currency {
		counted = r.Amount
	}
	born := e.At.Equal(b.at) // else it was a line before, with an amount and a time of its own
	switch {
	case !born && !b.line:
		f.a.report("P8", "effect-differs", "effect %s is of %s, the journal reports it at %s", e.ID, stamp(e.At), stamp(b.at))
	case e.DispatchNo != b.dispatch || (!b.anyID && e.ChannelRefundID != b.id) || (born && e.ByPerson != b.person):
		f.a.report("P8", "effect-differs", "effect %s has dispatch %d and id %q, the journal reports %d and %q", e.ID, e.DispatchNo, e.ChannelRefundID, b.dispatch, b.id)
	case born && b.effect.IsZero() && (e.Amount != b.amount || e.Currency != b.currency || e.Counted != counted):
		f.a.report("P8", "effect-differs", "effect %s is %d %s and counts %d, the journal reports %d %s", e.ID, e.Amount, e.Currency, e.Counted, b.amount, b.currency)
	}
	reversed := e.Status == refund.EffectReversed
	switch {
	case !b.returnedAt.IsZero() && (!reversed || !e.ReversedAt.Equal(b.returnedAt)),
		reversed && b.returnedAt.IsZero() && !f.returnReported(b):
		f.a.report("P8", "effect-differs", "effect %s is %s, the journal reports its return at %q", e.ID, e.Status, stampOrNever(b.returnedAt))
	}
}

// returnReported reports whether a row has a return that the effect may have had without a row of its own (rule R11: a known
// return may find its effect booked only later).
func (f *Fold) returnReported(b booking) bool {
	return slices.ContainsFunc(f.rows, func(row journalRow) bool {
		kind := f.reported(&row)
		return (kind == refund.JournalKind(refund.Reversed) || kind == refund.JournalKind(refund.FailedFinal)) &&
			(row.Dispatch == b.dispatch || (b.id != "" && row.ChannelRefundID == b.id))
	})
}

func stampOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return stamp(t)
}
