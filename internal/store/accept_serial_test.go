package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// serialRun is two tenants of a database that get the same items in one way.
type serialRun struct {
	name    string
	tenants []refund.Tenant
}

// TestGroupEqualsSerialInPostgres: the same random items, for two tenants as one group and for two other tenants one after
// another, leave equal answers and equal rows.
func TestGroupEqualsSerialInPostgres(t *testing.T) {
	b := newTestStore(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		grouped, serial := serialRun{name: "g"}, serialRun{name: "s"}
		for _, w := range []*serialRun{&grouped, &serial} {
			for i := range 2 {
				w.tenants = append(w.tenants, b.addTenant(t, fmt.Sprintf("%s-%d-%d", w.name, n, i)))
			}
		}
		for range 2 {
			var items []serialItem
			for i := range rapid.IntRange(1, 12).Draw(rt, "items") {
				items = append(items, drawSerialItem(rt, fmt.Sprint(i)))
			}
			var a, z []intake.Outcome
			var g []intake.Intake
			for _, it := range items {
				g = append(g, it.in(grouped, n))
				z = append(z, b.accept(t, it.in(serial, n))...)
			}
			a = b.accept(t, g...)
			for i := range items {
				if one, other := acceptedText(a[i]), acceptedText(z[i]); one != other {
					rt.Errorf("item %d (%+v)\n  in a group: %s\n  one by one: %s", i, items[i], one, other)
				}
			}
		}
		together, apart := b.rowsOf(t, grouped), b.rowsOf(t, serial)
		if !slices.Equal(together, apart) {
			rt.Errorf("rows of the group\n%s\n\nrows one by one\n%s", strings.Join(together, "\n"), strings.Join(apart, "\n"))
		}
	})
	b.wantNoViolations(t)
}

// serialItem is drawn once and submitted twice.
type serialItem struct {
	tenant                                       int
	consumer, source, event, refundID            string
	payment, order, currency, account, reference string
	amount, captured, elsewhere                  int64
	inline, capture                              bool
	rid                                          refund.RID
}

func drawSerialItem(t *rapid.T, label string) serialItem {
	of := func(what string, values ...string) string { return rapid.SampledFrom(values).Draw(t, label+" "+what) }
	return serialItem{tenant: rapid.IntRange(0, 1).Draw(t, label+" tenant"),
		consumer: of("consumer", "rest", "orders"), source: of("source", "s", "s", "foreign"), event: of("event", "e1", "e2", "e3", "e4", "e5", "e6"),
		refundID: of("refund", "r1", "r2", "r3", "r4"), payment: of("payment", "p1", "p1", "p2"), order: of("order", "o1", "o1", "o1", "o2"),
		currency: of("currency", "USD", "USD", "USD", "EUR"), account: of("account", "demo", "demo", "demo", "none"), reference: of("reference", "", "", "ref"),
		amount:   rapid.SampledFrom([]int64{30, 60, 60, 100}).Draw(t, label+" amount"),
		captured: rapid.SampledFrom([]int64{100, 100, 120}).Draw(t, label+" captured"), elsewhere: rapid.SampledFrom([]int64{0, 0, 10}).Draw(t, label+" elsewhere"),
		inline: rapid.Bool().Draw(t, label+" inline"), capture: rapid.IntRange(0, 4).Draw(t, label+" kind") == 0, rid: pg.NewRID()}
}

func (s serialItem) in(w serialRun, check int) intake.Intake {
	in := intake.Intake{Tenant: w.tenants[s.tenant], Event: intake.EventID{Consumer: s.consumer, Source: s.source, ID: s.event}, Actor: "actor:test",
		Transport: "t", RID: s.rid}
	reference := s.reference
	if reference != "" {
		reference = fmt.Sprintf("%s-%s-%d", reference, w.name, check)
	}
	if s.capture {
		in.Type = intake.TypePaymentCaptured
		in.Capture = &intake.Capture{PaymentID: s.payment, CaptureID: "c-" + s.event, OrderID: s.order, Amount: s.amount, Currency: refund.Currency(s.currency),
			Account: s.account, Reference: reference}
	} else {
		in.Type = intake.TypeRefundRequested
		in.Refund = &intake.Request{Params: refund.Params{RefundID: s.refundID, OrderID: s.order, PaymentID: s.payment, Amount: s.amount,
			Currency: refund.Currency(s.currency)}}
		if s.inline {
			in.Refund.Payment = &intake.PaymentSpec{OrderID: s.order, Amount: s.captured, Currency: refund.Currency(s.currency), Account: s.account,
				Reference: reference, RefundedElsewhere: s.elsewhere}
		}
	}
	if s.consumer != "rest" {
		in.Park = &intake.Park{Position: fmt.Sprintf("%d", in.Digest()) + s.source + s.event, Body: []byte("{}")}
	}
	return in
}

func acceptedText(o intake.Outcome) string {
	told := fmt.Sprintf("%s %s %v replayed=%v %s", o.Verdict, o.Code, o.Fields, o.Replayed, o.Cause)
	if o.Refund != nil {
		told += fmt.Sprintf(" %s %s %+v %s", o.Refund.RID, o.Refund.State, o.Refund.Params, o.Refund.Prev)
	}
	return told
}

// rowsOf returns all rows of the run's tenants that intakes wrote, without generated ids and times.
func (b *testStore) rowsOf(t *testing.T, w serialRun) (out []string) {
	t.Helper()
	for i, tenant := range w.tenants {
		for _, sql := range []string{
			`SELECT concat_ws(' ', 'receipt', consumer, source, event_id, type, encode(digest, 'hex'), outcome, rid, code) FROM receipts WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'key', refund_id, rid) FROM refund_keys WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'refund', rid, refund_id, payment_id, order_id, account, currency, exponent, amount, prev_rid, state, pending_reason, journal_seq) FROM refunds WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'payment', payment_id, order_id, account, currency, exponent, known_by, version, captured, reserved, refunded_elsewhere, excess, refunds, last_rid) FROM payments WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'capture', payment_id, capture_id, amount) FROM captures WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'conflict', kind, consumer, source, event_id, refund_id, payment_id, rid, fields::text, times) FROM conflicts WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'parked', consumer, source, event_id, position, reason, wake_payment, alarm_at IS NOT NULL, tries) FROM parked WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'journal', rid, seq, kind, to_state, source, actor) FROM journal WHERE tenant_id = $1`,
			`SELECT concat_ws(' ', 'dispatch', rid, no, account) FROM dispatches WHERE tenant_id = $1`,
		} {
			rows, err := b.pool.Query(t.Context(), sql, int64(tenant.ID))
			if err != nil {
				t.Fatal(err)
			}
			list, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range list {
				out = append(out, fmt.Sprintf("%d %s", i, row))
			}
		}
	}
	slices.Sort(out)
	return out
}
