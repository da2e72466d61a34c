package jobs

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testContract() refund.Contract {
	ms := func(n int) refund.Duration { return refund.Duration(time.Duration(n) * time.Millisecond) }
	return refund.Contract{Profile: "test", Version: 1, Horizon: ms(100), Key: refund.IdempotencyTerms{Dedupes: true, NumberLength: 64},
		Query: refund.QueryTerms{Exists: true, Readings: 2, ReadingGap: ms(50)},
		Waits: refund.WaitTerms{Pending: ms(24 * 3600e3), Unknown: ms(3600e3), Accepted: ms(168 * 3600e3)}}
}

// oneAccount is a configuration with the account demo, one client and one contract.
type oneAccount struct {
	client   refund.Channel
	contract refund.Contract
}

func (a oneAccount) For(account string) (refund.Channel, refund.Contract, bool) {
	return a.client, a.contract, account == "demo"
}

func (a oneAccount) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	return a.contract, name == "demo", true
}

// fakeChannel is a channel with at most one effect per number. onSend and onQuery replace its answers.
type fakeChannel struct {
	mu       sync.Mutex
	effects  map[string]string // number → channel refund id
	sends    int
	queries  int
	onSend   func(n int, c refund.Call, effect func() string) refund.Answer
	onQuery  func(c refund.Call) refund.Answer
	onListed func(c refund.Call) ([]refund.ListedEffect, bool)
}

func (f *fakeChannel) effect(number string) string {
	if f.effects == nil {
		f.effects = map[string]string{}
	}
	if f.effects[number] == "" {
		f.effects[number] = fmt.Sprintf("ch_%d_%s", len(f.effects)+1, number)
	}
	return f.effects[number]
}

func paid(c refund.Call, id string) refund.Answer {
	return refund.Answer{Kind: refund.Succeeded, ChannelRefundID: id, Amount: c.Amount, Currency: c.Currency}
}

func (f *fakeChannel) Refund(_ context.Context, c refund.Call) refund.Answer {
	f.mu.Lock()
	f.sends++
	n, on := f.sends, f.onSend
	f.mu.Unlock()
	effect := func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.effect(c.Number)
	}
	if on != nil {
		return on(n, c, effect)
	}
	return paid(c, effect())
}

func (f *fakeChannel) Query(_ context.Context, c refund.Call) refund.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries++
	if f.onQuery != nil {
		return f.onQuery(c)
	}
	if id := f.effects[c.Number]; id != "" {
		return paid(c, id)
	}
	return refund.Answer{Kind: refund.NotFound}
}

func (f *fakeChannel) List(_ context.Context, c refund.Call) ([]refund.ListedEffect, bool, refund.Answer) {
	lines, complete := f.onListed(c)
	return lines, complete, refund.Answer{}
}

func (f *fakeChannel) counts() (sends, queries, effects int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sends, f.queries, len(f.effects)
}

// fixture is a database of its own, a store, and the configuration of a runner that the test starts.
type fixture struct {
	store   *store.Store
	pool    *pgxpool.Pool
	tenant  refund.Tenant
	channel *fakeChannel
	cfg     Config
}

func newBench(t *testing.T, contract refund.Contract) *fixture {
	t.Helper()
	return benchOn(t, dbtest.Template(t, "jobs", func(url string) error {
		_, err := migrate.Up(context.Background(), migrate.Config{URL: url})
		return err
	}), contract)
}

func benchOn(t *testing.T, url string, contract refund.Contract) *fixture {
	t.Helper()
	b := &fixture{channel: &fakeChannel{}}
	account := oneAccount{b.channel, contract}
	enqueuer, err := NewEnqueuer("")
	if err != nil {
		t.Fatal(err)
	}
	if b.store, err = store.Open(t.Context(), store.Config{URL: url, Accounts: account, Enqueuer: enqueuer}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.store.Close)
	if b.pool, err = pg.OpenPool(t.Context(), url, "refundry", 24); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	var id int64
	if err := b.pool.QueryRow(t.Context(), `INSERT INTO tenants (code) VALUES ('demo') RETURNING tenant_id`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	b.tenant = refund.Tenant{ID: refund.TenantID(id), Code: "demo"}
	b.cfg = Config{Pool: b.pool, Store: b.store, Channels: account, Workers: 16, SweepEvery: 50 * time.Millisecond,
		Times: Times{Lease: time.Second, Margin: 200 * time.Millisecond, SendWindow: 300 * time.Millisecond}}
	return b
}

// start runs the workflow until the test ends.
func (b *fixture) start(t *testing.T) *Runner {
	t.Helper()
	r, err := New(b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return r
}

func (b *fixture) accept(t *testing.T, n int) []refund.RefundRef {
	t.Helper()
	g := make([]intake.Intake, n)
	for i := range g {
		id := fmt.Sprintf("rf_%d", i)
		g[i] = intake.Intake{Tenant: b.tenant, Event: intake.EventID{Consumer: "rest", Source: "rest", ID: id}, Type: intake.TypeRefundRequested,
			Refund: &intake.Request{Params: refund.Params{RefundID: id, OrderID: "o", PaymentID: "pay_" + id, Amount: 100, Currency: "USD"},
				Payment: &intake.PaymentSpec{OrderID: "o", Amount: 1000, Currency: "USD", Account: "demo"}},
			Actor: "actor:test", RID: pg.NewRID()}
	}
	out, err := b.store.AcceptGroup(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]refund.RefundRef, n)
	for i, o := range out {
		if o.Verdict != intake.Taken {
			t.Fatalf("%s: %s %s", g[i].Refund.RefundID, o.Verdict, o.Code)
		}
		keys[i] = o.Refund.RefundRef
	}
	return keys
}

func (b *fixture) load(t *testing.T, k refund.RefundRef) refund.Record {
	t.Helper()
	r, err := b.store.Load(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 30 s: %s", what)
}

// wantAll waits until every refund is in the state.
func (b *fixture) wantAll(t *testing.T, keys []refund.RefundRef, want refund.State) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d refunds in %s", len(keys), want), func() bool {
		var n int
		err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM refunds WHERE state = $1`, string(want)).Scan(&n)
		return err == nil && n == len(keys)
	})
}
