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
// methods are in lines.go, lines_match.go and lines_change.go.
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

// DecideLine decides about one line without our number. The first that fits applies (rules R19 to R21 of docs/rules.md):
//
//  1. It has no id, or no amount above zero: nothing, because it cannot be told from another line.
//  2. A line with this id is stored: only its end is news (knownLine).
//  3. The id is known as ours, or the line does not say "succeeded": nothing.
//  4. It has the amount of a refund with an exposed number: held, with a case of that refund.
//  5. It has the amount of a moved effect without channel refund id: paired, the effect gets the id.
//  6. It has the amount of a refund with an overridden number: held, with a case of that refund.
//  7. A refund of another amount has an exposed number: held, without a case.
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
	if set.knowsID(l.ChannelRefundID) || l.Status != Succeeded {
		return Change{}, false, nil
	}
	line := Effect{ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency, Counted: l.Amount, Status: EffectHeld, At: set.Now}
	if i, no, ok := set.exposedMatch(line); ok {
		return set.hold(i, no, line)
	}
	if i, no, ok := set.effectWithoutID(line); ok {
		return set.pair(i, no, line)
	}
	if i, no, ok := set.overriddenMatch(line); ok {
		return set.hold(i, no, line)
	}
	if !set.anyExposed() && !complete {
		return Change{}, false, nil
	}
	if !set.anyExposed() {
		line.Status = EffectMoved
	}
	return set.addLine(line), true, nil
}

// knownLine handles a line that is stored already: only its end is new.
func (set *PaymentSet) knownLine(i int, l ListedEffect) (Change, bool, error) {
	ended := l.Status == Reversed || (l.Status == FailedFinal && (set.Contract.Codes.LateFailure || set.Lines[i].Status == EffectHeld))
	if !ended || set.Lines[i].Status == EffectReversed {
		return Change{}, false, nil
	}
	return set.paymentOnly(func(p *Payment, lines []Effect) []Effect {
		e := &lines[i]
		if e.Status == EffectHeld {
			e.Status = EffectDropped
			p.Held -= e.Counted
		} else {
			e.Status, e.ReversedAt = EffectReversed, set.Now
			p.Refunded -= e.Counted
		}
		return lines
	}), true, nil
}

// Settle returns the next change about held lines, because the reason to hold one may have ended; false = none. The caller
// writes the change, passes it to Absorb and calls Settle again. For each held line the first that fits applies (rule R22):
//
//  1. Its id has become known as ours: dropped.
//  2. It has the amount of a refund with an exposed number: it stays, and that refund has a case.
//  3. It has the amount of a moved effect without channel refund id: paired.
//  4. It has the amount of a refund with a number that only a decision closed: it stays, and that refund has a case.
//  5. Nothing of the payment is exposed: adopted.
//
// When no line changes, reasons of cases that no held line supports any more are removed.
func (set *PaymentSet) Settle() (Change, bool, error) {
	wanted := map[RID]bool{}
	for n, line := range set.Lines {
		if line.Status != EffectHeld {
			continue
		}
		if set.knowsID(line.ChannelRefundID) {
			return set.release(n, EffectDropped), true, nil
		}
		host, no, ok := set.exposedMatch(line)
		if !ok {
			if i, at, unnamed := set.effectWithoutID(line); unnamed {
				return set.pair(i, at, line)
			}
			host, no, ok = set.overriddenMatch(line)
		}
		switch {
		case ok && !set.Records[host].Case.Has(CaseUnmatchedLine):
			return set.refundOnly(host, no, LineHeld, line, func(*transition) {}, CaseUnmatchedLine)
		case ok:
			wanted[set.Records[host].RID] = true
		case !set.anyExposed():
			return set.release(n, EffectMoved), true, nil
		}
	}
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
			set.Records[i].Effects = own
		}
	}
}
