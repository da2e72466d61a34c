package refund

import (
	"slices"
	"time"
)

// Lines without our number: a list of the channel, or a settlement file, shows money that moved on a payment, but not which
// request caused it. Such a line is held, paired, adopted or dropped in one fixed order (rule R19 of docs/rules.md). It is
// never adopted while it could be ours and never counted twice. A held line is decided again whenever the reason to hold it
// may have ended (Settle); until then it counts as held.

// Facts of lines. None of them has a fact key, because a line only seems to be the channel's own fact.
const (
	LineHeld     FactKind = "LINE_HELD"     // it may be this refund: a person must review it
	LinePaired   FactKind = "LINE_PAIRED"   // it gives the channel refund id to an effect without one
	LineUnpaired FactKind = "LINE_UNPAIRED" // the id belongs to another refund
	LineSettled  FactKind = "LINE_SETTLED"  // no held line may be this refund any more
)

// PaymentSet is a payment with everything that may explain a line of it, read under the locks of all its refunds. Its
// methods are in lines.go, lines_match.go and lines_change.go; who may own a line is in lines_owner.go.
type PaymentSet struct {
	Payment  Payment
	Records  []Record // each with its own effects only
	Lines    []Effect // effects of no refund: held, foreign, dropped
	Contract Contract
	Source   string // list or settlement
	Now      time.Time
}

// Owner returns the refund and the dispatch of a number.
func (set *PaymentSet) Owner(number string) (k RefundRef, dispatch int, ok bool) {
	for _, r := range set.Records {
		for _, d := range r.Dispatches {
			if number != "" && d.Number == number {
				return r.RefundRef, d.Ordinal, true
			}
		}
	}
	return RefundRef{}, 0, false
}

// About returns the refund and the number that a line is about: by the number that it carries, else by a channel refund id
// that the channel has given to a number of ours. Such a line is a fact about that number, and DecideLine is not for it. A
// line with an id that we know only from another line is about our effect when it tells the end of it; its beginning is
// known.
func (set *PaymentSet) About(l ListedEffect) (k RefundRef, dispatch int, ok bool) {
	if k, dispatch, ok = set.Owner(l.Number); ok || l.ChannelRefundID == "" {
		return k, dispatch, ok
	}
	for _, r := range set.Records {
		for _, d := range r.Dispatches {
			if d.ChannelRefundID == l.ChannelRefundID {
				return r.RefundRef, d.Ordinal, true
			}
		}
	}
	if l.Status != Reversed && (l.Status != FailedFinal || !set.Contract.Codes.LateFailure) {
		return RefundRef{}, 0, false
	}
	for _, r := range set.Records {
		for _, e := range r.Effects {
			if e.ChannelRefundID == l.ChannelRefundID && e.Status == EffectMoved {
				return r.RefundRef, e.DispatchNo, true
			}
		}
	}
	return RefundRef{}, 0, false
}

// DecideLine decides about one line that is about no number of ours (see About). The first that fits applies (rules R19 and
// R22 of docs/rules.md):
//
//  1. It has no id, or no amount above zero: nothing, because it cannot be told from another line.
//  2. A line with this id is stored: only its end, and that its money moved, are news (knownLine).
//  3. The id is known as ours, or the line says neither "succeeded" nor "acknowledged": nothing.
//  4. A refund may own it that no effect proves to be another one (ownsUnproven): held, with a case of every refund that may
//     own it.
//  5. The line says "acknowledged" only: nothing. It is stored when the money has moved.
//  6. It has the amount of a moved effect without channel refund id: paired, the effect gets the id.
//  7. A refund of another amount has an exposed number, or an epoch has not marked every refund of the payment yet: held,
//     without a case.
//  8. Its list is complete: adopted. Its amount counts as refunded (not as refundedElsewhere, which is the caller's number).
//  9. Its list is incomplete: nothing.
//
// complete says that the line's list has all refunds of the payment. The result is false when nothing changes. The caller
// writes the change and passes it to Absorb before the next line.
func (set *PaymentSet) DecideLine(l ListedEffect, complete bool) (Change, bool, error) {
	if l.Amount <= 0 || l.Amount > MaxAmount || l.ChannelRefundID == "" {
		return Change{}, false, nil // a line without id cannot be told from another one
	}
	if l.Currency == "" {
		l.Currency = set.Payment.Currency
	}
	if i := slices.IndexFunc(set.Lines, func(e Effect) bool { return e.ChannelRefundID == l.ChannelRefundID && e.Status != EffectDropped }); i >= 0 {
		return set.knownLine(i, l)
	}
	if set.knowsID(l.ChannelRefundID) || (l.Status != Succeeded && l.Status != Acknowledged) {
		return Change{}, false, nil
	}
	line := Effect{ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency, Counted: l.Amount, Status: EffectHeld, At: set.Now,
		ToldAt: l.At, Pending: l.Status == Acknowledged}
	owners := set.owners(line)
	switch unnamed, named := owners.first(ownsUnnamed); {
	case owners.any(ownsUnproven):
		i, no := owners.firstUnproven()
		return set.hold(i, no, line)
	case line.Pending:
		return Change{}, false, nil
	case named:
		return set.pair(unnamed.record, unnamed.dispatch, line)
	case !set.mayYetPay() && !complete:
		return Change{}, false, nil
	case !set.mayYetPay():
		line.Status = EffectMoved
	}
	return set.addLine(line), true, nil
}

