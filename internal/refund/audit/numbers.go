package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// checkReported compares what the numbers store with what the journal reports about them.
func (f *Fold) checkReported(r *refund.Record, contracts func(string, int) (refund.Contract, bool)) {
	for i := range r.Dispatches {
		d := &r.Dispatches[i]
		f.checkEnds(r, d)
		f.checkOverride(r, d)
		f.checkTerms(r, d, contracts)
	}
}

// about reports whether a row is the channel's word about the number.
func (f *Fold) about(row *journalRow, no int) bool {
	return row.Seq > 1 && row.Dispatch == no && row.Source != sourceDecision && !row.claim() && row.Rule != ""
}

// checkEnds compares acknowledgement, final negative status and channel refund id.
func (f *Fold) checkEnds(r *refund.Record, d *refund.Dispatch) {
	var negative time.Time
	acknowledged, named := false, d.ChannelRefundID == ""
	for i := range f.rows {
		row := &f.rows[i]
		if !f.about(row, d.Ordinal) {
			continue
		}
		switch f.reported(row) {
		case refund.JournalKind(refund.FailedFinal):
			if negative.IsZero() {
				negative = row.At
			}
		case refund.JournalKind(refund.Acknowledged), refund.JournalKind(refund.Reversed):
			acknowledged = true
		}
		named = named || row.ChannelRefundID == d.ChannelRefundID
	}
	for i := range r.Effects {
		named = named || r.Effects[i].ChannelRefundID == d.ChannelRefundID
	}
	if !negative.Equal(d.FinalNegativeAt) {
		f.a.report("P8", "number-differs", "dispatch %d has ended negatively at %q, the journal reports %q", d.Ordinal, stampOrNever(d.FinalNegativeAt), stampOrNever(negative))
	}
	if acknowledged && !d.Acknowledged && d.ChannelRefundID == "" {
		f.a.report("P8", "number-differs", "dispatch %d is stored as not acknowledged, the journal reports an acknowledgement", d.Ordinal)
	}
	if !named {
		f.a.report("P8", "number-differs", "dispatch %d has the channel refund id %q, which the journal does not report", d.Ordinal, d.ChannelRefundID)
	}
}

// overrides are the decisions that close the number that they are about. Accepting an open refund as it is (ruleNotOurs) closes none.
var overrides = []refund.FactKind{refund.DecidedResend, refund.ConfirmedNotDone, refund.AcceptedAsIs}

const ruleNotOurs = "decided/not-ours"

// checkOverride checks that a number that a decision has closed is stored so, unless the channel acknowledged it later or an
// effect of it is booked.
func (f *Fold) checkOverride(r *refund.Record, d *refund.Dispatch) {
	overridden := false
	for i := range f.rows {
		row := &f.rows[i]
		overridden = overridden || row.Source == sourceDecision && row.Dispatch == d.Ordinal && strings.HasPrefix(row.Rule, "decided/") &&
			row.Rule != ruleNotOurs && slices.Contains(overrides, refund.FactKind(row.Kind))
	}
	ofNumber := func(e refund.Effect) bool { return e.Ours && e.DispatchNo == d.Ordinal }
	if overridden && !d.Overridden && !d.Acknowledged && d.MarkedEpoch == 0 && !slices.ContainsFunc(r.Effects, ofNumber) {
		f.a.report("P8", "override-missing", "a decision overrides dispatch %d, which is stored as not overridden", d.Ordinal)
	}
}

// checkTerms recomputes when the key expires and from when an absence counts: from the sends and the contracts that they
// relied on. An epoch's mark brings the expiry forward.
func (f *Fold) checkTerms(r *refund.Record, d *refund.Dispatch, contracts func(string, int) (refund.Contract, bool)) {
	var first, expires, absence time.Time
	for _, a := range r.Attempts {
		if a.Kind != refund.AttemptSend || a.DispatchNo != d.Ordinal {
			continue
		}
		c, _ := contracts(r.Account, a.ContractVersion)
		if first.IsZero() {
			first = a.StartedAt
		}
		if end := first.Add(c.Key.Lifetime.D()); c.Key.Lifetime > 0 && (expires.IsZero() || end.Before(expires)) {
			expires = end
		}
		lag := c.List.VisibilityLag.D()
		if c.Query.Automatic() {
			lag = c.Query.VisibilityLag.D()
		}
		if from := a.NotAfter.Add(c.Horizon.D() + lag); from.After(absence) {
			absence = from
		}
	}
	if differ(absence, d.AbsenceCountsFrom) {
		f.a.report("P8", "number-differs", "absences of dispatch %d count from %q, its sends say %q", d.Ordinal, stampOrNever(d.AbsenceCountsFrom), stampOrNever(absence))
	}
	if later := d.KeyExpiresAt.After(expires) || d.KeyExpiresAt.IsZero() != expires.IsZero(); d.MarkedEpoch == 0 && differ(expires, d.KeyExpiresAt) ||
		d.MarkedEpoch > 0 && !expires.IsZero() && later && differ(expires, d.KeyExpiresAt) {
		f.a.report("P8", "number-differs", "the key of dispatch %d expires at %q, its sends say %q", d.Ordinal, stampOrNever(d.KeyExpiresAt), stampOrNever(expires))
	}
}

// differ reports whether two times differ by more than the database's rounding.
func differ(a, b time.Time) bool {
	return a.IsZero() != b.IsZero() || a.Sub(b).Abs() > time.Millisecond
}
