package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// event is a refund request that came by a bridge: it has a place to be parked in.
func (b *testStore) event(id, refundID, payment string, amount int64, inline *intake.PaymentSpec) intake.Intake {
	in := b.request(id, refundID, payment, amount, inline)
	in.Event.Consumer, in.Event.Source = "orders", "shop"
	in.Park = &intake.Park{Position: "orders/" + id, Headers: map[string][]string{"ce-id": {id}}, Body: []byte(`{"id":"` + id + `"}`)}
	return in
}

func (b *testStore) captured(id, payment, captureID string, amount int64) intake.Intake {
	return intake.Intake{Tenant: b.tenant, Event: intake.EventID{Consumer: "orders", Source: "shop", ID: id}, Type: intake.TypePaymentCaptured,
		Capture: &intake.Capture{PaymentID: payment, CaptureID: captureID, OrderID: "ord_1", Amount: amount, Currency: "USD", Account: "demo"},
		Actor:   "system:orders", Transport: "t", RID: pg.NewRID(), Park: &intake.Park{Position: "orders/" + id, Body: []byte("{}")}}
}

func (b *testStore) text(t *testing.T, sql string, args ...any) string {
	t.Helper()
	var s *string
	if err := b.pool.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return pg.Deref(s)
}

func TestAcceptCases(t *testing.T) {
	t.Run("two of 60 on a payment of 100, over REST and as an event", func(t *testing.T) { // C1
		b := newTestStore(t)
		out := b.accept(t, b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100)), b.event("m1", "rf_2", "pay_1", 60, nil))
		wantVerdicts(t, out, intake.Taken, intake.Refused)
		if n := b.count(t, `SELECT reserved FROM payments`); n != 60 {
			t.Errorf("reserved %d, want 60", n)
		}
		b.wantNoViolations(t)
	})
	t.Run("one click, two requests with two keys", func(t *testing.T) { // C12
		b := newTestStore(t)
		first := b.accept(t, b.request("key-1", "rf_1", "pay_1", 60, inlinePayment(100)))
		second := b.accept(t, b.request("key-2", "rf_1", "pay_1", 60, inlinePayment(100)))
		wantVerdicts(t, second, intake.Replayed)
		if second[0].Cause != intake.CauseRefund || second[0].Refund.RID != first[0].Refund.RID {
			t.Errorf("the second answer is not the first's refund: %+v", second[0])
		}
		if n := b.count(t, `SELECT count(*) FROM refunds`); n != 1 {
			t.Errorf("%d refunds, want 1", n)
		}
	})
	t.Run("a second partial refund of the same payment is another refund", func(t *testing.T) { // C15
		b := newTestStore(t)
		out := b.accept(t, b.request("e1", "rf_1", "pay_1", 40, inlinePayment(100)), b.request("e2", "rf_2", "pay_1", 40, nil))
		wantVerdicts(t, out, intake.Taken, intake.Taken)
		wantVerdicts(t, b.accept(t, b.request("e3", "rf_3", "pay_1", 20, nil)), intake.Taken)
		if n := b.count(t, `SELECT reserved FROM payments`); n != 100 {
			t.Errorf("reserved %d, want 100", n)
		}
		b.wantNoViolations(t)
	})
	t.Run("an open refund's amount cannot be used again", func(t *testing.T) { // C17
		b := newTestStore(t)
		b.accept(t, b.request("e1", "rf_1", "pay_1", 100, inlinePayment(100)))
		out := b.accept(t, b.request("e2", "rf_2", "pay_1", 1, nil))
		wantVerdicts(t, out, intake.Refused)
		if out[0].Code != refund.CodeAmountExceeds {
			t.Errorf("%s, want %s", out[0].Code, refund.CodeAmountExceeds)
		}
	})
}

