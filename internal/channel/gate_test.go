package channel

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refundtest"
)

func gateOf(t *testing.T, perSecond int, cfg CallLimiterConfig) *CallLimiter {
	t.Helper()
	c := refundtest.Contract()
	c.Limits.PerSecond = perSecond
	r, err := NewRegistry(map[string]Account{"a": {Client: noChannel{}, Contract: c}, "b": {Client: noChannel{}, Contract: c}})
	if err != nil {
		t.Fatal(err)
	}
	return NewCallLimiter(r, cfg)
}

// A channel that answers nothing is left alone for a while, then tried; other accounts go on, and a call that was not made
// counts for nothing.
func TestGateStopsAndTries(t *testing.T) {
	t.Parallel()
	turns := make(chan bool, 8)
	g := gateOf(t, 0, CallLimiterConfig{Failures: 3, Open: 50 * time.Millisecond, Probes: 1, Turned: func(_ string, open bool) { turns <- open }})
	for _, k := range []refund.FactKind{refund.Unknown, refund.NotSent, "", refund.Succeeded, refund.Unknown, "", refund.Unknown, refund.NotSent} {
		done, _, _ := g.Admit("a")
		if done == nil {
			t.Fatalf("before %q: closed too early", k)
		}
		done(k)
		done(refund.Succeeded) // a second word is not heard
	}
	if !<-turns {
		t.Error("three failures in a row must open the breaker")
	}
	if done, wait, why := g.Admit("a"); done != nil || wait <= 0 || why != refund.PendingBreaker {
		t.Errorf("after three failures: admitted %v, wait %s, %q", done != nil, wait, why)
	}
	if done, _, _ := g.Admit("b"); done == nil {
		t.Error("the other account must go on")
	}
	var probe func(refund.FactKind)
	for end := time.Now().Add(10 * time.Second); probe == nil && time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		probe, _, _ = g.Admit("a")
	}
	if probe == nil {
		t.Fatal("it was never tried again")
	}
	if done, _, why := g.Admit("a"); done != nil || why != refund.PendingBreaker {
		t.Error("one probe at a time")
	}
	probe("") // it came to nothing: the next one may try
	again, _, _ := g.Admit("a")
	if again == nil {
		t.Fatal("a probe that made no call must not close the way")
	}
	again(refund.RefusedClean)
	if <-turns {
		t.Error("an answer closes the breaker")
	}
	if done, _, _ := g.Admit("a"); done == nil {
		t.Error("calls go on")
	}
}

func TestGateKeepsTheRate(t *testing.T) {
	t.Parallel()
	g := gateOf(t, 2, CallLimiterConfig{})
	for range 2 {
		if done, _, _ := g.Admit("a"); done == nil {
			t.Fatal("a burst of one second is allowed")
		}
	}
	if done, wait, why := g.Admit("a"); done != nil || wait <= 0 || wait > 3*time.Second || why != refund.PendingRateLimit {
		t.Errorf("third call: admitted %v, wait %s, %q", done != nil, wait, why)
	}
	if done, _, _ := g.Admit("not configured"); done == nil {
		t.Error("an unknown account is not the gate's business")
	}
}
