package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// put is one PUT of pay_1 and its expected result.
type put struct {
	spec      intake.PaymentSpec
	code      refund.Code // "" = stored or no-op
	fields    []string
	created   bool
	captured  int64 // of what comes back
	elsewhere int64
	version   int64
}

func snapshot(version, amount, elsewhere int64) intake.PaymentSpec {
	return intake.PaymentSpec{OrderID: "ord_1", Amount: amount, Currency: "USD", Account: "demo", Version: version, RefundedElsewhere: elsewhere}
}

func with(s intake.PaymentSpec, change func(*intake.PaymentSpec)) intake.PaymentSpec {
	change(&s)
	return s
}

func TestPutPayment(t *testing.T) {
	reserve := func(t *testing.T, b *testStore) {
		wantVerdicts(t, b.accept(t, b.request("e1", "rf_1", "pay_1", 60, nil)), intake.Taken)
	}
	capture := func(t *testing.T, b *testStore) {
		wantVerdicts(t, b.accept(t, b.captured("c1", "pay_1", "cap_1", 60), b.captured("c2", "pay_1", "cap_2", 40)), intake.Taken, intake.Taken)
	}
	immutable := func(field string, change func(*intake.PaymentSpec)) put {
		return put{spec: with(snapshot(9, 100, 0), change), code: refund.CodePaymentConflict, fields: []string{field}}
	}
	for name, c := range map[string]struct {
		before, between func(*testing.T, *testStore)
		puts            []put
	}{
		"a new payment": {puts: []put{{spec: snapshot(1, 100, 10), created: true, captured: 100, elsewhere: 10, version: 1}}},
		"the same again is nothing": {puts: []put{{spec: snapshot(1, 100, 0), created: true, captured: 100, version: 1},
			{spec: snapshot(1, 100, 0), captured: 100, version: 1}}},
		"a newer version wins, also downwards": {puts: []put{{spec: snapshot(1, 100, 0), created: true, captured: 100, version: 1},
			{spec: snapshot(2, 150, 5), captured: 150, elsewhere: 5, version: 2}, {spec: snapshot(7, 90, 20), captured: 90, elsewhere: 20, version: 7}}},
		"an older version is nothing": {puts: []put{{spec: snapshot(5, 100, 0), created: true, captured: 100, version: 5},
			{spec: snapshot(4, 500, 0), captured: 100, version: 5}}},
		"one version, two contents": {puts: []put{{spec: snapshot(1, 100, 0), created: true, captured: 100, version: 1},
			{spec: snapshot(1, 101, 0), code: refund.CodePaymentConflict, fields: []string{"amount"}},
			{spec: snapshot(1, 100, 1), code: refund.CodePaymentConflict, fields: []string{"refundedElsewhere"}}}},
		"what never changes": {puts: []put{{spec: snapshot(1, 100, 0), created: true, captured: 100, version: 1},
			immutable("orderId", func(s *intake.PaymentSpec) { s.OrderID = "ord_2" }),
			immutable("currency", func(s *intake.PaymentSpec) { s.Currency = "EUR" }),
			immutable("channelAccount", func(s *intake.PaymentSpec) { s.Account = "other" }),
			immutable("channelReference", func(s *intake.PaymentSpec) { s.Reference = "ch_9" })}},
		"not below what is reserved": {between: reserve, puts: []put{{spec: snapshot(1, 100, 0), created: true, captured: 100, version: 1},
			{spec: snapshot(2, 59, 0), code: refund.CodeBelowRefunded, fields: []string{"amount"}},
			{spec: snapshot(2, 100, 41), code: refund.CodeBelowRefunded, fields: []string{"refundedElsewhere"}},
			{spec: snapshot(2, 60, 0), captured: 60, version: 2}}},
		"more elsewhere than captured": {puts: []put{{spec: snapshot(1, 100, 101), code: refund.CodeNotExpressible}}},
		"an account that is not configured": {puts: []put{{spec: with(snapshot(1, 100, 0), func(s *intake.PaymentSpec) { s.Account = "x" }),
			code: refund.CodeAccountNotConfigured}}},
		"told by captures, equal sum": {before: capture, puts: []put{{spec: snapshot(1, 100, 0), captured: 100}}},
		"told by captures, other sum": {before: capture, puts: []put{{spec: snapshot(1, 101, 0), code: refund.CodePaymentConflict, fields: []string{"amount"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestStore(t)
			if c.before != nil {
				c.before(t, b)
			}
			for i, p := range c.puts {
				b.wantPut(t, i, p)
				if i == 0 && c.between != nil {
					c.between(t, b)
				}
			}
			b.wantNoViolations(t)
		})
	}
}

func (b *testStore) wantPut(t *testing.T, i int, want put) {
	t.Helper()
	p, created, err := b.PutPayment(t.Context(), b.tenant, "pay_1", want.spec, "actor:test")
	var problem *refund.Problem
	if want.code != "" {
		if !errors.As(err, &problem) || problem.Code != want.code || !slices.Equal(problem.Fields, want.fields) {
			t.Errorf("put %d: %+v %v, want %s %v", i, problem, err, want.code, want.fields)
		}
		return
	}
	if err != nil || created != want.created || p.Captured != want.captured || p.RefundedElsewhere != want.elsewhere || p.Version != want.version {
		t.Errorf("put %d: %+v created=%v %v, want %+v", i, p, created, err, want)
	}
	stored, err := b.reader().FindPayment(t.Context(), b.tenant.ID, "pay_1")
	if err != nil || stored.Payment != p {
		t.Errorf("put %d: answered %+v, stored %+v %v", i, p, stored.Payment, err)
	}
}

// A capture for a payment that is known by snapshots is a conflict, and vice versa.
func TestCapturesAndSnapshotsDoNotMix(t *testing.T) {
	b := newTestStore(t)
	b.wantPut(t, 0, put{spec: snapshot(1, 100, 0), created: true, captured: 100, version: 1})
	out := b.accept(t, b.captured("c1", "pay_1", "cap_1", 10))
	wantVerdicts(t, out, intake.Conflict)
	if out[0].Code != refund.CodePaymentConflict {
		t.Errorf("%s", out[0].Code)
	}
	c := b.captured("c3", "pay_2", "cap_1", 10)
	wantVerdicts(t, b.accept(t, c, b.captured("c4", "pay_2", "cap_1", 10), b.captured("c5", "pay_2", "cap_1", 11), b.captured("c6", "pay_2", "cap_2", 5)),
		intake.Taken, intake.Replayed, intake.Conflict, intake.Taken)
	if n := b.count(t, `SELECT captured FROM payments WHERE payment_id = 'pay_2'`); n != 15 {
		t.Errorf("captured %d, want 15", n)
	}
	b.wantNoViolations(t)
}

// A channel reference belongs to one payment, across tenants.
func TestPutReferenceTaken(t *testing.T) {
	b := newTestStore(t)
	two := b.addTenant(t, "two")
	taken := with(snapshot(1, 100, 0), func(s *intake.PaymentSpec) { s.Reference = "ch_1" })
	if _, _, err := b.PutPayment(t.Context(), b.tenant, "pay_1", taken, "actor:test"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tenant  refund.Tenant
		payment string
	}{"another payment": {b.tenant, "pay_2"}, "another tenant": {two, "pay_1"}} {
		_, _, err := b.PutPayment(t.Context(), c.tenant, c.payment, taken, "actor:test")
		var problem *refund.Problem
		if !errors.As(err, &problem) || problem.Code != refund.CodePaymentConflict || !slices.Equal(problem.Fields, []string{"channelReference"}) {
			t.Errorf("%s: %v, want a conflict about channelReference", name, err)
		}
	}
	if n := b.count(t, `SELECT count(*) FROM payments`); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
}

// Many snapshots at once: the highest version is stored, and one caller learns that it created the payment.
func TestPutPaymentAtOnce(t *testing.T) {
	b := newTestStore(t)
	var wg sync.WaitGroup
	var created tally
	for v := range 40 {
		wg.Go(func() {
			_, first, err := b.PutPayment(context.Background(), b.tenant, "pay_1", snapshot(int64(v), 1000+int64(v), 0), "actor:test")
			if err != nil {
				t.Errorf("version %d: %v", v, err)
			}
			created.add(fmt.Sprint(first))
		})
		wg.Go(func() { // references are taken at the same time by others
			s := with(snapshot(0, 100, 0), func(s *intake.PaymentSpec) { s.Reference = fmt.Sprintf("ch_%d", v%5) })
			_, _, err := b.PutPayment(context.Background(), b.tenant, fmt.Sprintf("other_%d", v), s, "actor:test")
			var problem *refund.Problem
			if err != nil && !errors.As(err, &problem) {
				t.Errorf("reference %d: %v", v, err)
			}
		})
	}
	wg.Wait()
	created.want(t, map[string]int{"true": 1, "false": 39})
	if got := b.text(t, `SELECT concat_ws(' ', version, captured, (SELECT count(*) FROM payments WHERE payment_id LIKE 'other%')) FROM payments WHERE payment_id = 'pay_1'`); got != "39 1039 5" {
		t.Errorf("version, captured, payments with references: %q, want 39 1039 5", got)
	}
	b.wantNoViolations(t)
}
