package refund

import (
	"slices"
	"time"
)

// Who may own a line without our number (rule R19 of docs/rules.md).

// ownership is why a refund may own a line.
type ownership int

const (
	ownsNot ownership = iota
	// ownsUnnamed: the refund has a moved effect without channel refund id. The machine may pair the line with it.
	ownsUnnamed
	// ownsUnproven: a number was sent, and it is exposed, or only a decision or only its absence says that it did nothing. A
	// person must answer.
	ownsUnproven
)

// olderByChannel is by how much the channel's own time of a line must precede the first send, because clocks differ.
const olderByChannel = 10*time.Minute + ClockMargin

// ownership returns whether the refund may own a line, and the number that may have made it: an exposed one, else the newest.
func (r *Record) ownership(line Effect) (dispatch int, how ownership) {
	if !r.hasAmount(line) || r.disowned(line) || r.sentAfter(line) {
		return 0, ownsNot
	}
	exposed := false
	for i := len(r.Dispatches) - 1; i >= 0; i-- {
		d := r.Dispatches[i]
		if by := r.mayHaveMade(d, line); by > how || (by == how && by == ownsUnproven && d.Exposed && !exposed) {
			dispatch, how, exposed = d.Ordinal, by, d.Exposed
		}
	}
	return dispatch, how
}

// disowned reports whether a person has said that the line is not this refund's.
func (r *Record) disowned(line Effect) bool { return !line.ID.IsZero() && r.NotOurs[line.ID] }

// sentAfter reports whether the line is older than the refund's first send: it was recorded before that send was claimed, by
// the database's time (a line is recorded under the locks of all refunds of the payment, so its transaction committed before
// the claim), or the channel's own time is earlier by more than olderByChannel.
func (r *Record) sentAfter(line Effect) bool {
	first := r.firstSend()
	if first.IsZero() {
		return false
	}
	return line.At.Before(first) || (!line.ToldAt.IsZero() && line.ToldAt.Before(first.Add(-olderByChannel)))
}

// firstSend returns when the refund's first send was claimed. It is zero if it is not known: nothing was sent, or a restore
// has removed the first send. Sends that a restore has removed are later than those that it has kept.
func (r *Record) firstSend() time.Time {
	var first time.Time
	for _, d := range r.Dispatches {
		try := r.firstTry(d.Ordinal)
		if try.IsZero() && first.IsZero() && (d.MarkedEpoch > 0 || d.Acknowledged || d.Exposed) {
			return time.Time{}
		}
		if !try.IsZero() && (first.IsZero() || try.Before(first)) {
			first = try
		}
	}
	return first
}

// mayHaveMade reports whether a number may have made a line of the refund's amount.
func (r *Record) mayHaveMade(d Dispatch, line Effect) ownership {
	switch {
	case r.unnamedEffect(d.Ordinal, line) != nil:
		return ownsUnnamed
	case r.booked(d.Ordinal) || !r.wasSent(d):
		return ownsNot
	case d.Exposed:
		return ownsUnproven
	case !d.FinalNegativeAt.IsZero() || r.refusedCleanly(d):
		return ownsNot // the channel has ended the number
	}
	return ownsUnproven
}

// wasSent reports whether the number was sent, or may have been in a part of the history that a restore has removed.
func (r *Record) wasSent(d Dispatch) bool {
	return d.Exposed || d.Acknowledged || d.MarkedEpoch > 0 || !r.firstTry(d.Ordinal).IsZero()
}

// refusedCleanly reports whether each send of the number was answered with a proof that it did nothing.
func (r *Record) refusedCleanly(d Dispatch) bool {
	if d.Acknowledged || d.MarkedEpoch > 0 {
		return false
	}
	return !slices.ContainsFunc(r.Attempts, func(a Attempt) bool {
		return a.DispatchNo == d.Ordinal && a.Kind == AttemptSend && !Disproves(a.Answer)
	})
}

// unnamedEffect returns the standing effect of a number that has no channel refund id and the amount of the line; nil = none.
func (r *Record) unnamedEffect(dispatch int, line Effect) *Effect {
	for i := range r.Effects {
		e := &r.Effects[i]
		if e.Ours && e.DispatchNo == dispatch && e.Status == EffectMoved && e.ChannelRefundID == "" && e.Amount == line.Amount &&
			e.Currency == line.Currency {
			return e
		}
	}
	return nil
}

