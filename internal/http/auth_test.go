package httpapi_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/access"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// manualClock is a clock that the test sets.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func (h *manualClock) read() time.Time { h.mu.Lock(); defer h.mu.Unlock(); return h.now }

func (h *manualClock) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func TestRevokedKeyIsRefusedWithinASecond(t *testing.T) {
	t.Parallel()
	clock := &manualClock{now: epoch}
	w, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) {
		cfg.Clock = clock.read
		cfg.Limits.KeyTTL = time.Hour // capped at a second
	})
	for range 20 {
		if r := c.do("GET", "/v1/refunds", ""); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if w.lookups != 1 {
		t.Errorf("%d look-ups for 20 requests within a second, want 1", w.lookups)
	}
	k := w.keys["Writer01"]
	k.RevokedAt = epoch
	w.keys["Writer01"] = k
	clock.advance(time.Second)
	if r := c.do("GET", "/v1/refunds", ""); r.status != 401 {
		t.Errorf("status %d a second after the key was revoked, want 401", r.status)
	}
}

func TestInvalidKeysGetTheAnswerOfUnknownKeys(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*access.APIKeyRecord){
		"revoked":        func(k *access.APIKeyRecord) { k.RevokedAt = time.Now().Add(-time.Hour) },
		"expired":        func(k *access.APIKeyRecord) { k.ExpiresAt = time.Now().Add(-time.Second) },
		"actor disabled": func(k *access.APIKeyRecord) { k.ActorDisabled = true },
		"live tenant":    func(k *access.APIKeyRecord) { k.Mode = access.ModeLive },
		"another secret": func(k *access.APIKeyRecord) { k.SecretHash[0]++ },
	} {
		w, c := serve(t, nil)
		k := w.keys["Writer01"]
		change(&k)
		w.keys["Writer01"] = k
		unknownKey := "Bearer " + strings.Replace(writerKey, "Writer01", "Nobody01", 1)
		unknown := c.do("GET", "/v1/refunds", "", "Authorization", unknownKey, "X-Request-Id", "same")
		r := c.do("GET", "/v1/refunds", "", "X-Request-Id", "same")
		if r.status != 401 || r.body != unknown.body {
			t.Errorf("%s: %d %s, want the answer of an unknown key: %s", name, r.status, r.body, unknown.body)
		}
	}
}

func TestUnknownPrefixesAreCachedForASecond(t *testing.T) {
	t.Parallel()
	clock := &manualClock{now: epoch}
	w, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) { cfg.Clock = clock.read })
	stranger := "Bearer " + strings.Replace(writerKey, "Writer01", "Nobody01", 1)
	for range 5 {
		c.do("GET", "/v1/refunds", "", "Authorization", stranger)
	}
	if w.lookups != 1 {
		t.Errorf("%d look-ups, want 1", w.lookups)
	}
	prefix, rec := keyRecord(t, strings.TrimPrefix(stranger, "Bearer "), refund.Tenant{ID: 1, Code: "demo"}, access.ScopeRefundsRead)
	w.keys[prefix] = rec
	clock.advance(time.Second)
	if r := c.do("GET", "/v1/refunds", "", "Authorization", stranger); r.status != 200 {
		t.Errorf("%d %s a second after the key was created, want 200", r.status, r.body)
	}
}

func TestUnavailableKeyStoreIs503(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.keyErr = refund.ErrUnavailable
	if r := c.do("GET", "/v1/refunds", ""); r.status != 503 || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %v, want 503 with Retry-After: an unavailable database must not look like a bad key", r.status, r.header)
	}
	w.mu.Lock()
	w.keyErr = nil
	w.mu.Unlock()
	if r := c.do("GET", "/v1/refunds", ""); r.status != 200 {
		t.Errorf("status %d, want 200: an error must not be cached", r.status)
	}
}

func TestClosedTenantCannotWrite(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.accept = func(g []intake.Intake) ([]intake.Outcome, error) {
		if !g[0].Tenant.Closed {
			t.Error("the intake does not mark the tenant as closed")
		}
		return []intake.Outcome{{Verdict: intake.Refused, Code: refund.CodeTenantClosed}}, nil
	}
	closed := []string{"Authorization", "Bearer " + closedKey, "Idempotency-Key", "k"}
	event := append([]string{"Content-Type", "application/cloudevents+json"}, closed...)
	for _, r := range []reply{
		c.do("POST", "/v1/refunds", refundBody, closed...),
		c.do("PUT", "/v1/payments/pay_1", paymentBody, closed...),
		c.do("POST", "/v1/events", eventBody("e-1", refundBody), event...),
	} {
		if r.status != 403 || !strings.Contains(r.body, "tenant-closed") {
			t.Errorf("%d %s, want 403 tenant-closed", r.status, r.body)
		}
	}
	if r := c.do("GET", "/v1/refunds", "", closed...); r.status != 200 {
		t.Errorf("GET: %d, want 200: a closed tenant can still read", r.status)
	}
}
