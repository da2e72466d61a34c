package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

func givenVersion(v int64) func(*intake.PaymentSpec) {
	return func(s *intake.PaymentSpec) { s.Version, s.VersionGiven = v, true }
}

func givenElsewhere(n int64) func(*intake.PaymentSpec) {
	return func(s *intake.PaymentSpec) { s.RefundedElsewhere, s.ElsewhereGiven = n, true }
}

// Captures cannot carry a version or what was refunded elsewhere. A snapshot of such a payment that gives one of them is a conflict that
// names it; nothing is ignored.
func TestASnapshotOfAPaymentKnownByCapturesIgnoresNoField(t *testing.T) {
	b := newTestStore(t)
	wantVerdicts(t, b.accept(t, b.captured("c1", "pay_1", "cap_1", 1000)), intake.Taken)
	for name, c := range map[string]struct {
		give func(*intake.PaymentSpec)
		want []string
	}{
		"refunded elsewhere": {givenElsewhere(600), []string{"refundedElsewhere"}},
		"a version":          {givenVersion(3), []string{"version"}},
		"both as stored":     {func(s *intake.PaymentSpec) { givenElsewhere(0)(s); givenVersion(0)(s) }, nil},
		"neither":            {func(*intake.PaymentSpec) {}, nil},
	} {
		p, _, err := b.PutPayment(t.Context(), b.tenant, "pay_1", with(*inlinePayment(1000), c.give), "actor:test")
		var problem *refund.Problem
		errors.As(err, &problem)
		switch {
		case c.want == nil && (err != nil || p.Refundable() != 1000):
			t.Errorf("%s: %v, refundable %d, want a no-op", name, err, p.Refundable())
		case c.want != nil && (problem == nil || problem.Code != refund.CodePaymentConflict || !slices.Equal(problem.Fields, c.want)):
			t.Errorf("%s: %v, want a conflict that names %v", name, err, c.want)
		}
	}
}

// An inline payment of a known payment is compared in every field that it gives.
func TestAnInlinePaymentIsComparedInEveryFieldThatItGives(t *testing.T) {
	b := newTestStore(t)
	stored := with(*inlinePayment(1000), func(s *intake.PaymentSpec) { givenElsewhere(100)(s); givenVersion(2)(s) })
	if _, _, err := b.PutPayment(t.Context(), b.tenant, "pay_1", stored, "actor:test"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		give func(*intake.PaymentSpec)
		want []string
	}{
		"refunded elsewhere differs":    {givenElsewhere(600), []string{"payment.refundedElsewhere"}},
		"nothing refunded elsewhere":    {givenElsewhere(0), []string{"payment.refundedElsewhere"}},
		"a newer version":               {givenVersion(3), []string{"payment.version"}},
		"as stored":                     {func(s *intake.PaymentSpec) { *s = stored }, nil},
		"neither":                       {func(*intake.PaymentSpec) {}, nil},
		"an older version, old values":  {func(s *intake.PaymentSpec) { givenVersion(1)(s); s.Amount = 800 }, nil},
		"an older version, other order": {func(s *intake.PaymentSpec) { givenVersion(1)(s); s.OrderID = "ord_2" }, []string{"payment.orderId"}},
	} {
		spec := with(*inlinePayment(1000), c.give)
		id := strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", "")
		out := b.accept(t, b.request(id, id, "pay_1", 1, &spec))[0]
		switch {
		case c.want == nil && out.Verdict != intake.Taken:
			t.Errorf("%s: %s %v, want TAKEN", name, out.Verdict, out.Fields)
		case c.want != nil && (out.Verdict != intake.Conflict || !slices.Equal(out.Fields, c.want)):
			t.Errorf("%s: %s %v, want a conflict in %v", name, out.Verdict, out.Fields, c.want)
		}
	}
	b.wantNoViolations(t)
}
