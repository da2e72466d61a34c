package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// TestDatabaseAway stops PostgreSQL abruptly under load and starts it again. Callers get a 503 meanwhile, nothing is lost,
// and the server continues without a restart and without a leaked goroutine.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	postgres := dbtest.Server(t, nil)
	harness.MustVerb(t, "migrate", "--database-url", postgres.URL())
	databaseAway(t, postgres, postgres.URL())
}

// databaseAway runs a server on the migrated database through another URL, with more flags, while PostgreSQL stops and
// starts.
func databaseAway(t *testing.T, postgres *devdb.DB, through string, flags ...string) {
	t.Helper()
	const total, first = 120, 40
	ctx := bounded(t, 4*time.Minute)
	url := postgres.URL()
	harness.AddTenant(t, url, "shop")
	key := harness.AddKey(t, url, "shop", "checkout", caller)
	channel := harness.StartSimulator(t)
	server := harness.Serve(t, through, harness.Account(channel, "demo", "keyed-queryable", "shop"), "api,worker", flags...)
	client := server.Client(key)
	for i := range 20 { // every pool has connections
		client.Accept(ctx, request(name("warm", i), 100, 100))
	}
	client.UntilState(ctx, name("warm", 19), "SUCCESS", 30*time.Second)
	before, _ := client.Metric(ctx, "go_goroutines")

	want := map[string]int64{}
	var decided atomic.Int64
	work := make(chan harness.Request, total)
	for i := range total {
		r := request(name("rf", i), int64(100+i), 1000)
		want[r.RefundID] = r.Amount
		work <- r
	}
	close(work)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for r := range work {
				if res, ok := client.Post(ctx, "key-"+r.RefundID, r); ok && res.Status != http.StatusAccepted && res.Status != http.StatusOK {
					t.Errorf("%s: status %d: %s", r.RefundID, res.Status, res.Body)
				}
				decided.Add(1)
			}
		})
	}
	harness.Eventually(t, time.Minute, "requests are being decided", func() (bool, string) { return decided.Load() >= first, fmt.Sprint(decided.Load()) })
	if err := syscall.Kill(postgres.Pid(), syscall.SIGQUIT); err != nil { // what `pg_ctl stop -m immediate` sends
		t.Fatal(err)
	}
	whileAway(ctx, t, client)
	during, _ := client.Metric(ctx, "go_goroutines")

	back := time.Now()
	if err := postgres.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	answers := time.Now()
	harness.Eventually(t, 30*time.Second, "the server is ready again", func() (bool, string) {
		res, err := client.Once(ctx, http.MethodGet, "/readyz", nil, nil)
		return err == nil && res.Status == http.StatusOK, fmt.Sprint(err, " ", string(res.Body))
	})
	ready := time.Since(answers)
	wg.Wait()
	for id := range want {
		client.UntilState(ctx, id, "SUCCESS", time.Minute)
	}
	for i := range 20 {
		want[name("warm", i)] = 100
	}
	onceEach(t, channel.Sim().Effects(ctx), want)
	harness.OpenDB(t, url).CheckPromises(ctx)
	harness.Verify(t, url)
	var after float64
	const idle = 24 // eight workers keep a connection to the channel with two goroutines each, and a few more are short-lived
	harness.Eventually(t, time.Minute, fmt.Sprintf("about as many goroutines as the %.0f of before", before), func() (bool, string) {
		client.HTTP().CloseIdleConnections() // each has a goroutine in the server
		after, _ = client.Metric(ctx, "go_goroutines")
		return after <= before+idle, fmt.Sprint(after)
	})
	t.Logf("PostgreSQL answered %s after its restart began, the server was ready %s later; goroutines %.0f before, %.0f meanwhile, %.0f after; clients repeated %d times",
		answers.Sub(back).Round(time.Millisecond), ready.Round(time.Millisecond), before, during, after, client.Retries.Load())
}

// whileAway checks the answers of a server without its database.
func whileAway(ctx context.Context, t *testing.T, client *harness.Client) {
	t.Helper()
	harness.Eventually(t, 30*time.Second, "/readyz is not ready", func() (bool, string) {
		res, err := client.Once(ctx, http.MethodGet, "/readyz", nil, nil)
		return err == nil && res.Status == http.StatusServiceUnavailable, fmt.Sprint(err, " ", res.Status)
	})
	if res, err := client.Once(ctx, http.MethodGet, "/livez", nil, nil); err != nil || res.Status != http.StatusOK {
		t.Errorf("/livez: %v status %d, want 200, since the process runs", err, res.Status)
	}
	const callers = 200
	together(callers, func(i int) {
		method, path, body := http.MethodPost, "/v1/refunds", any(request(name("away", i), 100, 100))
		switch i % 4 {
		case 1:
			method, path, body = http.MethodGet, "/v1/refunds/"+name("warm", 1), nil
		case 2:
			method, path, body = http.MethodPut, "/v1/payments/pay-away", map[string]any{"orderId": "o", "amount": 1, "currency": "USD", "channelAccount": "demo"}
		}
		began := time.Now()
		res, err := client.Once(ctx, method, path, harness.Headers{"Idempotency-Key": name("away", i)}, body)
		if err != nil || res.Status != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %v status %d Retry-After %q, want 503 with Retry-After: %s", method, path, err, res.Status, res.Header.Get("Retry-After"), res.Body)
			return
		}
		if p := res.Problem(t); !p.Retryable || (p.Code != "unavailable" && p.Code != "overloaded") {
			t.Errorf("%s %s: problem %+v, want unavailable and retryable", method, path, p)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s %s: answered after %s", method, path, took)
		}
	})
}
