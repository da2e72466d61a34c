package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// stream has the events, for each pusher in their order, and the expected results.
type stream struct {
	pushers [][]any
	want    map[string]int64 // refund id → amount
	counts  map[string]int   // of events by what they are for
}

const (
	eventRefunds    = 435 // each with a capture of its own payment
	eventDuplicates = 100
	eventConflicts  = 20
	eventPoison     = 10
	eventLate       = 50 // captures that come after their refund
	eventsTotal     = 2*eventRefunds + eventDuplicates + eventConflicts + eventPoison
)

// mixed returns the stream. All events of one payment have one pusher, so that their order is known.
func mixed(rng *rand.Rand, pushers int) stream {
	s := stream{pushers: make([][]any, pushers), want: map[string]int64{}, counts: map[string]int{}}
	add := func(p int, what string, e any) {
		s.pushers[p] = append(s.pushers[p], e)
		s.counts[what]++
	}
	for i := range eventRefunds {
		p, r := i%pushers, request(name("ev", i), int64(100+i), 0)
		r.Payment = nil
		s.want[r.RefundID] = r.Amount
		asked := harness.NewEvent("ask-"+r.RefundID, "refund.requested", r)
		captured := harness.NewEvent("cap-"+r.RefundID, "payment.captured", harness.Capture{PaymentID: r.PaymentID, CaptureID: "c1", OrderID: r.OrderID,
			Amount: r.Amount, Currency: "USD", ChannelAccount: "demo"})
		if i < eventLate {
			add(p, "refund before its capture", asked)
			add(p, "late capture", captured)
		} else {
			add(p, "capture", captured)
			add(p, "refund", asked)
		}
		if i < eventDuplicates {
			again := asked
			if i%2 == 1 { // the same action under another event id
				again.ID += "-again"
			}
			add(p, "duplicate", again)
		}
		if i >= eventRefunds-eventConflicts {
			other := asked
			if i%2 == 1 { // otherwise the same event id with another amount
				other.ID += "-other"
			}
			r.Amount++
			other.Data = r
			add(p, "conflict", other)
		}
		if i%(eventRefunds/eventPoison) == 0 && s.counts["poison"] < eventPoison {
			add(p, "poison", poison(rng, i))
		}
	}
	return s
}

// poison returns an undecodable event of one of several kinds.
func poison(rng *rand.Rand, i int) any {
	id := fmt.Sprintf("poison-%d", i)
	switch rng.IntN(4) {
	case 0:
		return harness.NewEvent(id, "refund.requested", map[string]any{"refundId": "x", "amount": 1.5})
	case 1:
		return harness.NewEvent(id, "refund.invented", map[string]any{})
	case 2:
		return map[string]any{"id": id, "source": "/e2e"}
	}
	return []any{"no event", i}
}

// Test1000EventsSurviveThreeKills pushes events in batches, with duplicates, conflicts, undecodable ones and late captures,
// to a server that is killed three times. The effects are the distinct valid refunds, and everything invalid is parked.
func Test1000EventsSurviveThreeKills(t *testing.T) {
	t.Parallel()
	const kills, pushers, batch = 3, 4, 10
	ctx := bounded(t, 4*time.Minute)
	dev := harness.StartDev(t, "--faults", "lost-after=0.05,error-after=0.05,notice-lost=0.5,seed=5")
	client := dev.Client()
	s := mixed(rand.New(rand.NewPCG(1, 2)), pushers) // #nosec G404 -- a repeatable test
	n := 0
	for _, events := range s.pushers {
		n += len(events)
	}
	if n != eventsTotal {
		t.Fatalf("%d events, want %d", n, eventsTotal)
	}
	began := time.Now()
	outcomes := push(ctx, t, dev, client, s, kills, batch)
	pushed := time.Since(began)
	db := dev.DB()
	harness.Eventually(t, 2*time.Minute, "all valid refunds are SUCCESS", func() (bool, string) {
		return db.Int(ctx, `SELECT count(*) FROM refunds WHERE state = 'SUCCESS'`) == eventRefunds,
			db.Text(ctx, `SELECT string_agg(state || ' ' || n, ', ') FROM (SELECT state, count(*) n FROM refunds GROUP BY 1) x`)
	})
	onceEach(t, dev.Sim().Effects(ctx), s.want)
	db.CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
	parked := func(where string) int64 { return db.Int(ctx, `SELECT count(*) FROM parked WHERE `+where) }
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"refunds", db.Int(ctx, `SELECT count(*) FROM refunds`), eventRefunds},
		{"payments", db.Int(ctx, `SELECT count(*) FROM payments`), eventRefunds},
		{"open parked messages", parked(`done_at IS NULL`), eventConflicts + eventPoison},
		{"parked poison", parked(`reason = 'undecodable' AND done_at IS NULL`), eventPoison},
		{"parked conflicts", parked(`reason IN ('refund-parameters-conflict', 'idempotency-key-reused') AND done_at IS NULL`), eventConflicts},
		{"conflicts", db.Int(ctx, `SELECT count(*) FROM conflicts`), eventConflicts},
		{"messages still waiting", parked(`wake_payment IS NOT NULL AND done_at IS NULL`), 0},
		{"verdicts conflict", outcomes["conflict"], eventConflicts},
		{"verdicts undecodable", outcomes["undecodable"], eventPoison},
		{"verdicts refused", outcomes["refused"], 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	t.Logf("%d events (%v), %d kills: all durable after %s, all %d refunds SUCCESS after %s; last verdicts %v; %d waited for their payment; clients repeated %d times",
		n, s.counts, kills, pushed.Round(time.Millisecond), eventRefunds, time.Since(began).Round(time.Millisecond), outcomes,
		parked(`done_how IS NOT NULL`), client.Retries.Load())
}

// push sends all events, kills the server at equal distances, and counts the verdicts.
func push(ctx context.Context, t *testing.T, dev *harness.Dev, client *harness.Client, s stream, kills, batch int) map[string]int64 {
	t.Helper()
	var sent atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	outcomes := map[string]int64{}
	for _, events := range s.pushers {
		wg.Go(func() {
			for len(events) > 0 {
				n := min(batch, len(events))
				verdicts := client.Events(ctx, events[:n]...)
				mu.Lock()
				for _, v := range verdicts {
					outcomes[v.Outcome]++
				}
				mu.Unlock()
				events = events[n:]
				sent.Add(int64(n))
			}
		})
	}
	for k := 1; k <= kills; k++ {
		harness.Eventually(t, time.Minute, "the pushers make progress", func() (bool, string) {
			return sent.Load() >= int64(k*eventsTotal/(kills+2)), fmt.Sprint(sent.Load())
		})
		dev.Kill()
		dev.Start()
	}
	wg.Wait()
	return outcomes
}
