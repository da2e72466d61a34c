package intake

import (
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refundtest"
)

const window = 180 * 24 * time.Hour

// viewOfPayment returns a group's view of one locked payment whose account refunds for 180 days.
func viewOfPayment(pay refund.Payment) View {
	account := func(string, refund.TenantID) (refund.Contract, bool, bool) {
		c := refundtest.Contract()
		c.Limits.Window = refund.Duration(window)
		return c, true, true
	}
	v := View{Now: acceptTime, Epoch: 1, Receipts: map[EventRef]Receipt{}, Refunds: map[RefundKey]refund.Refund{}, Payments: map[PaymentRef]SeenPayment{},
		References: map[ReferenceRef]PaymentRef{}, Captures: map[CaptureRef]int64{}, Waiters: map[PaymentRef]bool{}, Account: account}
	if pay.PaymentID != "" {
		v.Payments[PaymentRef{1, pay.PaymentID}] = SeenPayment{Payment: pay, Locked: true}
	}
	return v
}

func requestPaidAt(n byte, paidAt time.Time) Intake {
	return Intake{Tenant: refund.Tenant{ID: 1, Code: "t"}, Event: EventID{"c", "s", string('a' + rune(n))}, Type: TypeRefundRequested, RID: refund.RID{n},
		Refund: &Request{Params: refund.Params{RefundID: string('a' + rune(n)), OrderID: "o", PaymentID: "p", Amount: 10, Currency: "USD"},
			Payment: &PaymentSpec{OrderID: "o", Amount: 100, Currency: "USD", Account: "a", PaidAt: paidAt}}}
}

func decideAll(v View, g ...Intake) Plan {
	v.Got = make([]bool, len(g))
	for i := range v.Got {
		v.Got[i] = true
	}
	return DecideGroup(v, g)
}

// The window starts at the time of payment where it is known, else when the payment became known.
func TestWindowRunsFromPaidAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paidAt time.Time
		ends   time.Time
		code   refund.Code
	}{
		"not given":            {time.Time{}, acceptTime.Add(window), ""},
		"paid a week ago":      {acceptTime.Add(-7 * 24 * time.Hour), acceptTime.Add(window - 7*24*time.Hour), ""},
		"paid half a year":     {acceptTime.Add(-window), time.Time{}, refund.CodeWindowClosed},
		"clock slightly ahead": {acceptTime.Add(time.Minute), acceptTime.Add(window + time.Minute), ""},
	} {
		plan := decideAll(viewOfPayment(refund.Payment{}), requestPaidAt(1, c.paidAt))
		switch got := plan.Outcomes[0]; {
		case got.Code != c.code:
			t.Errorf("%s: %+v, want code %q", name, got, c.code)
		case c.code == "" && (len(plan.Payments) != 1 || !plan.Payments[0].WindowEndsAt.Equal(c.ends) || !plan.Payments[0].PaidAt.Equal(c.paidAt) ||
			len(plan.Paid) != 0):
			t.Errorf("%s: %+v, paid %+v, want a window until %s", name, plan.Payments, plan.Paid, c.ends)
		}
	}
}

// The time of payment of a known payment is set once: by a refund that is accepted, a capture, or a snapshot.
func TestPaidAtIsSetOnce(t *testing.T) {
	t.Parallel()
	known := refund.Payment{Tenant: 1, PaymentID: "p", OrderID: "o", Account: "a", Reference: "t:p", Currency: "USD", Exponent: 2,
		KnownBy: refund.BySnapshot, Captured: 100,
		CreatedAt: acceptTime.Add(-24 * time.Hour), WindowEndsAt: acceptTime.Add(window - 24*time.Hour)}
	paid := acceptTime.Add(-3 * 24 * time.Hour)
	plan := decideAll(viewOfPayment(known), requestPaidAt(1, paid), requestPaidAt(2, paid), requestPaidAt(3, time.Time{}), requestPaidAt(4, paid.Add(1000)))
	for i, want := range []Verdict{Taken, Taken, Taken, Conflict} {
		if plan.Outcomes[i].Verdict != want {
			t.Errorf("request %d: %+v, want %s", i, plan.Outcomes[i], want)
		}
	}
	if f := plan.Outcomes[3].Fields; !slices.Equal(f, []string{"payment.paidAt"}) {
		t.Errorf("the conflict names %v", f)
	}
	if len(plan.Paid) != 1 || !plan.Paid[0].PaidAt.Equal(paid) || !plan.Paid[0].WindowEndsAt.Equal(paid.Add(window)) || len(plan.Touched) != 1 {
		t.Errorf("paid %+v, touched %+v", plan.Paid, plan.Touched)
	}

	late := requestPaidAt(5, acceptTime.Add(-window))
	if plan = decideAll(viewOfPayment(known), late); plan.Outcomes[0].Code != refund.CodeWindowClosed || len(plan.Paid) != 0 {
		t.Errorf("a refused refund changed the payment: %+v %+v", plan.Outcomes[0], plan.Paid)
	}

	known.KnownBy = refund.ByCaptures
	capture := func(n byte, id string, at time.Time) Intake {
		return Intake{Tenant: refund.Tenant{ID: 1, Code: "t"}, Event: EventID{"c", "s", string('a' + rune(n))}, Type: TypePaymentCaptured,
			Capture: &Capture{PaymentID: "p", CaptureID: id, OrderID: "o", Amount: 5, Currency: "USD", Account: "a", PaidAt: at}}
	}
	plan = decideAll(viewOfPayment(known), capture(1, "c1", time.Time{}), capture(2, "c1", paid), capture(3, "c2", paid), capture(4, "c3", paid.Add(1000)))
	for i, want := range []Verdict{Taken, Replayed, Taken, Conflict} {
		if plan.Outcomes[i].Verdict != want {
			t.Errorf("capture %d: %+v, want %s", i, plan.Outcomes[i], want)
		}
	}
	if len(plan.Paid) != 1 || plan.Paid[0].Captured != 110 || !slices.Equal(plan.Outcomes[3].Fields, []string{"paidAt"}) {
		t.Errorf("paid %+v, fields %v", plan.Paid, plan.Outcomes[3].Fields)
	}
}

// A repeat under the same key may omit the time or repeat it; another time is a conflict.
func TestPaidAtInRepeats(t *testing.T) {
	t.Parallel()
	paid := acceptTime.Add(-24 * time.Hour)
	first := requestPaidAt(1, paid)
	if first.Digest() != requestPaidAt(1, time.Time{}).Digest() {
		t.Error("the time of payment is part of the digest")
	}
	for name, c := range map[string]struct {
		again time.Time
		want  Verdict
	}{"again": {paid, Replayed}, "left out": {time.Time{}, Replayed}, "another": {paid.Add(time.Second), Conflict}} {
		repeat := requestPaidAt(1, c.again)
		repeat.RID = refund.RID{9}
		plan := decideAll(viewOfPayment(refund.Payment{}), first, repeat)
		if got := plan.Outcomes[1]; got.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}
