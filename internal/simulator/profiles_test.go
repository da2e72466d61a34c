package simulator_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/simulator"
)

func wantAnswer(t *testing.T, what string, a answer, status int, field, value string) {
	t.Helper()
	if a.status != status || a.field(field) != value {
		t.Errorf("%s: %v, want %d with %s %s", what, a, status, field, value)
	}
}

// TestListAndMatchKeepsTheFirstAnswer repeats numbers for 24 hours. The first answer is kept, a 500 too, whether or not
// money moved, and also after a restart.
func TestListAndMatchKeepsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	const account = "demo-list-and-match"
	for fault, effects := range map[string]int{"error-before": 0, "error-after": 1} {
		b.faults(`{"rules":[{"fault":"` + fault + `"}]}`)
		wantAnswer(t, fault, b.send(account, fault), 500, "code", "internal_error")
		b.faults(`{"rules":[]}`)
		wantAnswer(t, fault+" again", b.send(account, fault), 500, "code", "internal_error")
		wantAnswer(t, "other amount", b.sendAmount(account, fault, "7"), 409, "code", "number_reused")
		b.wantEffects(fault, effects)
	}
	b.faults(`{"spec":"refused=1"}`)
	wantAnswer(t, "refused", b.send(account, "no"), 422, "code", "not_refundable_window")
	b = b.restart(simulator.Config{})
	wantAnswer(t, "refused, after a restart", b.send(account, "no"), 422, "code", "not_refundable_window")
	wantAnswer(t, "a 500, after a restart", b.send(account, "error-after"), 500, "code", "internal_error")
	b.faults(`{"spec":"rate-limited=1"}`)
	wantAnswer(t, "429", b.send(account, "busy"), 429, "code", "rate_limited")
	b.faults(`{"spec":"pending=1"}`)
	wantAnswer(t, "a 429 is not kept", b.send(account, "busy"), 200, "status", "pending")
	b.faults(`{"spec":""}`)
	b.clock.Add(time.Hour)
	wantAnswer(t, "the first answer, not the state", b.send(account, "busy"), 200, "status", "pending")
	b.clock.Add(24 * time.Hour)
	wantAnswer(t, "the key has expired", b.send(account, "no"), 200, "status", "succeeded")
	wantAnswer(t, "the key has expired", b.send(account, "error-after"), 200, "status", "succeeded")
	b.wantEffects("error-after", 2)
	if n, complete := b.list(account, "ch_77"); n != 4 || !complete {
		t.Errorf("the list has %d refunds, complete %v, want 4", n, complete)
	}
	wantAnswer(t, "query", b.query(account, "no"), 405, "code", "query_not_supported")
}

func TestListAndMatchHoldsAndReturns(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "low-balance=1,late-failure=1"})
	const account = "demo-list-and-match"
	wantAnswer(t, "low balance", b.send(account, "n1"), 200, "status", "pending")
	b.wantEffects("n1", 0)
	b.clock.Add(2 * time.Second)
	b.wantEffects("n1", 1)
	b.clock.Add(3 * time.Second)
	a := b.do("GET", "/v1/payments/ch_77/refunds?account="+account, nil, "")
	if !strings.Contains(string(a.body), `"status":"failed"`) || b.effects("n1")[0].Status != "returned" {
		t.Errorf("money that came back: %s and %+v", a.body, b.effects("n1"))
	}
}

// TestListAndMatchRefusesConcurrentSends sends a number while its first send has no answer yet. The second send is refused
// and does nothing.
func TestListAndMatchRefusesConcurrentSends(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{SlowDelay: time.Hour})
	b.faults(`{"rules":[{"fault":"slow","nth":1}]}`)
	var wg sync.WaitGroup
	wg.Go(func() { b.send("demo-list-and-match", "n1") })
	eventually(t, "the first send is under way", func() bool { return len(b.effects("n1")) == 1 })
	wantAnswer(t, "concurrent send", b.send("demo-list-and-match", "n1"), 409, "code", "in_flight")
	b.wantEffects("n1", 1)
	_ = b.sim.Close()
	wg.Wait()
}

