package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// flood has the published messages and the expected results.
type flood struct {
	msgs []*nats.Msg // in order
	// Refund ids that must be paid once. A refund with a conflict may have been decided by either of its messages, since the
	// messages of a killed process are redelivered after later ones.
	first, other map[string]int64
	conflicts    int
	poison       int
	late         int // captures behind their refund
	again        int // same event id in a new message
}

// tenantEvent is an event for a bridge.
type tenantEvent struct {
	harness.Event
	TenantID string `json:"tenantid"`
}

// newFlood mixes total messages: 5 % repeat an event in a new message, 1 % conflict, 0.5 % are undecodable, 5 % are
// captures after their refund. Another 5 % are redelivered by the broker.
func newFlood(t *testing.T, total int) *flood {
	f := &flood{first: map[string]int64{}, other: map[string]int64{}, again: total / 20, conflicts: total / 100, poison: total / 200, late: total / 20}
	refunds := total - f.again - f.conflicts - f.poison - f.late
	add := func(id, kind string, data any) {
		body, err := json.Marshal(tenantEvent{harness.NewEvent(id, kind, data), "demo"})
		if err != nil {
			t.Fatal(err)
		}
		m := nats.NewMsg("refundry.in.demo." + kind)
		m.Data = body
		m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("m-%d", len(f.msgs)))
		f.msgs = append(f.msgs, m)
	}
	// every so many refunds, one of the others, beginning with refund number from
	every := func(i, n, from int) bool {
		step := refunds / n
		return i%step == from && i/step < n
	}
	var waiting []harness.Request
	for i := range refunds {
		payment := fmt.Sprintf("pool-%d", i/50)
		r := partial(name("nf", i), payment, int64(100+i%900), 1_000_000)
		if every(i, f.late, 0) {
			r = partial(name("nf", i), name("late", i), int64(100+i%900), 0)
			r.Payment = nil
			waiting = append(waiting, r)
		}
		f.first[r.RefundID] = r.Amount
		add("evt-"+r.RefundID, "refund.requested", r)
		if every(i, f.again, 3) {
			add("evt-"+r.RefundID, "refund.requested", r)
		}
		if every(i, f.conflicts, 5) {
			bad := r
			bad.Amount++
			f.other[r.RefundID] = bad.Amount
			add("evt-"+r.RefundID, "refund.requested", bad)
		}
		if every(i, f.poison, 7) {
			add("poison-"+r.RefundID, "refund.invented", map[string]any{"i": i})
		}
		if len(waiting) > 20 || i == refunds-1 {
			for _, w := range waiting {
				add("cap-"+w.PaymentID, "payment.captured", harness.Capture{PaymentID: w.PaymentID, CaptureID: "c1", OrderID: w.OrderID, Amount: 1_000_000,
					Currency: "USD", ChannelAccount: "demo"})
			}
			waiting = nil
		}
	}
	return f
}