func TestAcceptCasesOfRefusals(t *testing.T) {
	t.Run("the evidence of a conflict commits although the write is refused", func(t *testing.T) { // C18
		b := newTestStore(t)
		b.accept(t, b.event("m1", "rf_1", "pay_1", 60, inlinePayment(100)))
		again := b.event("m1", "rf_1", "pay_1", 61, inlinePayment(100))
		for range 2 {
			out := b.accept(t, again)
			wantVerdicts(t, out, intake.Conflict)
			if out[0].Code != refund.CodeKeyReused || !slices.Equal(out[0].Fields, []string{"amount"}) {
				t.Errorf("%s %v, want %s about the amount", out[0].Code, out[0].Fields, refund.CodeKeyReused)
			}
		}
		if got := b.text(t, `SELECT concat_ws(' ', kind, times, got->>'amount', fields::text) FROM conflicts`); got != "EVENT_PARAMS 2 61 {amount}" {
			t.Errorf("conflict %q", got)
		}
		if got := b.text(t, `SELECT concat_ws(' ', amount, (SELECT reserved FROM payments)) FROM refunds`); got != "60 60" {
			t.Errorf("refund and reservation %q, want 60 60", got)
		}
	})
	t.Run("nothing is written for an amount that cannot be sent", func(t *testing.T) { // C22
		b := newTestStore(t)
		in := b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100))
		in.Refund.Payment.RefundedElsewhere = 101 // more than was captured
		wantVerdicts(t, b.accept(t, in), intake.Refused)
		if n := b.count(t, `SELECT (SELECT count(*) FROM refunds) + (SELECT count(*) FROM payments) + (SELECT count(*) FROM refund_keys)`); n != 0 {
			t.Errorf("%d rows of a refused refund", n)
		}
	})
	t.Run("a refusal and its parked bytes are one transaction", func(t *testing.T) { // C31
		b := newTestStore(t)
		b.accept(t, b.event("m1", "rf_1", "pay_1", 60, inlinePayment(100)))
		out := b.accept(t, b.event("m2", "rf_2", "pay_1", 60, nil))
		wantVerdicts(t, out, intake.Refused)
		if got := b.text(t, `SELECT concat_ws(' ', x.xmin = k.xmin, x.outcome, k.reason, convert_from(k.body, 'UTF8')) FROM receipts x JOIN parked k USING (tenant_id, event_id) WHERE event_id = 'm2'`); got != `t REFUSED amount-exceeds-refundable {"id":"m2"}` {
			t.Errorf("receipt and parked row: %q", got)
		}
		again := b.accept(t, b.event("m2", "rf_2", "pay_1", 60, nil))
		if again[0].Verdict != intake.Refused || !again[0].Replayed || b.count(t, `SELECT count(*) FROM parked`) != 1 {
			t.Errorf("redelivery: %+v", again[0])
		}
	})
	t.Run("a refusal and a conflict stay what they were", func(t *testing.T) { // C32
		b := newTestStore(t)
		b.accept(t, b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100)))
		refusedIn, conflictIn := b.request("e2", "rf_2", "pay_1", 60, nil), b.request("e3", "rf_1", "pay_1", 50, nil)
		first := b.accept(t, refusedIn, conflictIn)
		wantVerdicts(t, first, intake.Refused, intake.Conflict)
		if _, _, err := b.PutPayment(t.Context(), b.tenant, "pay_1", intake.PaymentSpec{OrderID: "ord_1", Amount: 1000, Currency: "USD", Account: "demo",
			Version: 1}, "actor:test"); err != nil {
			t.Fatal(err)
		}
		for i, o := range b.accept(t, refusedIn, conflictIn) { // now there would be enough
			if o.Verdict != first[i].Verdict || o.Code != first[i].Code || !slices.Equal(o.Fields, first[i].Fields) || !o.Replayed || first[i].Replayed {
				t.Errorf("repeated: %+v, first: %+v", o, first[i])
			}
		}
		wantVerdicts(t, b.accept(t, b.request("e4", "rf_2", "pay_1", 60, nil)), intake.Taken) // a new event may try again
	})
}

func TestTenantsDoNotMeet(t *testing.T) {
	b := newTestStore(t)
	two := b.addTenant(t, "two")
	mine := b.request("e1", "rf_17", "pay_1", 60, inlinePayment(100))
	theirs := b.request("e1", "rf_17", "pay_1", 70, inlinePayment(100))
	theirs.Tenant = two
	wantVerdicts(t, b.accept(t, mine, theirs), intake.Taken, intake.Taken)
	if n := b.count(t, `SELECT count(DISTINCT number) FROM dispatches`); n != 2 { // C29
		t.Errorf("%d dispatch numbers for two tenants, want 2", n)
	}
	shut := b.request("e2", "rf_18", "pay_1", 1, nil)
	shut.Tenant.Closed = true
	known := b.request("e3", "rf_17", "pay_1", 60, nil)
	known.Tenant.Closed = true
	out := b.accept(t, shut, known)
	wantVerdicts(t, out, intake.Refused, intake.Replayed)
	if out[0].Code != refund.CodeTenantClosed || b.count(t, `SELECT count(*) FROM receipts WHERE event_id = 'e2'`) != 0 {
		t.Errorf("a closed tenant's request binds nothing: %+v", out[0])
	}
}
