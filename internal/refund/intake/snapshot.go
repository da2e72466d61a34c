package intake

import "github.com/refundry/refundry/internal/refund"

// ApplySnapshot returns the payment after a caller's snapshot. The result equals p when nothing changes. Errors: *Problem
// with CodePaymentConflict, CodeBelowRefunded or CodeNotExpressible.
func ApplySnapshot(p refund.Payment, t refund.Tenant, s PaymentSpec) (refund.Payment, error) {
	diff := s.Differs(t, p)
	if p.KnownBy == refund.BySnapshot {
		diff = without(diff, "amount")
	} else {
		diff = append(diff, s.differsInSnapshot(p)...) // captures carry neither, so nothing could store them
	}
	switch {
	case len(diff) > 0:
		return p, &refund.Problem{Code: refund.CodePaymentConflict, Fields: diff}
	case p.KnownBy != refund.BySnapshot:
		return p.WithPaidAt(s.PaidAt), nil // the sum agrees
	}
	next := p
	next.Captured, next.RefundedElsewhere, next.Version = s.Amount, s.RefundedElsewhere, s.Version
	switch {
	case s.Version < p.Version:
		return p, nil
	case s.Version == p.Version && next == p:
		return p.WithPaidAt(s.PaidAt), nil
	case s.Version == p.Version:
		return p, &refund.Problem{Code: refund.CodePaymentConflict, Fields: snapshotDiff(p, s)}
	case next.Captured < p.Reserved+p.Refunded+s.RefundedElsewhere+p.Held && next.Captured-s.RefundedElsewhere < p.Captured-p.RefundedElsewhere:
		return p, &refund.Problem{Code: refund.CodeBelowRefunded, Fields: snapshotDiff(p, s)}
	}
	return next.WithExcess().WithPaidAt(s.PaidAt), nil
}

func snapshotDiff(p refund.Payment, s PaymentSpec) []string {
	var out []string
	if s.Amount != p.Captured {
		out = append(out, "amount")
	}
	if s.RefundedElsewhere != p.RefundedElsewhere {
		out = append(out, "refundedElsewhere")
	}
	return out
}

func without(list []string, s string) []string {
	var out []string
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}
