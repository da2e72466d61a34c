package store

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// doors opens n doors on the test store's database, each with a store and a pool of its own, like n replicas.
func (b *testStore) doors(t *testing.T, n int) []*intake.Door {
	t.Helper()
	var out []*intake.Door
	for range n {
		s, err := Open(t.Context(), Config{URL: b.url, Accounts: anyAccount{testContract()}, MaxConns: 8})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		d := intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID, BusyAfter: 20 * time.Second, TransactionTimeout: 30 * time.Second})
		t.Cleanup(d.Stop)
		out = append(out, d)
	}
	return out
}

// tally counts outcomes of many goroutines.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[key]++
}

func verdictText(o intake.Outcome) string {
	if o.Code != "" {
		return string(o.Verdict) + " " + string(o.Code)
	}
	return string(o.Verdict)
}

// allAtOnce sends every intake by itself, all at the same moment, over the doors in turn.
func allAtOnce(t *testing.T, doors []*intake.Door, g []intake.Intake) *tally {
	t.Helper()
	var c tally
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i, in := range g {
		wg.Go(func() {
			<-start
			out, err := doors[i%len(doors)].Accept(context.Background(), []intake.Intake{in})
			if err != nil {
				t.Errorf("%s: %v", in.Event.ID, err)
				return
			}
			c.add(verdictText(out[0]))
		})
	}
	close(start)
	wg.Wait()
	return &c
}

func (c *tally) want(t *testing.T, want map[string]int) {
	t.Helper()
	if fmt.Sprint(c.n) != fmt.Sprint(want) {
		t.Errorf("outcomes %v, want %v", c.n, want)
	}
}

func TestIdenticalRequestsAtOnce(t *testing.T) {
	b := newTestStore(t)
	var g []intake.Intake
	for range 200 {
		in := b.request("one-key", "rf_1", "pay_1", 60, inlinePayment(100))
		g = append(g, in)
	}
	allAtOnce(t, b.doors(t, 2), g).want(t, map[string]int{"TAKEN": 1, "REPLAYED": 199})
	if n := b.count(t, `SELECT count(*) FROM refunds`); n != 1 {
		t.Errorf("%d refunds, want 1", n)
	}
	b.wantNoViolations(t)
}

// Half of the callers ask for another amount: one set of parameters wins, and every loser gets a recorded conflict.
func TestOneRefundTwoAmountsAtOnce(t *testing.T) {
	b := newTestStore(t)
	var g []intake.Intake
	for i := range 200 {
		g = append(g, b.request(fmt.Sprintf("e%d", i), "rf_1", "pay_1", 50+int64(i%2), inlinePayment(1000)))
	}
	allAtOnce(t, b.doors(t, 2), g).want(t, map[string]int{"TAKEN": 1, "REPLAYED": 99, "CONFLICT refund-parameters-conflict": 100})
	if n := b.count(t, `SELECT count(*) FROM conflicts WHERE kind = 'REFUND_PARAMS' AND (got->>'amount')::bigint <> (SELECT amount FROM refunds) AND fields = '{amount}'`); n != 100 {
		t.Errorf("%d losers recorded, want 100", n)
	}
	b.wantNoViolations(t)
}

func TestHundredRefundsOf60On100(t *testing.T) {
	b := newTestStore(t)
	b.accept(t, b.captured("c1", "pay_1", "cap_1", 100))
	var g []intake.Intake
	for i := range 100 {
		g = append(g, b.request(fmt.Sprintf("e%d", i), fmt.Sprintf("rf_%d", i), "pay_1", 60, nil))
	}
	allAtOnce(t, b.doors(t, 2), g).want(t, map[string]int{"TAKEN": 1, "REFUSED amount-exceeds-refundable": 99})
	b.wantNoViolations(t)
}

// A payment of 100,000 takes exactly 3,333 concurrent refunds of 30, in groups of any size.
func TestHotPayment(t *testing.T) {
	b := newTestStore(t)
	b.accept(t, b.captured("c1", "hot", "cap_1", 100_000))
	doors := b.doors(t, 2)
	const callers, each, size = 16, 250, 40 // 4,000 items in groups of 1 to 40
	var c tally
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for n := 0; n < each; {
				var g []intake.Intake
				for range min(1+(7*w+n)%size, each-n) {
					id := fmt.Sprintf("%d-%d", w, n)
					g = append(g, b.request("e"+id, "rf_"+id, "hot", 30, nil))
					n++
				}
				out, err := doors[w%2].Accept(context.Background(), g)
				if err != nil {
					t.Error(err)
					return
				}
				for _, o := range out {
					c.add(verdictText(o))
				}
			}
		})
	}
	wg.Wait()
	c.want(t, map[string]int{"TAKEN": 3333, "REFUSED amount-exceeds-refundable": callers*each - 3333})
	if n := b.count(t, `SELECT reserved FROM payments`); n != 99_990 {
		t.Errorf("reserved %d, want 99990", n)
	}
	b.wantNoViolations(t)
}

// Groups that overlap in events, refunds and payments, in opposite orders, do not deadlock; each identity is decided once.
func TestOverlappingGroups(t *testing.T) {
	b := newTestStore(t)
	doors := b.doors(t, 2)
	const callers, rounds, width = 8, 12, 20
	var c tally
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for r := range rounds {
				var g []intake.Intake
				for i := range width {
					k := i
					if w%2 == 1 {
						k = width - 1 - i
					}
					id := fmt.Sprintf("%d-%d", r, k)
					g = append(g, b.request(fmt.Sprintf("e%s-%d", id, w%3), "rf_"+id, fmt.Sprintf("pay_%d-%d", r, k%5), 10, inlinePayment(10_000)))
				}
				out, err := doors[w%2].Accept(context.Background(), g)
				if err != nil {
					t.Error(err)
					return
				}
				for _, o := range out {
					c.add(verdictText(o))
				}
			}
		})
	}
	wg.Wait()
	c.want(t, map[string]int{"TAKEN": rounds * width, "REPLAYED": (callers - 1) * rounds * width})
	if n := b.count(t, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	b.wantNoViolations(t)
}
