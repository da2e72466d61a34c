package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// paidOf returns the stored time of payment and the end of its window.
func (b *testStore) paidOf(t *testing.T, payment string) (paid, ends time.Time) {
	t.Helper()
	v, err := b.reader().FindPayment(t.Context(), b.tenant.ID, payment)
	if err != nil {
		t.Fatal(err)
	}
	return v.Payment.PaidAt.UTC(), v.Payment.WindowEndsAt.UTC()
}

// The time of payment is stored once, by each of the three ways, also after the payment became known. The window follows it.
func TestPaidAtIsStored(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	contract := testContract()
	contract.Limits.Window = refund.Duration(30 * 24 * time.Hour)
	b.cfg.Accounts = anyAccount{contract}
	paid := time.Now().UTC().Truncate(time.Microsecond).Add(-48*time.Hour - time.Microsecond)
	at := func(s *intake.PaymentSpec) { s.PaidAt = paid }
	inline := with(*inlinePayment(100), at)
	capture := func(id, captureID, payment string, at time.Time) intake.Intake {
		c := b.captured(id, payment, captureID, 40)
		c.Capture.PaidAt = at
		return c
	}
	put := func(payment string, s intake.PaymentSpec) error {
		_, _, err := b.PutPayment(t.Context(), b.tenant, payment, s, "actor:test")
		return err
	}
	for name, store := range map[string]func(payment string){
		"put":       func(p string) { must(t, put(p, with(snapshot(1, 100, 0), at))) },
		"put again": func(p string) { must(t, put(p, snapshot(1, 100, 0))); must(t, put(p, with(snapshot(1, 100, 0), at))) },
		"put newer": func(p string) { must(t, put(p, snapshot(1, 100, 0))); must(t, put(p, with(snapshot(2, 90, 0), at))) },
		"inline":    func(p string) { wantVerdicts(t, b.accept(t, b.request("e1"+p, "a"+p, p, 5, &inline)), intake.Taken) },
		"inline, known": func(p string) {
			must(t, put(p, snapshot(1, 100, 0)))
			wantVerdicts(t, b.accept(t, b.request("e1"+p, "a"+p, p, 5, &inline)), intake.Taken)
		},
		"captured": func(p string) { wantVerdicts(t, b.accept(t, capture("c1"+p, "c1", p, paid)), intake.Taken) },
		"captured, second": func(p string) {
			wantVerdicts(t, b.accept(t, capture("c1"+p, "c1", p, time.Time{}), capture("c2"+p, "c2", p, paid)), intake.Taken, intake.Taken)
		},
		"captured, put": func(p string) {
			wantVerdicts(t, b.accept(t, capture("c1"+p, "c1", p, time.Time{})), intake.Taken)
			must(t, put(p, with(snapshot(0, 40, 0), at)))
		},
	} {
		payment := "pay_" + string(name[0]) + name[len(name)-3:]
		store(payment)
		if got, ends := b.paidOf(t, payment); !got.Equal(paid) || !ends.Equal(paid.Add(contract.Limits.Window.D())) {
			t.Errorf("%s: paid %s, window until %s, want %s and 30 days later", name, got, ends, paid)
		}
		other := with(snapshot(9, 100, 0), func(s *intake.PaymentSpec) { s.PaidAt = paid.Add(time.Microsecond) })
		var problem *refund.Problem
		if err := put(payment, other); !errors.As(err, &problem) || problem.Code != refund.CodePaymentConflict || !slices.Contains(problem.Fields, "paidAt") {
			t.Errorf("%s: another time gave %v", name, err)
		}
	}
	_, err := b.pool.Exec(t.Context(), `UPDATE payments SET paid_at = now()`)
	if code, name := pg.Constraint(err); code != "23514" || name != "payments_append_only" {
		t.Errorf("the database took another time of paying: %v", err)
	}
	b.wantNoViolations(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A voucher of the channel is stored and shown with its effect; a faulty voucher does not refuse the success.
func TestVouchersAreStored(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	fact := succeeded(f.claim(t, k, refund.AttemptSend, 10*time.Second), "ch_1")
	fact.Voucher = map[string]string{"arn": "74537604221222132710572", "bad\x00": "\xff"}
	f.enter(t, k, fact)
	tl, err := f.reader().Timeline(t.Context(), k.Tenant, "rf_0")
	if err != nil || len(tl.Effects) != 1 || tl.Effects[0].Voucher != `{"arn": "74537604221222132710572"}` {
		t.Errorf("%+v %v", tl.Effects, err)
	}
	v, err := f.reader().FindPayment(t.Context(), k.Tenant, "pay_rf_0")
	if err != nil || len(v.Effects) != 1 || v.Effects[0].Voucher == "" {
		t.Errorf("%+v %v", v.Effects, err)
	}

	plain := f.refund(t, "none")
	f.enter(t, plain, succeeded(f.claim(t, plain, refund.AttemptSend, 10*time.Second), "ch_2"))
	if n := f.count(t, `SELECT count(*) FROM effects WHERE voucher IS NULL`); n != 1 {
		t.Errorf("%d effects have no voucher, want the one whose channel gave none", n)
	}
	f.wantSound(t)
}
