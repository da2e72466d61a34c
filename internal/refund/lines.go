package refund

import (
	"slices"
	"time"
)

// Lines that carry none of our numbers: a channel's list, or a settlement file, tells of money that moved on a payment and
// not by whose wish. Such a line is held, paired, adopted or dropped in one fixed order (rule R19 of docs/rules.md); it is never adopted while it could
// be ours, never booked twice and never forgotten.

// What a line does to a refund. None of these carries a fact key: the channel's own word must never look known because of
// a line that only seemed to be the same.
const (
	LineHeld     FactKind = "LINE_HELD"     // it may be this refund: a person must look
	LinePaired   FactKind = "LINE_PAIRED"   // it gives the channel's id to an effect that had none
	LineUnpaired FactKind = "LINE_UNPAIRED" // the id proved to belong elsewhere
	LineSettled  FactKind = "LINE_SETTLED"  // no held line may be this refund any more
)

// PaymentSet is a payment with everything that may explain a line of it, read under the locks of all its refunds.
type PaymentSet struct {
	Payment  Payment
	Records  []Record // each with its own effects only
	Lines    []Effect // effects of no refund: held, foreign, dropped
	Contract Contract
	Source   string // list or settlement
	Now      time.Time
}

// Owner finds the refund and the number that a line names.
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

// Line decides about one line without our number. complete: the list that it stands in has everything; of any other one
// nothing is adopted. false = nothing changes. The caller writes the change and gives it to Take before the next line.
func (f *PaymentSet) Line(l ListedEffect, complete bool) (Change, bool, error) {
	if l.Amount <= 0 || l.Amount > MaxAmount || l.ChannelRefundID == "" {
		return Change{}, false, nil // cannot be told from another one
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

// knownLine is a line that we have already: only its end is news.
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

// Settle is the next thing to do about the lines that are held: what held them may have come to its end. false = nothing.
// The caller writes the change, gives it to Take and asks again.
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
			if excess { // a held line counts beside the refund that it may be; that was all
				s.dropReason(CaseExcess)
			}
		}, "")
	}
	return Change{}, false, nil
}

// Absorb brings the family in step with a change that was written.
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
