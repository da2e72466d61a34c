package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// balancer is a load balancer: it asks /readyz of every backend and sends requests in turn to those that are ready.
type balancer struct {
	proxy    *httputil.ReverseProxy
	turn     atomic.Uint64
	ready    atomic.Pointer[[]*url.URL]
	mu       sync.Mutex
	backends []*url.URL
}

func newBalancer() *balancer {
	b := &balancer{}
	b.ready.Store(&[]*url.URL{})
	b.proxy = &httputil.ReverseProxy{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Rewrite: func(r *httputil.ProxyRequest) {
		ready := *b.ready.Load()
		if len(ready) > 0 {
			r.SetURL(ready[b.turn.Add(1)%uint64(len(ready))])
		}
	}}
	return b
}

// probe asks every backend once.
func (b *balancer) probe(ctx context.Context) {
	b.mu.Lock()
	backends := slices.Clone(b.backends)
	b.mu.Unlock()
	var ready []*url.URL
	for _, u := range backends {
		if answers(ctx, u.JoinPath("readyz").String()) {
			ready = append(ready, u)
		}
	}
	b.ready.Store(&ready)
}

func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

func (b *balancer) probeEvery(ctx context.Context, pause time.Duration) {
	for ctx.Err() == nil {
		b.probe(ctx)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// add adds a replica and waits until requests go to it.
func (b *balancer) add(t *testing.T, r *harness.Replica) *url.URL {
	t.Helper()
	u, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	b.mu.Lock()
	b.backends = append(b.backends, u)
	b.mu.Unlock()
	harness.Eventually(t, harness.Patience, "the balancer finds the replica ready", func() (bool, string) {
		return slices.Contains(*b.ready.Load(), u), fmt.Sprint(*b.ready.Load())
	})
	return u
}

func (b *balancer) remove(u *url.URL) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.backends = slices.DeleteFunc(b.backends, func(x *url.URL) bool { return x == u })
}

// load asks for refunds through the balancer until ctx ends.
type load struct {
	base, key string
	asked     atomic.Int64
	mu        sync.Mutex
	failed    []string
}

func (l *load) run(ctx context.Context, caller int) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("rf_%d_%d", caller, i)
		if err := l.ask(client, id); err != nil {
			l.mu.Lock()
			l.failed = append(l.failed, id+": "+err.Error())
			l.mu.Unlock()
		}
		l.asked.Add(1)
		select {
		case <-time.After(40 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// ask is not bounded by the context of the load: a request that has begun must be answered.
func (l *load) ask(client *http.Client, id string) error {
	body := fmt.Sprintf(`{"refundId":%q,"orderId":"ord","paymentId":"pay_%s","amount":100,"currency":"USD",`+
		`"payment":{"orderId":"ord","amount":1000,"currency":"USD","channelAccount":"demo"}}`, id, id)
	req, err := http.NewRequest(http.MethodPost, l.base+"/v1/refunds", bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.GetBody = nil // the transport must not hide a failure by a repeat
	req.Header.Set("Authorization", "Bearer "+l.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "key-"+id)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%d %s", res.StatusCode, text)
	}
	return nil
}

// TestARollingRestartFailsNoRequest restarts two replicas ten times in turn, under load and behind a load balancer.
func TestARollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	ctx := bounded(t, 5*time.Minute)
	dbURL := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", dbURL)
	harness.AddTenant(t, dbURL, "shop")
	channel := harness.StartSimulator(t)
	config := harness.Account(channel, "demo", "keyed-queryable", "shop")
	start := func() *harness.Replica { return harness.Serve(t, dbURL, config, "api,worker", "--drain-delay", "2s") }

	b := newBalancer()
	front := httptest.NewServer(b.proxy)
	defer front.Close()
	probing, stopProbing := context.WithCancel(ctx)
	defer stopProbing()
	go b.probeEvery(probing, 50*time.Millisecond)
	type backend struct {
		*harness.Replica
		at *url.URL
	}
	var running [2]backend
	for i := range running {
		r := start()
		running[i] = backend{r, b.add(t, r)}
	}

	l := &load{base: front.URL, key: harness.AddKey(t, dbURL, "shop", "checkout", caller)}
	loading, stopLoading := context.WithCancel(ctx)
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() { l.run(loading, i) })
	}
	for i := range 10 {
		old := running[i%2]
		before := l.asked.Load()
		old.Terminate()
		if code, err := old.Wait(45 * time.Second); err != nil || code != 0 {
			t.Errorf("restart %d: exit %d, %v, want a process that has ended in order", i+1, code, err)
		}
		b.remove(old.at)
		r := start()
		running[i%2] = backend{r, b.add(t, r)}
		if l.asked.Load() == before {
			t.Errorf("restart %d: nothing was asked meanwhile", i+1)
		}
	}
	stopLoading()
	callers.Wait()
	for _, f := range l.failed[:min(len(l.failed), 10)] {
		t.Error(f)
	}
	if len(l.failed) > 0 {
		t.Errorf("%d of %d requests failed, want none", len(l.failed), l.asked.Load())
	}
	db := harness.OpenDB(t, dbURL)
	harness.Eventually(t, harness.Patience, "every refund is paid", func() (bool, string) {
		open := db.Int(ctx, `SELECT count(*) FROM refunds WHERE state <> 'SUCCESS'`)
		return open == 0, fmt.Sprintf("%d are not", open)
	})
	harness.Verify(t, dbURL)
}