// TestNATSFloodSurvivesKills has a stream of events with duplicates, redeliveries, conflicts, undecodable messages and late
// captures, while the server is killed three times and the broker once. The effects are the distinct valid refunds;
// conflicts and undecodable messages are parked, and nothing else.
func TestNATSFloodSurvivesKills(t *testing.T) {
	t.Parallel()
	total, limit := 2000, 6*time.Minute
	if os.Getenv("CONFORMANCE") == "full" {
		total, limit = 20000, 20*time.Minute
	}
	ctx := bounded(t, limit)
	f := newFlood(t, total)
	broker := startNATS(t)
	url := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", url)
	harness.AddTenant(t, url, "demo")
	channel := harness.StartSimulator(t)
	config := harness.Account(channel, "demo", "keyed-queryable", "demo") +
		fmt.Sprintf("bridges:\n  orders: {broker: nats, url: %q, stream: REFUNDRY, subjects: [\"refundry.in.>\"], tenants: [demo], createStream: true}\n",
			broker.url())
	db := harness.OpenDB(t, url)

	// The first process creates stream and consumer. Half of the messages are published then, of which a twentieth was
	// delivered and returned.
	server := harness.Serve(t, url, config, "api,worker,bridge")
	broker.untilStream(ctx, t)
	server.Kill()
	publish(ctx, t, broker, f.msgs[:len(f.msgs)/2])
	broker.giveBack(ctx, t, total/20)

	began := time.Now()
	for range total / 8000 { // more workers for many messages
		harness.Serve(t, url, config, "worker")
	}
	server = harness.Serve(t, url, config, "api,worker,bridge")
	var published sync.WaitGroup
	published.Go(func() { publish(ctx, t, broker, f.msgs[len(f.msgs)/2:]) })
	accepted := func() int64 { return db.Int(ctx, `SELECT count(*) FROM refunds`) }
	reach := func(part float64) {
		harness.Eventually(t, 2*time.Minute, "messages are being decided", func() (bool, string) {
			return float64(accepted()) >= part*float64(len(f.first)), fmt.Sprint(accepted())
		})
	}
	for i, part := range []float64{0.1, 0.3, 0.6} {
		reach(part)
		server.Kill()
		if i == 1 {
			broker.kill()
			broker.start(t)
		}
		server = harness.Serve(t, url, config, "api,worker,bridge")
	}
	published.Wait()
	broker.untilDrained(ctx, t)
	drained := time.Since(began)
	harness.Eventually(t, limit, "all valid refunds are SUCCESS", func() (bool, string) {
		return db.Int(ctx, `SELECT count(*) FROM refunds WHERE state = 'SUCCESS'`) == int64(len(f.first)),
			db.Text(ctx, `SELECT string_agg(state || ' ' || n, ', ') FROM (SELECT state, count(*) n FROM refunds GROUP BY 1) x`)
	})
	done := time.Since(began)
	f.judge(ctx, t, db, channel.Sim())
	harness.Verify(t, url)
	t.Logf("%d messages (%d refunds, %d repeated in a new message, %d given back and redelivered, %d conflicts, %d poison, %d captures behind their refund); server killed 3 times, broker once: drained after %s, %d of %d refunds SUCCESS after %s; deliveries %s; publisher repeated %d",
		len(f.msgs), len(f.first), f.again, total/20, f.conflicts, f.poison, f.late, drained.Round(time.Millisecond), len(f.first), len(f.first),
		done.Round(time.Millisecond),
		db.Text(ctx, `SELECT string_agg(o || ' ' || n, ', ') FROM (SELECT outcome || coalesce(' ' || cause, '') AS o, count(*) AS n FROM deliveries GROUP BY 1 ORDER BY 1) x`), broker.repeats.Load())
}

// judge compares the channel's record and the database with the published messages.
func (f *flood) judge(ctx context.Context, t *testing.T, db *harness.DB, sim *harness.Sim) {
	t.Helper()
	want := map[string]int64{}
	for id, amount := range f.first {
		want[id] = amount
		if other, has := f.other[id]; has && db.Int(ctx, `SELECT amount FROM refunds WHERE refund_id = $1`, id) == other {
			want[id] = other
		}
	}
	onceEach(t, sim.Effects(ctx), want)
	db.CheckPromises(ctx)
	parked := func(where string) int64 {
		return db.Int(ctx, `SELECT count(*) FROM parked WHERE done_at IS NULL AND `+where)
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"refunds", db.Int(ctx, `SELECT count(*) FROM refunds`), int64(len(f.first))},
		{"conflicts", db.Int(ctx, `SELECT count(*) FROM conflicts`), int64(f.conflictsOf(ctx, db))},
		{"conflicting refunds", db.Int(ctx, `SELECT count(DISTINCT event_id) FROM conflicts`), int64(f.conflicts)},
		{"parked poison", parked(`reason = 'undecodable'`), int64(f.poison)},
		{"parked conflicts", parked(`reason = 'idempotency-key-reused'`), int64(f.conflictsOf(ctx, db))},
		{"parked for any other reason", parked(`reason NOT IN ('undecodable', 'idempotency-key-reused')`), 0},
		{"receipts of refunds", db.Int(ctx, `SELECT count(*) FROM receipts WHERE type = 'refund.requested' AND outcome = 'TAKEN'`), int64(len(f.first))},
		{"receipts of captures", db.Int(ctx, `SELECT count(*) FROM receipts WHERE type = 'payment.captured' AND outcome = 'TAKEN'`), int64(f.late)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

// conflictsOf counts the messages that differ from what was decided. If the other message of a refund was decided first,
// its first message and the repeat of it are conflicts.
func (f *flood) conflictsOf(ctx context.Context, db *harness.DB) int {
	n := 0
	for id, other := range f.other {
		if db.Int(ctx, `SELECT amount FROM refunds WHERE refund_id = $1`, id) != other {
			n++
			continue
		}
		for _, m := range f.msgs {
			if strings.Contains(string(m.Data), `"id":"evt-`+id+`"`) && !strings.Contains(string(m.Data), fmt.Sprintf(`"amount":%d,"currency":"USD"`, other)) {
				n++
			}
		}
	}
	return n
}
