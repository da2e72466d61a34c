package audit

import (
	"slices"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// checkRow compares times, failure and case of the refund's row with the journal.
func (f *Fold) checkRow(r *refund.Record) {
	if len(f.rows) == 0 {
		return
	}
	since, entered := f.rows[0].At, &f.rows[0]
	var final time.Time
	var reasons []refund.CaseReason
	for i := range f.rows {
		row := &f.rows[i]
		if row.From != row.To {
			since, entered = row.At, row
			if row.To.Final() {
				final = row.At
			}
		}
		if f.moveOf(row).OpensAsk {
			since = row.At
		}
		if row.Rule != "" {
			reasons = row.Case
		}
	}
	// A state that counts as older than it is only brings its deadline forward; a younger one would put it off.
	if !r.CreatedAt.Equal(f.rows[0].At) || r.StateSince.After(since) || !r.FinalAt.Equal(final) {
		f.a.report("P7", "times-fold", "made %s, in its state since %s, final at %q; the journal says %s, %s, %q", stamp(r.CreatedAt), stamp(r.StateSince),
			stampOrNever(r.FinalAt), stamp(f.rows[0].At), stamp(since), stampOrNever(final))
	}
	if want := r.Currency.Exponent(); r.Exponent != want && want >= 0 {
		f.a.report("P6", "exponent", "amounts have %d decimals, %s has %d", r.Exponent, r.Currency, want)
	}
	f.checkFailure(r, entered)
	var stored []refund.CaseReason
	if r.Case != nil {
		stored = r.Case.Reasons
	}
	if !slices.Equal(stored, reasons) {
		f.a.report("P8", "case-differs", "the open case has the reasons %v, the journal reports %v", stored, reasons)
	}
}

// checkFailure compares the failure with the row that entered FAILED.
func (f *Fold) checkFailure(r *refund.Record, entered *journalRow) {
	if r.State != refund.StateFailed {
		return
	}
	decided := entered.Kind == string(refund.ConfirmedNotDone)
	ended := f.reported(entered) == refund.JournalKind(refund.FailedFinal)
	code := r.Failure.Code
	known := code == "channel-failed" || !ended && (code == "channel-refused" || code == "channel-refused-duplicate")
	if decided {
		known = code == "decided-not-done"
	}
	told := r.Failure.ChannelCode == "" || r.Failure.ChannelCode == entered.code || // else that of the answer that decided it
		slices.ContainsFunc(f.rows, func(row journalRow) bool { return row.code == r.Failure.ChannelCode }) ||
		slices.ContainsFunc(r.Attempts, func(a refund.Attempt) bool { return a.Code == r.Failure.ChannelCode })
	if !known || !told {
		f.a.report("P8", "failure-differs", "FAILED with %q and %q, the journal reports %s with %q", code, r.Failure.ChannelCode, entered.Kind, entered.code)
	}
}
