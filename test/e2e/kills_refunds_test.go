package e2e

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// Test500RefundsSurviveFiveKills has a channel that loses four of ten answers and half of its notices, and a server that is
// killed five times. Every refund is paid once.
func Test500RefundsSurviveFiveKills(t *testing.T) {
	t.Parallel()
	const total, kills, producers = 500, 5, 16
	ctx := bounded(t, 4*time.Minute)
	began := time.Now()
	dev := harness.StartDev(t, "--faults", "lost-after=0.2,lost-before=0.1,error-after=0.1,notice-lost=0.5,seed=3")
	client := dev.Client()

	want := map[string]int64{}
	work := make(chan harness.Request)
	var decided, replays atomic.Int64
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for r := range work {
				res, ok := client.Post(ctx, "key-"+r.RefundID, r)
				if !ok {
					return
				}
				if res.Status != http.StatusAccepted && res.Status != http.StatusOK {
					t.Errorf("%s: status %d, want 202, or 200 for a repeat: %s", r.RefundID, res.Status, res.Body)
				}
				if res.Replayed() {
					replays.Add(1)
				}
				decided.Add(1)
			}
		})
	}
	for i := range total {
		// Each kill comes during requests; it does not wait for the decisions of those before it.
		if i > 0 && i%(total/(kills+1)) == 0 && i/(total/(kills+1)) <= kills {
			dev.Kill()
			dev.Start()
		}
		r := request(name("rf", i), int64(100+i), int64(100+i))
		want[r.RefundID] = r.Amount
		if !hand(ctx, work, r) {
			t.Fatal("the producers make no progress")
		}
	}
	close(work)
	wg.Wait()
	if decided.Load() != total {
		t.Fatalf("%d of %d requests were decided", decided.Load(), total)
	}
	accepted := time.Since(began)
	db := dev.DB()
	harness.Eventually(t, 2*time.Minute, "all refunds are SUCCESS", func() (bool, string) {
		return db.Int(ctx, `SELECT count(*) FROM refunds WHERE state = 'SUCCESS'`) == total,
			db.Text(ctx, `SELECT string_agg(state || ' ' || n, ', ') FROM (SELECT state, count(*) n FROM refunds GROUP BY 1) x`)
	})
	effects := dev.Sim().Effects(ctx)
	onceEach(t, effects, want)
	db.CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
	calls := func(kind string) int64 { return db.Int(ctx, `SELECT count(*) FROM attempts WHERE kind = $1`, kind) }
	for what, sql := range map[string]string{
		"refunds":          `SELECT count(*) FROM refunds`,
		"booked effects":   `SELECT count(*) FROM effects WHERE status = 'MOVED'`,
		"ledger postings":  `SELECT count(*) FROM postings WHERE kind = 'REFUND'`,
		"accepted receipt": `SELECT count(*) FROM receipts WHERE outcome = 'TAKEN'`,
	} {
		if n := db.Int(ctx, sql); n != total {
			t.Errorf("%d %s, want %d", n, what, total)
		}
	}
	wire := int64(0)
	for _, e := range effects {
		wire += int64(e.Requests)
	}
	if sends := calls("SEND"); wire > sends {
		t.Errorf("P10: %d sends reached the channel, but only %d attempts were written", wire, sends)
	}
	t.Logf("%d refunds, %d kills: all durable after %s, all SUCCESS after %s; %d effects; %d sends, %d queries, %d found by notices, %d takeovers; clients repeated %d times, %d answers were replays",
		total, kills, accepted.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), len(effects), calls("SEND"), calls("QUERY"),
		db.Int(ctx, `SELECT count(*) FROM effects WHERE source = 'notice'`), db.Int(ctx, `SELECT count(*) FROM journal WHERE kind = 'lease_end'`),
		client.Retries.Load(), replays.Load())
}

// hand sends the numbers to the producers.
func hand[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}