// knownLine handles a line that is stored already: only its end is new, and that a held line's money has moved.
func (set *PaymentSet) knownLine(i int, l ListedEffect) (Change, bool, error) {
	if l.Status == Succeeded && set.Lines[i].Pending {
		return set.paymentOnly(func(_ *Payment, lines []Effect) []Effect {
			lines[i].Pending = false
			return lines
		}), true, nil
	}
	ended := l.Status == Reversed || (l.Status == FailedFinal && (set.Contract.Codes.LateFailure || set.Lines[i].Status == EffectHeld))
	if !ended || set.Lines[i].Status == EffectReversed {
		return Change{}, false, nil
	}
	if set.Lines[i].Status == EffectHeld {
		return set.release(i, EffectDropped), true, nil
	}
	return set.paymentOnly(func(p *Payment, lines []Effect) []Effect {
		e := &lines[i]
		e.Status, e.ReversedAt = EffectReversed, set.Now
		p.Refunded -= e.Counted
		return lines
	}), true, nil
}

// Settle returns the next change about held lines, because the reason to hold one may have ended; false = none. The caller
// writes the change, passes it to Absorb and calls Settle again. For each held line the first that fits applies (rule R22):
//
//  1. Its id has become known as ours: dropped. If the number's success is not known yet, the line is that success.
//  2. A refund may own it that no effect proves to be another one: it stays, and every refund that may own it has a case.
//  3. Its money has not moved yet: dropped. It is a new line once its money has moved.
//  4. It has the amount of a moved effect without channel refund id: paired.
//  5. Nothing of the payment is exposed, and no epoch is open: adopted.
//
// When no line changes, reasons of cases that no held line supports any more are removed.
func (set *PaymentSet) Settle() (Change, bool, error) {
	wanted := map[RID]bool{}
	for n, line := range set.Lines {
		if line.adoptedLine() {
			for i := range set.Records {
				no, how := set.Records[i].ownership(line)
				if r := set.Records[i]; how != ownsUnproven || !r.adoptedMeanwhile(line) {
					continue
				} else if wanted[r.RID] = true; !r.Case.Has(CaseUnmatchedLine) {
					return set.refundOnly(i, no, LineHeld, line, func(*transition) {}, CaseUnmatchedLine)
				}
			}
		}
		if line.Status != EffectHeld {
			continue
		}
		if set.knowsID(line.ChannelRefundID) {
			return set.settleKnown(n)
		}
		owners := set.owners(line)
		switch unnamed, named := owners.first(ownsUnnamed); {
		case owners.any(ownsUnproven):
			for _, o := range owners {
				wanted[set.Records[o.record].RID] = true
				if !set.Records[o.record].Case.Has(CaseUnmatchedLine) {
					return set.refundOnly(o.record, o.dispatch, LineHeld, line, func(*transition) {}, CaseUnmatchedLine)
				}
			}
		case line.Pending:
			return set.release(n, EffectDropped), true, nil
		case named:
			return set.pair(unnamed.record, unnamed.dispatch, line)
		case !set.mayYetPay():
			return set.release(n, EffectMoved), true, nil
		}
	}
	return set.endReasons(wanted)
}

// settleKnown ends the wait of a held line whose id has become known as ours.
func (set *PaymentSet) settleKnown(n int) (Change, bool, error) {
	line := set.Lines[n]
	for i, r := range set.Records {
		for _, d := range r.Dispatches {
			if d.ChannelRefundID == line.ChannelRefundID && !line.Pending && !r.booked(d.Ordinal) {
				ch, err := Apply(set.full(i), Fact{Kind: Succeeded, Dispatch: d.Ordinal, ChannelRefundID: line.ChannelRefundID, Amount: line.Amount,
					Currency: line.Currency, Source: set.Source, Actor: "system:lines"}, set.Contract)
				return ch, true, err
			}
		}
	}
	return set.release(n, EffectDropped), true, nil
}

// endReasons returns the next change that removes reasons which no held line, or no excess, supports any more. wanted are the
// refunds that may own a held line.
func (set *PaymentSet) endReasons(wanted map[RID]bool) (Change, bool, error) {
	for i, r := range set.Records {
		held, excess := r.Case.Has(CaseUnmatchedLine) && !wanted[r.RID], r.Case.Has(CaseExcess) && set.Payment.Excess <= set.Payment.ExcessAccepted
		if !held && !excess {
			continue
		}
		return set.refundOnly(i, r.DispatchNo, LineSettled, Effect{}, func(s *transition) {
			if held {
				s.dropReason(CaseUnmatchedLine)
			}
			if excess { // the line and the refund were the same money, counted twice; with the line gone the excess is gone
				s.dropReason(CaseExcess)
			}
		}, "")
	}
	return Change{}, false, nil
}

// Absorb updates the set with a change that was written.
func (set *PaymentSet) Absorb(ch Change) {
	set.Payment = ch.After.Payment
	if ch.After.RID.IsZero() { // of the payment alone
		set.Lines = ch.After.Effects
		for i := range set.Records {
			set.Records[i].Payment = set.Payment
		}
		return
	}
	var own []Effect
	set.Lines = nil
	for _, e := range ch.After.Effects {
		if e.Ours {
			own = append(own, e)
		} else {
			set.Lines = append(set.Lines, e)
		}
	}
	for i := range set.Records {
		set.Records[i].Payment = set.Payment
		if set.Records[i].RID == ch.After.RID {
			set.Records[i] = ch.After
			set.Records[i].Effects, set.Records[i].Siblings = own, nil
		}
	}
}
