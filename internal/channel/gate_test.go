package channel

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refundtest"
)

func limiterOf(t *testing.T, perSecond int, cfg CallLimiterConfig) *CallLimiter {
	t.Helper()
	c := refundtest.Contract()
	c.Limits.PerSecond = perSecond
	r, err := NewRegistry(map[string]Account{"a": {Client: noChannel{}, Contract: c}, "b": {Client: noChannel{}, Contract: c}})
	if err != nil {
		t.Fatal(err)
	}
	return NewCallLimiter(r, cfg)
}

// A channel that gives no answer gets no calls for a while and is then tried again. Other accounts are not affected, and a
// call that was not made does not count.
func TestBreakerOpensAndTriesAgain(t *testing.T) {
	t.Parallel()
	turned := make(chan bool, 8)
	g := limiterOf(t, 0, CallLimiterConfig{Failures: 3, Open: 50 * time.Millisecond, Probes: 1,
		BreakerChanged: func(_ string, open bool) { turned <- open }})
	for _, k := range []refund.FactKind{refund.Unknown, refund.NotSent, "", refund.Succeeded, refund.Unknown, "", refund.Unknown, refund.NotSent} {
		done, _, _ := g.Admit("a")
		if done == nil {
			t.Fatalf("before %q: the breaker opened too early", k)
		}
		done(k)
		done(refund.Succeeded) // a second report is ignored
	}
	if !<-turned {
		t.Error("three failures in a row did not open the breaker")
	}
	if done, wait, why := g.Admit("a"); done != nil || wait <= 0 || why != refund.PendingBreaker {
		t.Errorf("after three failures: admitted %v, wait %s, %q", done != nil, wait, why)
	}
	if done, _, _ := g.Admit("b"); done == nil {
		t.Error("the breaker of one account stopped another")
	}
	var probe func(refund.FactKind)
	for end := time.Now().Add(10 * time.Second); probe == nil && time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		probe, _, _ = g.Admit("a")
	}
	if probe == nil {
		t.Fatal("no probe was admitted")
	}
	if done, _, why := g.Admit("a"); done != nil || why != refund.PendingBreaker {
		t.Error("a second probe was admitted beside the first")
	}
	probe("") // no call was made: the next probe is admitted
	again, _, _ := g.Admit("a")
	if again == nil {
		t.Fatal("a probe without a call must not block the next one")
	}
	again(refund.RefusedClean)
	if <-turned {
		t.Error("an answer did not close the breaker")
	}
	if done, _, _ := g.Admit("a"); done == nil {
		t.Error("the closed breaker admits no call")
	}
}

func TestLimiterKeepsTheRate(t *testing.T) {
	t.Parallel()
	g := limiterOf(t, 2, CallLimiterConfig{})
	for range 2 {
		if done, _, _ := g.Admit("a"); done == nil {
			t.Fatal("a burst of one second was not admitted")
		}
	}
	if done, wait, why := g.Admit("a"); done != nil || wait <= 0 || wait > 3*time.Second || why != refund.PendingRateLimit {
		t.Errorf("third call: admitted %v, wait %s, %q", done != nil, wait, why)
	}
	if done, _, _ := g.Admit("not configured"); done == nil {
		t.Error("an account without a limiter was not admitted")
	}
}