// linesHeldFor returns the lines that wait for an answer about this refund: the held ones that it may own, and those that were
// adopted while a restore had removed it.
func (r *Record) linesHeldFor() []Effect {
	var out []Effect
	for _, e := range r.Effects {
		if _, how := r.ownership(e); how != ownsNot && (e.heldLine() || r.adoptedMeanwhile(e)) {
			out = append(out, e)
		}
	}
	return out
}

// unexplainedLine reports whether the payment has a line that can be this refund. While it has one, the absence of the refund's
// numbers proves nothing.
func (r *Record) unexplainedLine() bool {
	return slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return (e.heldLine() || r.adoptedMeanwhile(e)) && r.hasAmount(e) && !r.disowned(e) && !r.sentAfter(e)
	})
}

// equalLineAdopted reports whether a line of the refund's amount was adopted that is not known to be another refund: money that is
// booked beside it may be counted twice.
func (r *Record) equalLineAdopted() bool {
	return slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return e.adoptedLine() && r.hasAmount(e) && !r.disowned(e) && !r.sentAfter(e)
	})
}

// adoptedMeanwhile reports whether the line was adopted before the refund was accepted again after a restore: the refund may
// have been sent before, and nobody knew then that the line could be its own.
func (r *Record) adoptedMeanwhile(e Effect) bool {
	return e.adoptedLine() && !e.At.After(r.CreatedAt) && r.firstSend().IsZero()
}

// coverLines marks each held line with the open refund that covers it: one that may own it. A refund covers one line, because
// the amount that it reserves is that of one movement of money. As many lines as possible are covered.
func coverLines(effects []Effect, refunds []*Record) {
	covers := map[int]int{} // refund to line
	var try func(line int, seen map[int]bool) bool
	try = func(line int, seen map[int]bool) bool {
		for i, r := range refunds {
			if _, how := r.ownership(effects[line]); seen[i] || how == ownsNot || r.State.Final() {
				continue
			}
			seen[i] = true
			if other, taken := covers[i]; !taken || try(other, seen) {
				covers[i] = line
				return true
			}
		}
		return false
	}
	for n := range effects {
		effects[n].CoveredBy = RID{}
		if effects[n].heldLine() {
			try(n, map[int]bool{})
		}
	}
	for i, n := range covers {
		effects[n].CoveredBy = refunds[i].RID
	}
}

// heldByLines returns the amount of the held lines that no open refund covers.
func heldByLines(effects []Effect) int64 {
	var sum int64
	for _, e := range effects {
		if e.heldLine() && e.CoveredBy.IsZero() {
			sum += e.Counted
		}
	}
	return sum
}

// coverLines marks the payment's held lines, as they stand after the fact.
func (s *transition) coverLines() {
	all := []*Record{s.r}
	for i := range s.r.Siblings {
		all = append(all, &s.r.Siblings[i])
	}
	slices.SortFunc(all, func(a, b *Record) int { return slices.Compare(a.RID[:], b.RID[:]) })
	coverLines(s.r.Effects, all)
}

// othersMayOwn reports whether another refund of the payment may own the line, or may have moved any money: while something
// is exposed, no line is adopted.
func (r *Record) othersMayOwn(line Effect) bool {
	return slices.ContainsFunc(r.Siblings, func(o Record) bool {
		_, how := o.ownership(line)
		return how != ownsNot || o.mayYetPay()
	})
}

// mayYetPay reports whether a number of the refund is exposed, or will be because an epoch has not marked the refund yet.
func (r *Record) mayYetPay() bool { return r.anyExposed() || (r.SendingHeld && !r.State.Final()) }

// disownLines stores a person's answer "not ours" for every line held for the refund.
func (s *transition) disownLines() {
	answered := map[RID]bool{}
	for id := range s.r.NotOurs {
		answered[id] = true
	}
	for _, e := range s.r.linesHeldFor() {
		answered[e.ID] = true
		s.change.LineDecided = true
	}
	s.r.NotOurs = answered
}
