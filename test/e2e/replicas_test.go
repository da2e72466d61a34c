package e2e

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

const caller = "refunds:write,refunds:read"

// TestMigrate migrates with three replicas at once, and once more later.
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

// replicas are processes with different roles on one database. Each test below begins and ends without a worker.
type replicas struct {
	url, config string
	flags       []string // of every process
	channel     *harness.Simulator
	sim         *harness.Sim
	a, b        *harness.Client // of two tenants
}

func (r replicas) worker(t *testing.T) *harness.Replica {
	return harness.Serve(t, r.url, r.config, "worker", r.flags...)
}

// TestReplicas checks that processes share the work of one database, and that one takes over from another.
func TestReplicas(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", url)
	shareWork(t, url, replicas{url: url})
}

// shareWork runs the tests of r on the migrated database at url.
func shareWork(t *testing.T, url string, r replicas) {
	t.Helper()
	ctx := bounded(t, 3*time.Minute)
	r.channel = harness.StartSimulator(t)
	for _, tenant := range []string{"shop-a", "shop-b"} {
		harness.AddTenant(t, url, tenant)
	}
	r.config, r.sim = harness.Account(r.channel, "demo", "keyed-queryable", "shop-a", "shop-b"), r.channel.Sim()
	api := harness.Serve(t, r.url, r.config, "api", r.flags...)
	r.a = api.Client(harness.AddKey(t, url, "shop-a", "checkout", caller))
	r.b = api.Client(harness.AddKey(t, url, "shop-b", "checkout", caller))
	for _, part := range []struct {
		name string
		run  func(context.Context, *testing.T, replicas)
	}{
		{"one accepts and another one works", rolesShare},
		{"two tenants with one refund id at one merchant account", sharedAccount}, // C29
		{"what a killed worker had begun is taken over within 15 s", takenOver},
		{"a worker that slept past its lease overwrites nothing when it wakes", formerOwnerWakes},    // M8
		{"a channel that nobody can reach after a timeout proves nothing", unreachableAfterATimeout}, // C23
	} {
		t.Run(part.name, func(t *testing.T) { part.run(ctx, t, r) })
	}
	harness.OpenDB(t, url).CheckPromises(ctx)
	harness.Verify(t, url)
}

func rolesShare(ctx context.Context, t *testing.T, r replicas) {
	w := r.worker(t)
	r.a.Accept(ctx, request("roles", 100, 100))
	r.a.UntilState(ctx, "roles", "SUCCESS", 30*time.Second)
	w.Terminate()
	if code, err := w.Wait(harness.Patience); err != nil || code != 0 {
		t.Errorf("a worker after SIGTERM: exit %d, %v", code, err)
	}
}

func sharedAccount(ctx context.Context, t *testing.T, r replicas) {
	r.worker(t)
	r.sim.SetRules(ctx, harness.Rule{Fault: "refused", RefundID: "r-17", Nth: 2}) // the second send of this id is that of b
	r.a.Accept(ctx, partial("r-17", "pay-a", 100, 100))
	r.a.UntilState(ctx, "r-17", "SUCCESS", 30*time.Second)
	r.b.Accept(ctx, partial("r-17", "pay-b", 70, 70))
	r.b.UntilState(ctx, "r-17", "FAILED", 30*time.Second)
	if mine := r.a.Refund(ctx, "r-17"); mine.State != "SUCCESS" || mine.Amount != 100 {
		t.Errorf("a's refund is %s of %d after b's was refused", mine, mine.Amount)
	}
	na, nb := r.a.Timeline(ctx, "r-17").Dispatches[0].Number, r.b.Timeline(ctx, "r-17").Dispatches[0].Number
	if na == nb {
		t.Errorf("both have the number %s", na)
	}
	if got := r.sim.EffectsOf(ctx, "r-17"); len(got) != 1 || got[0].Number != na || got[0].Amount != 100 {
		t.Errorf("the channel has %+v, want the one effect of a", got)
	}
	if res, _ := r.b.Send(ctx, http.MethodGet, "/v1/payments/pay-a", nil, nil); res.Status != http.StatusNotFound {
		t.Errorf("b reads a's payment: status %d", res.Status)
	}
}

