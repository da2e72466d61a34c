package refund

import (
	"slices"
	"time"
)

// Lines without our number: a list of the channel, or a settlement file, shows money that moved on a payment, but not which
// request caused it. Such a line is held, paired, adopted or dropped in one fixed order (rule R19 of docs/rules.md). It is
// never adopted while it could be ours, never booked twice and never forgotten.

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
func (f *PaymentSet) Owner(number string) (k RefundRef, dispatch int, ok bool) {
	for _, r := range f.Records {
		for _, d := range r.Dispatches {
			if number != "" && d.Number == number {
				return r.RefundRef, d.Ordinal, true
			}
		}
	}
	return RefundRef{}, 0, false
}

// Line decides about one line without our number. complete says that its list has all refunds; a line of an incomplete list
// is not adopted. The result is false when nothing changes. The caller writes the change and passes it to Absorb before the
// next line.
func (f *PaymentSet) Line(l ListedEffect, complete bool) (Change, bool, error) {
	if l.Amount <= 0 || l.Amount > MaxAmount || l.ChannelRefundID == "" {
		return Change{}, false, nil // a line without id cannot be told from another one
	}
	if l.Currency == "" {
		l.Currency = f.Payment.Currency
	}
	if i := slices.IndexFunc(f.Lines, func(e Effect) bool { return e.ChannelRefundID == l.ChannelRefundID && e.Status != EffectDropped }); i >= 0 {
		return f.knownLine(i, l)
	}
	if f.knowsID(l.ChannelRefundID) || l.Status != Succeeded {
		return Change{}, false, nil
	}
	line := Effect{ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency, Counted: l.Amount, Status: EffectHeld, At: f.Now}
	if i, no, ok := f.exposedMatch(line); ok {
		return f.hold(i, no, line)
	}
	if i, no, ok := f.effectWithoutID(line); ok {
		return f.pair(i, no, line)
	}
	if i, no, ok := f.overriddenMatch(line); ok {
		return f.hold(i, no, line)
	}
	if !f.anyExposed() && !complete {
		return Change{}, false, nil
	}
	if !f.anyExposed() {
		line.Status = EffectMoved
	}
	return f.paymentOnly(func(p *Payment, lines []Effect) []Effect {
		if line.Status == EffectMoved {
			p.Refunded += line.Counted
		} else {
			p.Held += line.Counted
		}
		return append(lines, line)
	}), true, nil
}

// knownLine handles a line that is stored already: only its end is new.
func (f *PaymentSet) knownLine(i int, l ListedEffect) (Change, bool, error) {
	ended := l.Status == Reversed || (l.Status == FailedFinal && (f.Contract.Codes.LateFailure || f.Lines[i].Status == EffectHeld))
	if !ended || f.Lines[i].Status == EffectReversed {
		return Change{}, false, nil
	}
	return f.paymentOnly(func(p *Payment, lines []Effect) []Effect {
		e := &lines[i]
		if e.Status == EffectHeld {
			e.Status = EffectDropped
			p.Held -= e.Counted
		} else {
			e.Status, e.ReversedAt = EffectReversed, f.Now
			p.Refunded -= e.Counted
		}
		return lines
	}), true, nil
}

// Settle returns the next change about held lines, because the reason to hold one may have ended; false = none. The caller
// writes the change, passes it to Absorb and calls Settle again.
func (f *PaymentSet) Settle() (Change, bool, error) {
	wanted := map[RID]bool{}
	for n, line := range f.Lines {
		if line.Status != EffectHeld {
			continue
		}
		if f.knowsID(line.ChannelRefundID) {
			return f.release(n, EffectDropped), true, nil
		}
		host, no, ok := f.exposedMatch(line)
		if !ok {
			if i, at, unnamed := f.effectWithoutID(line); unnamed {
				return f.pair(i, at, line)
			}
			host, no, ok = f.overriddenMatch(line)
		}
		switch {
		case ok && !f.Records[host].Case.Has(CaseUnmatchedLine):
			return f.refundOnly(host, no, LineHeld, line, func(*transition) {}, CaseUnmatchedLine)
		case ok:
			wanted[f.Records[host].RID] = true
		case !f.anyExposed():
			return f.release(n, EffectMoved), true, nil
		}
	}
	for i, r := range f.Records {
		held, excess := r.Case.Has(CaseUnmatchedLine) && !wanted[r.RID], r.Case.Has(CaseExcess) && f.Payment.Excess <= f.Payment.ExcessAccepted
		if !held && !excess {
			continue
		}
		return f.refundOnly(i, r.DispatchNo, LineSettled, Effect{}, func(s *transition) {
			if held {
				s.dropReason(CaseUnmatchedLine)
			}
			if excess { // the held line was counted beside the refund itself, which caused the whole excess
				s.dropReason(CaseExcess)
			}
		}, "")
	}
	return Change{}, false, nil
}

// Absorb updates the set with a change that was written.
func (f *PaymentSet) Absorb(ch Change) {
	f.Payment = ch.After.Payment
	var own []Effect
	f.Lines = nil
	for _, e := range ch.After.Effects {
		if e.Ours {
			own = append(own, e)
		} else {
			f.Lines = append(f.Lines, e)
		}
	}
	for i := range f.Records {
		f.Records[i].Payment = f.Payment
		if f.Records[i].RID == ch.After.RID {
			f.Records[i] = ch.After
			f.Records[i].Effects = own
		}
	}
}
