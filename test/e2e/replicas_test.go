package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

const caller = "refunds:write,refunds:read"

// TestMigrate: three replicas at once, and again later.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if r := harness.Verb(t, nil, "migrate", "--database-url", url); r.Exit != 0 {
				t.Errorf("migrate, three at once: exit %d: %s", r.Exit, last(r.Stderr))
			}
		})
	}
	wg.Wait()
	if out := harness.MustVerb(t, "migrate", "--json", "--database-url", url); !strings.Contains(out, `"applied":[]`) {
		t.Errorf("migrate again: %s, want nothing to do", out)
	}
}

// TestReplicas: processes with different roles share the work of one database, and one takes over what another one, killed,
// had begun.
func TestReplicas(t *testing.T) {
	t.Parallel()
	ctx := bounded(t, 3*time.Minute)
	url := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", url)
	harness.AddTenant(t, url, "shop-a")
	harness.AddTenant(t, url, "shop-b")
	channel := harness.StartSimulator(t)
	config := harness.Account(channel, "demo", "keyed-queryable", "shop-a", "shop-b")
	api := harness.Serve(t, url, config, "api")
	first := harness.Serve(t, url, config, "worker")
	sim, db := channel.Sim(), harness.OpenDB(t, url)
	a := api.Client(harness.AddKey(t, url, "shop-a", "checkout", caller))
	b := api.Client(harness.AddKey(t, url, "shop-b", "checkout", caller))

	t.Run("one accepts and another one works", func(t *testing.T) {
		a.Accept(ctx, request("roles", 100, 100))
		a.UntilState(ctx, "roles", "SUCCESS", 30*time.Second)
	})
	t.Run("C29 two tenants with one refund id at one merchant account", func(t *testing.T) {
		rules := []harness.Rule{{Fault: "refused", RefundID: "r-17", Nth: 2}}
		sim.SetRules(ctx, rules...)
		a.Accept(ctx, partial("r-17", "pay-a", 100, 100))
		a.UntilState(ctx, "r-17", "SUCCESS", 30*time.Second)
		b.Accept(ctx, partial("r-17", "pay-b", 70, 70))
		b.UntilState(ctx, "r-17", "FAILED", 30*time.Second) // the channel refuses b's, and only b's
		if r := a.Refund(ctx, "r-17"); r.State != "SUCCESS" || r.Amount != 100 {
			t.Errorf("a's refund is %s of %d after b's was refused", r, r.Amount)
		}
		na, nb := a.Timeline(ctx, "r-17").Dispatches[0].Number, b.Timeline(ctx, "r-17").Dispatches[0].Number
		if na == nb {
			t.Errorf("both have the number %s", na)
		}
		if got := sim.EffectsOf(ctx, "r-17"); len(got) != 1 || got[0].Number != na || got[0].Amount != 100 {
			t.Errorf("the channel has %+v, want the one effect of a", got)
		}
		if res, _ := b.Send(ctx, http.MethodGet, "/v1/payments/pay-a", nil, nil); res.Status != http.StatusNotFound {
			t.Errorf("b reads a's payment: status %d", res.Status)
		}
	})
	t.Run("what a killed worker had begun is taken over within 15 s", func(t *testing.T) {
		sim.SetRules(ctx, harness.Rule{Fault: "slow", RefundID: "taken", DelayMS: 60_000})
		a.Accept(ctx, request("taken", 100, 100))
		sim.UntilMoved(ctx, "taken", 30*time.Second)
		harness.Serve(t, url, config, "worker")
		first.Kill()
		killed := time.Now()
		a.UntilState(ctx, "taken", "SUCCESS", time.Minute)
		if took := time.Since(killed); took > 15*time.Second {
			t.Errorf("SUCCESS %s after the kill, want at most 15 s", took)
		} else {
			t.Logf("SUCCESS %s after the kill", took.Round(time.Millisecond))
		}
		if got := sim.EffectsOf(ctx, "taken"); len(got) != 1 || got[0].Requests != 1 {
			t.Errorf("the channel has %+v, want one effect after one send", got)
		}
	})
	t.Run("M8 a worker that slept past its lease overwrites nothing when it wakes", func(t *testing.T) {
		sleeper := harness.Serve(t, url, config, "worker")
		sim.SetRules(ctx, harness.Rule{Fault: "slow", RefundID: "slept", DelayMS: 2000})
		a.Accept(ctx, request("slept", 100, 100))
		sim.UntilMoved(ctx, "slept", 30*time.Second)
		sleeper.Pause()
		harness.Serve(t, url, config, "worker")
		a.UntilState(ctx, "slept", "SUCCESS", time.Minute)
		before := a.Refund(ctx, "slept")
		sleeper.Resume()
		var first harness.Attempt
		harness.Eventually(t, time.Minute, "the answer that the sleeper had got is kept", func() (bool, string) {
			first = a.Timeline(ctx, "slept").Attempts[0]
			return first.Answer != nil, "no answer yet"
		})
		if !first.Late || *first.Answer != "SUCCEEDED" {
			t.Errorf("the first attempt says %s, late %t; want the channel's own word, late", *first.Answer, first.Late)
		}
		if after := a.Refund(ctx, "slept"); after.State != "SUCCESS" || len(a.Timeline(ctx, "slept").Effects) != 1 {
			t.Errorf("%s before and %s after the sleeper woke", before, after)
		}
		if got := sim.EffectsOf(ctx, "slept"); len(got) != 1 || got[0].Requests != 1 {
			t.Errorf("the channel has %+v, want one effect after one send", got)
		}
	})
	t.Run("a channel that nobody can reach proves nothing", func(t *testing.T) { // C23: dial refused after a timeout
		second := harness.Serve(t, url, config, "worker")
		sim.SetRules(ctx, harness.Rule{Fault: "lost-after", RefundID: "c23-dial", Nth: 1}, harness.Rule{Fault: "error-before", Op: "query"})
		a.Accept(ctx, request("c23-dial", 100, 100))
		a.UntilState(ctx, "c23-dial", "UNKNOWN", 30*time.Second)
		asked := len(a.Timeline(ctx, "c23-dial").Attempts)
		channel.Kill()
		a.Accept(ctx, request("never-sent", 100, 100))
		a.Until(ctx, "never-sent", 30*time.Second, "was tried and is PENDING again", func(r harness.Refund) bool {
			return r.State == "PENDING" && r.Version >= 3
		})
		a.Until(ctx, "c23-dial", 30*time.Second, "was asked about in vain", func(harness.Refund) bool {
			return len(a.Timeline(ctx, "c23-dial").Attempts) > asked
		})
		if r := a.Refund(ctx, "c23-dial"); r.State != "UNKNOWN" {
			t.Errorf("%s while the channel is away, want UNKNOWN", r)
		}
		channel.Start(channel.Addr())
		for _, id := range []string{"c23-dial", "never-sent"} {
			a.UntilState(ctx, id, "SUCCESS", time.Minute)
			if got := sim.EffectsOf(ctx, id); len(got) != 1 {
				t.Errorf("%s: the channel has %+v, want one effect", id, got)
			}
		}
		never(t, a.Timeline(ctx, "c23-dial"), "PENDING", "FAILED")
		second.Terminate()
		if code, err := second.Wait(harness.Patience); err != nil || code != 0 {
			t.Errorf("a replica told to end: exit %d, %v", code, err)
		}
	})
	db.CheckPromises(ctx)
	harness.Verify(t, url)
}
