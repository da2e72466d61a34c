package audit

import (
	"slices"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// checkClaims checks every claim in the journal against its attempt, and against the case, the ask and the lease that were
// open when it was made.
func (f *Fold) checkClaims(r *refund.Record, contracts func(string, int) (refund.Contract, bool)) {
	inCase, ask := false, 0
	last := -1 // row of the last claim since which no state has changed
	for i := range f.rows {
		row := &f.rows[i]
		if !row.claim() {
			if row.Seq > 1 {
				inCase = slices.ContainsFunc(row.Case, refund.CaseReason.StopsSends)
				ask = f.askAfter(r, row, ask, contracts)
			}
			if row.From != row.To {
				last = -1
			}
			continue
		}
		f.checkClaim(r, row)
		if row.Call == refund.AttemptSend && inCase {
			f.a.report("P10", "send-under-case", "seq %d claims a send while a case that stops sends is open", row.Seq)
		}
		if row.Call == refund.AttemptSend && ask != 0 {
			f.a.report("P10", "send-before-answer", "seq %d claims a send, dispatch %d was not asked about since its resend was decided", row.Seq, ask)
		}
		if last >= 0 {
			f.checkOwner(r, &f.rows[last], row)
		}
		last = i
	}
	if ask != 0 && r.AskNo != ask || ask == 0 && r.AskNo != 0 && !f.asks(r.AskNo) {
		f.a.report("P8", "ask-differs", "the refund waits for an answer about dispatch %d, the journal for one about %d", r.AskNo, ask)
	}
}

// askAfter returns the dispatch that must be asked about after the row, 0 = none. Where a contract of the refund has no
// question, it is not known whether the decision opened an ask.
func (f *Fold) askAfter(r *refund.Record, row *journalRow, ask int, contracts func(string, int) (refund.Contract, bool)) int {
	m := f.moveOf(row)
	switch {
	case row.To != refund.StatePending || m.ClosesAsk:
		return 0
	case !m.OpensAsk:
		return ask
	}
	for _, a := range r.Attempts {
		if c, ok := contracts(r.Account, a.ContractVersion); !ok || !(c.Query.Automatic() || c.List.Exists) {
			return 0
		}
	}
	if len(r.Attempts) == 0 {
		return 0
	}
	return row.Dispatch
}

// asks reports whether a decided resend may have opened an ask about the dispatch.
func (f *Fold) asks(no int) bool {
	return slices.ContainsFunc(f.rows, func(row journalRow) bool { return f.moveOf(&row).OpensAsk && row.Dispatch == no })
}

// checkClaim checks that the claim has the attempt that it reports, from the same time on.
func (f *Fold) checkClaim(r *refund.Record, row *journalRow) {
	send := row.Call == refund.AttemptSend
	if send != (row.Kind == kindClaimSend) || row.From == refund.StateProcessing || send && row.From.Final() {
		f.a.report("P10", "claim-in-state", "seq %d claims a %s in %s", row.Seq, row.Call, row.From)
	}
	made := func(a refund.Attempt) bool {
		return a.Generation == row.Generation && a.Kind == row.Call && a.DispatchNo == row.Dispatch && a.ContractVersion == row.Contract && a.StartedAt.Equal(row.At)
	}
	if !slices.ContainsFunc(r.Attempts, made) {
		f.a.report("P10", "claim-differs", "seq %d claims a %s of dispatch %d under contract %d at %s, no attempt is like it", row.Seq, row.Call, row.Dispatch,
			row.Contract, stamp(row.At))
	}
}

// checkOwner checks that the owner before had answered, or could not act any more, when the next claim was made. An attempt's
// last moment lies within its lease.
func (f *Fold) checkOwner(r *refund.Record, before, next *journalRow) {
	for _, a := range r.Attempts {
		if a.Generation == before.Generation && a.StartedAt.Equal(before.At) && (a.AnsweredAt.IsZero() || a.AnsweredAt.After(next.At)) && next.At.Before(a.NotAfter) {
			f.a.report("P10", "claim-within-lease", "seq %d claims while attempt %d is not answered and may still act", next.Seq, a.No)
		}
	}
}

// CheckDecisionTimes checks that no decision took effect before the last moment of every earlier send and the horizon: the
// shortest one of the account's contracts, because a decision follows the contract of its day.
func (f *Fold) CheckDecisionTimes(r *refund.Record, horizon time.Duration) {
	for i := range f.rows {
		row := &f.rows[i]
		if row.Source != sourceDecision {
			continue
		}
		for _, a := range r.Attempts {
			if a.Kind == refund.AttemptSend && a.StartedAt.Before(row.At) && row.At.Before(a.NotAfter.Add(horizon)) {
				f.a.report("P8", "decision-too-early", "seq %d decides while attempt %d may still be carried out", row.Seq, a.No)
			}
		}
	}
}