func TestKeyReplayReturnsTheCurrentState(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "pending=1"})
	const account = "demo-key-replay-only"
	wantAnswer(t, "first", b.send(account, "n1"), 200, "status", "pending")
	b.clock.Add(2 * time.Second)
	wantAnswer(t, "again", b.send(account, "n1"), 200, "status", "succeeded")
	wantAnswer(t, "query", b.query(account, "n1"), 405, "code", "query_not_supported")
	b.clock.Add(45 * 24 * time.Hour)
	wantAnswer(t, "the key has expired", b.send(account, "n1"), 200, "status", "pending")
	b.clock.Add(2 * time.Second)
	b.wantEffects("n1", 2)
}

// TestKeyAfter2xx checks that a key is kept only after a 2xx: after an error the same number acts again, and so do
// concurrent sends.
func TestKeyAfter2xx(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{SlowDelay: time.Hour})
	const account = "demo-key-after-2xx"
	b.faults(`{"rules":[{"fault":"error-after","number":"e","nth":1},{"fault":"lost-after","number":"l","nth":1},{"fault":"slow","number":"s","nth":1}]}`)
	wantAnswer(t, "error after the effect", b.send(account, "e"), 500, "code", "internal_error")
	wantAnswer(t, "again", b.send(account, "e"), 200, "status", "succeeded")
	wantAnswer(t, "and again", b.send(account, "e"), 200, "status", "succeeded")
	b.wantEffects("e", 2)
	if a := b.send(account, "l"); !a.lost {
		t.Errorf("lost: %v", a)
	}
	wantAnswer(t, "a lost 2xx counts", b.send(account, "l"), 200, "status", "succeeded")
	b.wantEffects("l", 1)
	var wg sync.WaitGroup
	wg.Go(func() { b.send(account, "s") })
	eventually(t, "the slow send is under way", func() bool { return len(b.effects("s")) == 1 })
	wantAnswer(t, "concurrent send", b.send(account, "s"), 200, "status", "succeeded")
	b.wantEffects("s", 2)
	_ = b.sim.Close()
	wg.Wait()
}

func TestNoticeOnlyOnlyAcknowledges(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{PendingDelay: 5 * time.Second})
	const account = "demo-notice-only"
	wantAnswer(t, "send", b.send(account, "n1"), 200, "status", "pending")
	b.wantEffects("n1", 0)
	b.clock.Add(5 * time.Second)
	b.wantEffects("n1", 1)
	wantAnswer(t, "again", b.send(account, "n1"), 200, "status", "pending")
	wantAnswer(t, "query", b.query(account, "n1"), 405, "code", "query_not_supported")
}

// TestRulesOfChannels checks that the rules of channels refuse and count the requests that break them.
func TestRulesOfChannels(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	wantHits := func(hits string) {
		t.Helper()
		if a := b.do("GET", "/faults", nil, ""); !strings.Contains(string(a.body), `"hits":`+hits) {
			t.Errorf("hits: %s, want %s", a.body, hits)
		}
	}
	b.faults(`{"rules":[{"fault":"spacing","delayMs":60000}]}`)
	wantAnswer(t, "first", b.send("demo", "s1"), 200, "status", "succeeded")
	wantAnswer(t, "too soon", b.send("demo", "s2"), 429, "code", "too_soon")
	wantAnswer(t, "a known number makes no new refund", b.send("demo", "s1"), 200, "status", "succeeded")
	wantHits("1")
	b.clock.Add(time.Minute)
	wantAnswer(t, "in time", b.send("demo", "s2"), 200, "status", "succeeded")
	b.faults(`{"rules":[{"fault":"count-limit","limit":3}]}`)
	wantAnswer(t, "third", b.send("demo", "c1"), 200, "status", "succeeded")
	wantAnswer(t, "fourth", b.send("demo", "c2"), 422, "code", "refund_count_exceeded")
	wantHits("1")
	b.faults(`{"rules":[{"fault":"duplicate-window","delayMs":10000}]}`)
	wantAnswer(t, "equal", b.send("demo", "d1"), 409, "code", "duplicate_refund")
	wantAnswer(t, "another amount", b.sendAmount("demo", "d2", "3"), 200, "status", "succeeded")
	b.clock.Add(11 * time.Second)
	wantAnswer(t, "later", b.send("demo", "d1"), 200, "status", "succeeded")
	wantHits("1")
	b.faults(`{"rules":[{"fault":"key-expired","number":"s1","nth":3}]}`)
	wantAnswer(t, "forgotten key", b.send("demo", "s1"), 200, "status", "succeeded")
	b.wantEffects("s1", 2)
	wantHits("1")
	b.wantEffects("c2", 0)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("not within the time: %s", what)
}
