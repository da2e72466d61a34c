package intake_test

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// An identity that was computed in advance is the one that would be computed later, and is not computed again.
func TestComputedIdentityIsTheSame(t *testing.T) {
	t.Parallel()
	paidAt := time.Date(2026, 2, 1, 12, 0, 0, 5000, time.UTC)
	params := refund.Params{RefundID: "rf_1", OrderID: "ord_1", PaymentID: "pay_1", Amount: 1250, Currency: "USD"}
	payment := intake.PaymentSpec{OrderID: "ord_1", Amount: 5000, Currency: "USD", Account: "demo", Version: 2, PaidAt: paidAt}
	for _, in := range []intake.Intake{
		{Refund: &intake.Request{Params: params, Reason: "damaged"}},
		{Refund: &intake.Request{Params: params, Payment: &payment}},
		{Capture: &intake.Capture{PaymentID: "pay_1", CaptureID: "cap_1", OrderID: "ord_1", Amount: 5000, Currency: "USD", Account: "demo", PaidAt: paidAt}},
	} {
		digest, canonical := in.Digest(), in.CanonicalParams()
		if in.Refund != nil {
			in.Refund.ComputeIdentity()
			in.Refund.Amount++ // shows whether anything is computed again
		} else {
			in.Capture.ComputeIdentity()
			in.Capture.Amount++
		}
		if in.Digest() != digest || in.CanonicalParams() != canonical {
			t.Errorf("identity is %s %s once computed, want %s %s", in.Digest(), in.CanonicalParams(), digest, canonical)
		}
	}
}
