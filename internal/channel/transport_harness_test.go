package channel

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is a channel on loopback that counts the requests that it receives.
type wire struct {
	*httptest.Server
	requests atomic.Int32
}

func newWire(t *testing.T, secure bool, handle http.HandlerFunc) *wire {
	t.Helper()
	w := &wire{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		handle(rw, r)
	}))
	if secure {
		w.EnableHTTP2 = true // offered and never used
		w.StartTLS()
	} else {
		w.Start()
	}
	t.Cleanup(w.Close)
	return w
}

func (w *wire) want(t *testing.T, n int32) {
	t.Helper()
	if got := w.requests.Load(); got != n {
		t.Errorf("%d requests reached the channel, want %d", got, n)
	}
}

// transport returns a transport that trusts the server and is closed with the test.
func (w *wire) transport(t *testing.T, cfg TransportConfig) *Transport {
	t.Helper()
	if cert := w.Certificate(); cert != nil && cfg.TLS == nil {
		pool := x509.NewCertPool()
		pool.AddCert(cert)
		cfg.TLS = &tls.Config{RootCAs: pool}
	}
	tr := NewTransport(cfg)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }

func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.Close()
}

// post returns a request that net/http considers safe to repeat, like a refund.
func post(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"amount":1}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "n1")
	return req
}

func get(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func budget() Budget { return Budget{Start: time.Now(), Send: 10 * time.Second} }

func call(t *testing.T, tr *Transport, req *http.Request) (Reply, error) {
	t.Helper()
	return Do(WithBudget(t.Context(), budget()), tr.Client(), req, 0)
}

// drifted returns t as a clock shows it whose wall part or monotonic part alone ran ahead, as after a suspension or a step
// of the clock. The standard library cannot make such a time, so the fields are changed in place and the result is checked.
func drifted(t *testing.T, now time.Time, wall, mono time.Duration) time.Time {
	t.Helper()
	type layout struct {
		wall uint64 // 1 bit flag, 33 bits seconds, 30 bits nanoseconds
		ext  int64  // monotonic nanoseconds
		loc  *time.Location
	}
	out := now
	raw := (*layout)(unsafe.Pointer(&out))
	raw.wall += uint64(wall/time.Second) << 30
	raw.ext += int64(mono)
	if out.Sub(now) != mono || out.Round(0).Sub(now.Round(0)) != wall {
		t.Fatal("time.Time is built differently in this Go version")
	}
	return out
}

// expired returns a context whose budget is over.
func expired(ctx context.Context) context.Context {
	return WithBudget(ctx, Budget{Start: time.Now().Add(-time.Minute), Send: time.Second})
}
