package bridgetest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/store/migrate"
)

// consumer is the bridge's name in every row.
const consumer = "orders"

// patience is the timeout of every wait, generous for slow machines.
const patience = 2 * time.Minute

// suite is the environment of a row: a broker, and a database with one tenant and a Door.
type suite struct {
	*testing.T
	broker Broker
	*installation
	seen outcomes
}

func newSuite(t *testing.T, b Broker) *suite {
	w := &suite{T: t, broker: b}
	w.installation = newInstallation(t, dbtest.Template(t, "bridgetest", func(url string) error {
		_, err := migrate.Up(context.Background(), migrate.Config{URL: url})
		return err
	}))
	w.seen.counts = map[string]int{}
	b.Prepare(t, consumer)
	return w
}

// wake runs the Waker, as jobs do.
func (w *suite) wake() {
	w.wakes.mu.Lock()
	pays := make([]string, 0, len(w.wakes.pays))
	for p := range w.wakes.pays {
		pays = append(pays, p)
	}
	w.wakes.mu.Unlock()
	waker := bridge.Waker{ParkedMessages: w.store, Door: w.door, Log: slog.New(slog.DiscardHandler)}
	for _, p := range pays {
		if err := waker.WakePayment(w.Context(), w.tenant.ID, p); err != nil {
			w.Errorf("wake %s: %v", p, err)
		}
	}
}

// outcomes counts as a bridge.Observer.
type outcomes struct {
	mu     sync.Mutex
	counts map[string]int
}

func (o *outcomes) add(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[key]++
}

func (o *outcomes) count(key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counts[key]
}

func (o *outcomes) Delivered(_, outcome, cause string) {
	o.add(outcome)
	if cause != "" {
		o.add("cause " + cause)
	}
}
func (o *outcomes) Parked(_, reason string) { o.add("parked " + reason) }
func (o *outcomes) Opened(string)           { o.add("opened") }
func (o *outcomes) AckFailed(string)        { o.add("ack failed") }

// config of a bridge that connects by a route.
func (w *suite) config(route any) bridge.Config {
	return bridge.Config{Name: consumer, Broker: "test", Open: w.broker.Opener(w, consumer, route), Door: w.door,
		ParkedMessages: w.store, Deliveries: w.store, Tenants: w.store,
		Allowed: []string{"demo"},
		MaxBody: mostBody, HoldEvery: w.broker.AckWait() / 6, Retry: 50 * time.Millisecond, Observe: &w.seen}
}

// batch is n, or less if the three groups of several bridges would exceed the window of the broker.
func (w *suite) batch(n int) int {
	if window := w.broker.Window(); window > 0 {
		return max(1, min(n, window/6))
	}
	return n
}

// start runs a bridge until the test ends.
func (w *suite) start(cfg bridge.Config) *bridge.Bridge {
	w.Helper()
	b, err := bridge.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	if err := b.Start(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { w.stop(b) })
	return b
}

// stop stops a bridge gracefully.
func (w *suite) stop(b *bridge.Bridge) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.Stop(ctx); err != nil {
		w.Errorf("stop: %v", err)
	}
}

// crash ends a bridge after cutting its connection to the broker.
func (w *suite) crash(b *bridge.Bridge, via *proxy) {
	via.set(cut)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = b.Stop(ctx)
}

// publish sends messages without the proxy and returns how many the broker has stored.
func (w *suite) publish(msgs ...Message) int {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	stored, err := w.broker.Publish(ctx, nil, msgs...)
	if err != nil {
		w.Fatalf("publish: %v", err)
	}
	return stored
}

// waitFor waits for a condition.
func (w *suite) waitFor(what string, ok func() bool) {
	w.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			w.Fatalf("timeout after %s waiting for: %s (refunds %d, lag %d, outcomes %v)", patience, what, w.refunds(), w.broker.Lag(w, consumer), w.seen.counts)
		}
	}
}

// waitSettled waits until all messages of the consumer are acknowledged.
func (w *suite) waitSettled() {
	w.Helper()
	w.waitFor("all messages are acknowledged", func() bool { return w.broker.Lag(w, consumer) == 0 })
}

// count runs a counting query; -1 = the database does not answer.
func (w *suite) count(sql string, args ...any) int {
	var n int
	if err := w.pool.QueryRow(w.Context(), sql, args...).Scan(&n); err != nil {
		return -1
	}
	return n
}

func (w *suite) refunds() int { return w.count(`SELECT count(*) FROM refunds`) }

// parked counts open parked messages; reason "" = any.
func (w *suite) parked(reason string) int {
	return w.count(`SELECT count(*) FROM parked WHERE done_at IS NULL AND ($1 = '' OR reason = $1)`, reason)
}

// want compares the counts of rows in the database. It also checks that reservations and receipts match the refunds.
func (w *suite) want(refunds, receipts, conflicts, parked int) {
	w.Helper()
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"refunds", w.refunds(), refunds},
		{"receipts", w.count(`SELECT count(*) FROM receipts`), receipts},
		{"conflicts", w.count(`SELECT count(*) FROM conflicts`), conflicts},
		{"parked messages", w.parked(""), parked},
		{"refunds without an accepted receipt",
			w.count(`SELECT count(*) FROM refunds r WHERE NOT EXISTS
				(SELECT 1 FROM receipts x WHERE x.tenant_id = r.tenant_id AND x.rid = r.rid AND x.outcome = 'TAKEN')`), 0},
		{"payments that reserve another sum than their refunds",
			w.count(`SELECT count(*) FROM payments p WHERE p.reserved <>
				(SELECT coalesce(sum(amount), 0) FROM refunds r WHERE r.tenant_id = p.tenant_id AND r.payment_id = p.payment_id)`), 0},
	} {
		if c.got != c.want {
			w.Errorf("%d %s, want %d", c.got, c.what, c.want)
		}
	}
}

// waitClosed waits for the gate's first group.
func (w *suite) waitClosed(c <-chan struct{}, what string) {
	w.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		w.Fatalf("timeout waiting for: %s", what)
	}
}
