package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/refundry/refundry/api"
	httpapi "github.com/refundry/refundry/internal/http"
)

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	if r := c.do("GET", "/livez", "", "X-Request-Id", "my.req_1-A"); r.header.Get("X-Request-Id") != "my.req_1-A" {
		t.Errorf("X-Request-Id %q, want the caller's", r.header.Get("X-Request-Id"))
	}
	for _, bad := range []string{"a b", `x"y`, strings.Repeat("a", 129), "é", "a;b"} {
		if r := c.do("GET", "/livez", "", "X-Request-Id", bad); !regexp.MustCompile(`^[0-9a-f-]{36}$`).MatchString(r.header.Get("X-Request-Id")) {
			t.Errorf("id %q became %q, want a generated id", bad, r.header.Get("X-Request-Id"))
		}
	}
}

func TestEveryAnswerHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	for _, path := range []string{"/livez", "/v1/refunds", "/nothing", "/docs", "/problems", "/openapi.yaml"} {
		h := c.do("GET", path, "").header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(h.Get("Content-Security-Policy"), "unsafe-eval") {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// A panic of a handler is answered with a problem; its text is only in the log.
func TestPanicBecomesAProblem(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) { cfg.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	w.panics = true
	r := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k", "X-Request-Id", "req-panic")
	if r.status != 500 || !strings.Contains(r.body, `"code":"internal"`) || strings.Contains(r.body, "bug") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if !strings.Contains(log.String(), "a bug that mentions") || !strings.Contains(log.String(), "req-panic") {
		t.Errorf("the log lacks the cause or the request id: %s", log.String())
	}
	w.panics = false
	if r := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k"); r.status != 202 {
		t.Errorf("status %d after a panic, want 202: the server goes on", r.status)
	}
}

// No log line of any level contains keys, bodies or query strings.
func TestLogsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	_, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) {
		cfg.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	c.do("POST", "/v1/refunds", strings.Replace(refundBody, "damaged", "card 4111111111111111", 1), "Idempotency-Key", "k")
	c.do("POST", "/v1/refunds", strings.Replace(refundBody, "1250", `"4111111111111111"`, 1), "Idempotency-Key", "k")
	c.do("GET", "/v1/refunds?orderId=4111111111111111", "")
	if got := log.String(); strings.Contains(got, "4111111111111111") || strings.Contains(got, writerKey[18:]) || !strings.Contains(got, `"status":202`) {
		t.Errorf("log: %s", got)
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	var down error
	_, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) {
		cfg.Ready = []httpapi.ReadyCheck{{Name: "database", Check: func(context.Context) error { return down }}}
		cfg.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("refundry_cases_open 0\n"))
		})
	})
	if r := c.do("GET", "/readyz", "", "Authorization", ""); r.status != 200 || !strings.Contains(r.body, `"name":"database","ok":true`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	down = errors.New("password authentication failed for user refundry")
	r := c.do("GET", "/readyz", "", "Authorization", "")
	if r.status != 503 || !strings.Contains(r.body, `"name":"database","ok":false`) || r.header.Get("Retry-After") == "" || strings.Contains(r.body, "password") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := c.do("GET", "/livez", "", "Authorization", ""); r.status != 200 {
		t.Errorf("/livez: %d, want 200: it must not depend on the database", r.status)
	}
	if r := c.do("GET", "/metrics", "", "Authorization", ""); r.status != 200 || r.body != "refundry_cases_open 0\n" {
		t.Errorf("/metrics: %d %s", r.status, r.body)
	}
}

// The pages load nothing from other hosts and run no inline scripts.
func TestPages(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	get := func(path string, header ...string) reply {
		return c.do("GET", path, "", append([]string{"Authorization", ""}, header...)...)
	}
	if r := get("/openapi.yaml"); r.status != 200 || r.body != string(api.OpenAPI) || r.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("/openapi.yaml: %d %s", r.status, r.header.Get("Content-Type"))
	}
	docs := get("/docs")
	if docs.status != 200 || strings.Contains(docs.body, "http:") || strings.Contains(docs.body, "https:") ||
		strings.Contains(docs.body, "<script>") || strings.Contains(docs.body, "style=") {
		t.Errorf("/docs: %d %s", docs.status, docs.body)
	}
	if csp := docs.header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self';") {
		t.Errorf("policy of /docs: %s", csp)
	}
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(docs.body, -1) {
		if r := get(m[1]); r.status != 200 || len(r.body) == 0 {
			t.Errorf("%s, which /docs needs: %d", m[1], r.status)
		}
	}
	if r := get("/docs/../../etc/passwd"); r.status == 200 {
		t.Errorf("a path outside of the folder is served: %d", r.status)
	}
	for _, info := range httpapi.Catalog() {
		path := "/problems/" + string(info.Code)
		if r := get(path); r.status != 200 || !strings.Contains(r.body, `"code":"`+string(info.Code)+`"`) {
			t.Errorf("%s as JSON: %d %s", path, r.status, r.body)
		}
		if r := get(path, "Accept", "text/html,*/*"); r.status != 200 || !strings.Contains(r.body, "<h1>") || strings.Contains(r.body, "<script") {
			t.Errorf("%s as a page: %d", path, r.status)
		}
		if !strings.Contains(get("/problems", "Accept", "text/html").body, path) {
			t.Errorf("/problems has no link to %s", path)
		}
	}
}

func TestIncompleteConfigIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := httpapi.New(httpapi.Config{}); err == nil {
		t.Error("New accepts an empty configuration, want an error")
	}
	if _, err := httpapi.NewServer(httpapi.ServerConfig{}); err == nil {
		t.Error("NewServer accepts a configuration without a handler, want an error")
	}
}
