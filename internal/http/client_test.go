package httpapi_test

import (
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/bridge"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
)

func keyRecord(t testing.TB, key string, tenant refund.Tenant, scopes ...string) (string, access.APIKeyRecord) {
	k, err := access.ParseAPIKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return k.Prefix, access.APIKeyRecord{SecretHash: sha256.Sum256([]byte(k.Secret)), Tenant: tenant, Mode: k.Mode, ActorName: "shop", Scopes: scopes}
}

// serve starts the API with a new fakeBackend on a real listener.
func serve(t *testing.T, change func(*fakeBackend, *httpapi.Config)) (*fakeBackend, *client) {
	t.Helper()
	w := &fakeBackend{refunds: map[string]refund.Refund{}, keys: map[string]access.APIKeyRecord{}}
	demo := refund.Tenant{ID: 1, Code: "demo"}
	for _, k := range []struct {
		key    string
		tenant refund.Tenant
		scopes []string
	}{
		{writerKey, demo, []string{access.ScopeRefundsWrite, access.ScopeRefundsRead}},
		{readerKey, demo, []string{access.ScopeRefundsRead}},
		{closedKey, refund.Tenant{ID: 2, Code: "gone", Closed: true}, []string{access.ScopeRefundsWrite, access.ScopeRefundsRead}},
		{otherTenantKey, refund.Tenant{ID: 3, Code: "stray"}, []string{access.ScopeRefundsWrite, access.ScopeRefundsRead}},
	} {
		prefix, rec := keyRecord(t, k.key, k.tenant, k.scopes...)
		w.keys[prefix] = rec
	}
	cfg := httpapi.Config{Door: w, Refunds: w, Actions: w, Payments: w, Keys: w, Events: bridge.Codec{}, Parking: w,
		Messages: w, Parked: w, Cases: &fakeCases{fakeBackend: w}}
	if change != nil {
		change(w, &cfg)
	}
	a, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	return w, &client{t: t, base: srv.URL, http: srv.Client(), api: a}
}

// client sends requests, by default with the key of the writer.
type client struct {
	t    *testing.T
	base string
	http *http.Client
	api  *httpapi.API
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (c *client) do(method, path, body string, header ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+writerKey)
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	got := reply{res.StatusCode, res.Header, string(text)}
	c.conforms(req, got)
	return got
}
