package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
)

// startServer runs the real server with a new fakeBackend.
func startServer(t *testing.T, bodyTime time.Duration) (*fakeBackend, *httpapi.Server) {
	t.Helper()
	w, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) { cfg.Limits.BodyTime = bodyTime })
	s, err := httpapi.NewServer(httpapi.ServerConfig{Listen: "127.0.0.1:0", Handler: c.api, API: c.api})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Stop(ctx)
	})
	return w, s
}

// sendRaw sends bytes on a new connection and returns all bytes that the server sends
// until it closes the connection.
func sendRaw(t *testing.T, s *httpapi.Server, text string) string {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil && len(got) == 0 {
		t.Fatal(err)
	}
	return string(got)
}

func requestHead(key string, length int) string {
	return fmt.Sprintf("POST /v1/refunds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: k\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", key, length)
}

func TestSlowBodyIsRefused(t *testing.T) {
	t.Parallel()
	w, s := startServer(t, 200*time.Millisecond)
	got := sendRaw(t, s, requestHead(writerKey, 500)+`{"refundId":`)
	if !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "body-incomplete") || !strings.Contains(got, "did not arrive in time") || !strings.Contains(got, "Retry-After: 1") {
		t.Errorf("got %s", got)
	}
	if len(w.touched) > 0 {
		t.Error("an incomplete request reached the Door")
	}
	// A request that is refused before its body is read does not keep the connection open either.
	if got := sendRaw(t, s, requestHead("nonsense", 500)+`{"refundId":`); !strings.HasPrefix(got, "HTTP/1.1 401 ") {
		t.Errorf("got %s", got)
	}
}

func TestIncompleteBodyIsRefused(t *testing.T) {
	t.Parallel()
	w, s := startServer(t, 5*time.Second)
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, requestHead(writerKey, 500)+`{"refundId":`)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(conn)
	_ = conn.Close()
	if !strings.HasPrefix(string(got), "HTTP/1.1 408 ") || !strings.Contains(string(got), "did not arrive completely") || len(w.touched) > 0 {
		t.Errorf("got %s", got)
	}
}

func TestInvalidHTTPIsRefused(t *testing.T) {
	t.Parallel()
	w, s := startServer(t, 5*time.Second)
	for text, want := range map[string]string{
		"GET /v1/refunds HTTP/1.1\r\nHost: x\r\nX-Big: " + strings.Repeat("a", 32<<10) + "\r\n\r\n": "HTTP/1.1 431 ",
		"nonsense\r\n\r\n":       "HTTP/1.1 400 ",
		"GET / HTTP/1.1\r\n\r\n": "HTTP/1.1 400 ",
		"POST /v1/refunds HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n":                      "HTTP/1.1 400 ",
		"POST /v1/refunds HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx": "HTTP/1.1 400 ",
	} {
		if got := sendRaw(t, s, text); !strings.HasPrefix(got, want) {
			t.Errorf("%.40q: got %.60q, want %s", text, got, want)
		}
	}
	if len(w.touched) > 0 {
		t.Error("an invalid request reached the Door")
	}
}

// A wait may take longer than the deadline of bodies.
func TestWaitMayExceedTheBodyDeadline(t *testing.T) {
	t.Parallel()
	w, s := startServer(t, 200*time.Millisecond)
	w.set(sampleRefund("rf_1001"))
	for _, text := range []string{
		strings.Replace(requestHead(writerKey, len(refundBody)), "Host: x", "Host: x\r\nPrefer: wait=1\r\nConnection: close", 1) + refundBody,
		"GET /v1/refunds/rf_1001 HTTP/1.1\r\nHost: x\r\nPrefer: wait=1\r\nConnection: close\r\nAuthorization: Bearer " + writerKey + "\r\n\r\n",
	} {
		began := time.Now()
		got := sendRaw(t, s, text)
		if took := time.Since(began); !strings.Contains(got, "Preference-Applied: wait=1") || took < 900*time.Millisecond {
			t.Errorf("after %s: %s", took, got)
		}
	}
}

// TestARetiredServerServesOnAndIsNotReady: a load balancer needs time to notice, and a client must not reuse a connection that
// is about to be closed.
func TestARetiredServerServesOnAndIsNotReady(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf_1001"))
	s, err := httpapi.NewServer(httpapi.ServerConfig{Listen: "127.0.0.1:0", Handler: c.api, API: c.api, DrainDelay: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		return sendRaw(t, s, "GET "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+writerKey+"\r\n\r\n")
	}
	retired := make(chan struct{})
	go func() {
		defer close(retired)
		s.Retire()
	}()
	var d net.Dialer
	waitFor(t, "/readyz fails", func() bool {
		conn, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.HasPrefix(line, "HTTP/1.1 503 ")
	})
	// sendRaw returns when the server has closed the connection
	if got := get("/v1/refunds/rf_1001"); !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, "\r\nConnection: close\r\n") {
		t.Errorf("a request to a retired server: %.200s, want an answer that closes its connection", got)
	}
	if got := get("/livez"); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("/livez of a retired server: %.60s, want 200", got)
	}
	select {
	case <-retired:
		t.Error("Retire returned before the delay was over")
	default:
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-retired // the server has ended, so nothing is left to wait for
}

func TestStopWaitsForRequests(t *testing.T) {
	t.Parallel()
	w, s := startServer(t, 5*time.Second)
	w.set(sampleRefund("rf_1001"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+"/v1/refunds/rf_1001", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+writerKey)
	req.Header.Set("Prefer", "wait=60")
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the request is running", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.lookups > 0 })
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		t.Fatalf("the running request was not answered: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	if err := <-s.Done(); err != nil {
		t.Errorf("Done: %v", err)
	}
}