// once fails the test unless the channel moved money once, after one send.
func (r replicas) once(ctx context.Context, t *testing.T, id string) {
	t.Helper()
	if got := r.sim.EffectsOf(ctx, id); len(got) != 1 || got[0].Requests != 1 {
		t.Errorf("the channel has %+v, want one effect after one send", got)
	}
}

func takenOver(ctx context.Context, t *testing.T, r replicas) {
	first := r.worker(t)
	r.sim.SetRules(ctx, harness.Rule{Fault: "slow", RefundID: "taken", DelayMS: 60_000})
	r.a.Accept(ctx, request("taken", 100, 100))
	r.sim.UntilMoved(ctx, "taken", 30*time.Second)
	r.worker(t)
	first.Kill()
	killed := time.Now()
	r.a.UntilState(ctx, "taken", "SUCCESS", time.Minute)
	took := time.Since(killed)
	if t.Logf("SUCCESS %s after the kill", took.Round(time.Millisecond)); took > 15*time.Second {
		t.Errorf("want at most 15 s: a lease of 10 s and a pass of the sweeper")
	}
	r.once(ctx, t, "taken")
}

func formerOwnerWakes(ctx context.Context, t *testing.T, r replicas) {
	sleeper := r.worker(t)
	r.sim.SetRules(ctx, harness.Rule{Fault: "slow", RefundID: "slept", DelayMS: 6000})
	r.a.Accept(ctx, request("slept", 100, 100))
	r.sim.UntilMoved(ctx, "slept", 30*time.Second)
	sleeper.Pause()
	r.worker(t)
	r.a.UntilState(ctx, "slept", "SUCCESS", time.Minute)
	before := r.a.Refund(ctx, "slept")
	sleeper.Resume()
	var first harness.Attempt
	harness.Eventually(t, time.Minute, "the answer of the paused worker is stored", func() (bool, string) {
		first = r.a.Timeline(ctx, "slept").Attempts[0]
		return first.Answer != nil, "no answer yet"
	})
	if !first.Late || *first.Answer != "SUCCEEDED" {
		t.Errorf("the first attempt says %s, late %t; want the channel's answer, late", *first.Answer, first.Late)
	}
	if after := r.a.Refund(ctx, "slept"); after.State != "SUCCESS" || len(r.a.Timeline(ctx, "slept").Effects) != 1 {
		t.Errorf("%s before and %s after the worker continued", before, after)
	}
	r.once(ctx, t, "slept")
}

func unreachableAfterATimeout(ctx context.Context, t *testing.T, r replicas) {
	r.worker(t)
	r.sim.SetRules(ctx, harness.Rule{Fault: "lost-after", RefundID: "c23-dial", Nth: 1}, harness.Rule{Fault: "error-before", Op: "query"})
	r.a.Accept(ctx, request("c23-dial", 100, 100))
	r.a.UntilState(ctx, "c23-dial", "UNKNOWN", 30*time.Second)
	asked := len(r.a.Timeline(ctx, "c23-dial").Attempts)
	r.channel.Kill()
	r.a.Accept(ctx, request("never-sent", 100, 100))
	r.a.Until(ctx, "never-sent", 30*time.Second, "was tried and is PENDING again", func(f harness.Refund) bool {
		return f.State == "PENDING" && f.Version >= 3
	})
	r.a.Until(ctx, "c23-dial", 30*time.Second, "was queried without an answer", func(harness.Refund) bool {
		return len(r.a.Timeline(ctx, "c23-dial").Attempts) > asked+1
	})
	if f := r.a.Refund(ctx, "c23-dial"); f.State != "UNKNOWN" {
		t.Errorf("%s while the channel is down, want UNKNOWN", f)
	}
	r.channel.Start(r.channel.Addr())
	for _, id := range []string{"c23-dial", "never-sent"} {
		r.a.UntilState(ctx, id, "SUCCESS", time.Minute)
		r.once(ctx, t, id)
	}
	never(t, r.a.Timeline(ctx, "c23-dial"), "PENDING", "FAILED")
}
