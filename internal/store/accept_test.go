package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/read"
)

// testStore is a store on a migrated database of its own, with one tenant and one account.
type testStore struct {
	*Store
	url    string
	tenant refund.Tenant
}

type anyAccount struct{ contract refund.Contract }

func (a anyAccount) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	return a.contract, name == "demo", true
}

func testContract() refund.Contract {
	return refund.Contract{Profile: "test", Version: 1, Horizon: refund.Duration(time.Second),
		Key:   refund.IdempotencyTerms{Dedupes: true, NumberLength: 64},
		Query: refund.QueryTerms{Exists: true, Readings: 2, ReadingGap: refund.Duration(500 * time.Millisecond)},
		Waits: refund.WaitTerms{Pending: refund.Duration(24 * time.Hour), Unknown: refund.Duration(time.Hour), Accepted: refund.Duration(168 * time.Hour)}}
}

// migrateTemplate migrates a database that is copied later. A copy shows that it is one (TestACopiedDatabaseHoldsSending), so the
// installation agrees to no database yet.
func migrateTemplate(url string) error {
	ctx := context.Background()
	if _, err := migrate.Up(ctx, migrate.Config{URL: url}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `UPDATE refundry.installation SET (database_oid, table_oid, agreed_at) = (NULL, NULL, NULL)`)
	return errors.Join(err, conn.Close(ctx))
}

func newTestStore(t *testing.T) *testStore {
	t.Helper()
	url := dbtest.Template(t, "store", migrateTemplate)
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{testContract()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	b := &testStore{Store: s, url: url}
	b.tenant = b.addTenant(t, "demo")
	return b
}

// reader reads what the API reads.
func (b *testStore) reader() *read.Reader { return read.New(b.pool, b.cfg.Accounts) }

func (b *testStore) addTenant(t *testing.T, code string) refund.Tenant {
	t.Helper()
	var id int64
	if err := b.pool.QueryRow(t.Context(), `INSERT INTO tenants (code) VALUES ($1) RETURNING tenant_id`, code).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return refund.Tenant{ID: refund.TenantID(id), Code: code}
}

func (b *testStore) request(event, refundID, payment string, amount int64, inline *intake.PaymentSpec) intake.Intake {
	return intake.Intake{Tenant: b.tenant, Event: intake.EventID{Consumer: "rest", Source: "rest", ID: event}, Type: intake.TypeRefundRequested,
		Refund: &intake.Request{Params: refund.Params{RefundID: refundID, OrderID: "ord_1", PaymentID: payment, Amount: amount, Currency: "USD"}, Payment: inline},
		Actor:  "actor:test", Transport: "t", RID: pg.NewRID()}
}

func inlinePayment(amount int64) *intake.PaymentSpec {
	return &intake.PaymentSpec{OrderID: "ord_1", Amount: amount, Currency: "USD", Account: "demo"}
}

func (b *testStore) accept(t *testing.T, g ...intake.Intake) []intake.Outcome {
	t.Helper()
	out, err := b.AcceptGroup(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *testStore) count(t *testing.T, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := b.pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return n
}

func wantVerdicts(t *testing.T, out []intake.Outcome, want ...intake.Verdict) {
	t.Helper()
	for i, w := range want {
		if out[i].Verdict != w {
			t.Errorf("item %d: %s %s, want %s", i, out[i].Verdict, out[i].Code, w)
		}
	}
}

func TestAcceptGroupDecidesInOrder(t *testing.T) {
	b := newTestStore(t)
	out := b.accept(t,
		b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100)),
		b.request("e2", "rf_2", "pay_1", 60, inlinePayment(100)), // C1: only one of two 60 on 100
		b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100)), // the same event
		b.request("e3", "rf_1", "pay_1", 60, nil),                // the same refund, another event
		b.request("e4", "rf_1", "pay_1", 61, nil),                // other parameters
		b.request("e1", "rf_1", "pay_1", 61, nil),                // the same event, other parameters
		b.request("e5", "rf_5", "pay_none", 1, nil),
	)
	wantVerdicts(t, out, intake.Taken, intake.Refused, intake.Replayed, intake.Replayed, intake.Conflict, intake.Conflict, intake.Waiting)
	if out[1].Code != refund.CodeAmountExceeds || out[4].Code != refund.CodeRefundConflict || out[5].Code != refund.CodeKeyReused {
		t.Errorf("codes: %s %s %s", out[1].Code, out[4].Code, out[5].Code)
	}
	again := b.accept(t,
		b.request("e2", "rf_2", "pay_1", 60, inlinePayment(100)), // C32: a refusal stays a refusal
		b.request("e4", "rf_1", "pay_1", 61, nil),
		b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100)))
	wantVerdicts(t, again, intake.Refused, intake.Conflict, intake.Replayed)
	if !again[0].Replayed || !again[1].Replayed || len(again[1].Fields) != 1 || again[1].Fields[0] != "amount" {
		t.Errorf("a stored refusal or conflict must be repeated unchanged: %+v %+v", again[0], again[1])
	}
	if n := b.count(t, `SELECT count(*) FROM refunds`); n != 1 {
		t.Errorf("%d refunds, want 1", n)
	}
	if n := b.count(t, `SELECT reserved FROM payments`); n != 60 {
		t.Errorf("reserved %d, want 60", n)
	}
	if n := b.count(t, `SELECT sum(times) FROM conflicts`); n != 2 {
		t.Errorf("%d conflicts stored, want 2: a repeated conflict adds none", n)
	}
	if n := b.count(t, `SELECT count(*) FROM refunds r JOIN journal j USING (tenant_id, rid) WHERE j.hash = sha256(decode(repeat('00', 32), 'hex') || uuid_send(j.rid) || int4send(j.seq) || timestamptz_send(j.at) || j.digest) AND r.journal_head = j.hash`); n != 1 {
		t.Errorf("the first journal row's hash is not what the database computes")
	}
}
