package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"
)

func TestNotSent(t *testing.T) {
	t.Parallel()
	secure := newWire(t, true, ok)
	plain := newWire(t, false, ok)
	for name, c := range map[string]struct {
		url string
		cfg TransportConfig
	}{
		"refused":     {url: "http://127.0.0.1:1"}, // no test listens on this port
		"no address":  {url: "http://channel.invalid", cfg: TransportConfig{Dial: noName}},
		"untrusted":   {url: secure.URL, cfg: TransportConfig{TLS: &tls.Config{}}},
		"no TLS":      {url: strings.Replace(plain.URL, "http:", "https:", 1)},
		"dial hangs":  {url: "http://channel.invalid", cfg: TransportConfig{Dial: hang, DialTimeout: 20 * time.Millisecond}},
		"bad request": {url: "http://"},
	} {
		tr := NewTransport(c.cfg)
		reply, err := call(t, tr, post(t, c.url))
		if !errors.Is(err, ErrNotSent) || errors.Is(err, ErrAmbiguous) || reply.Sent {
			t.Errorf("%s: %+v, %v, want not sent", name, reply, err)
		}
		tr.CloseIdleConnections()
	}
	secure.want(t, 0)
}

func noName(context.Context, string, string) (net.Conn, error) {
	return nil, &net.DNSError{Err: "no such host", Name: "channel.invalid", IsNotFound: true}
}

func hang(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAmbiguous(t *testing.T) {
	t.Parallel()
	const timeout = 100 * time.Millisecond
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		cause  error
	}{
		"reset": {handle: func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(rw).Hijack()
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a reset, not an end
			}
			_ = conn.Close()
		}},
		"closed":  {handle: func(rw http.ResponseWriter, _ *http.Request) { hangUp(rw) }},
		"garbage": {handle: raw("not HTTP at all\r\n\r\n")},
		"cut":     {handle: raw("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"sta"), cause: io.ErrUnexpectedEOF},
		"silence": {handle: func(_ http.ResponseWriter, r *http.Request) { waitGone(r) }, cause: errReadTimeout},
		"half an answer": {handle: func(rw http.ResponseWriter, r *http.Request) {
			_, _ = rw.Write([]byte("{"))
			_ = http.NewResponseController(rw).Flush()
			waitGone(r)
		}, cause: errReadTimeout},
		"too large": {handle: func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = rw.Write(make([]byte, DefaultMaxBody+1))
		}, cause: ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, false, c.handle)
			reply, err := call(t, w.transport(t, TransportConfig{ReadTimeout: timeout}), post(t, w.URL))
			if !errors.Is(err, ErrAmbiguous) || errors.Is(err, ErrNotSent) || !reply.Sent {
				t.Errorf("sent %v, %v, want sent and ambiguous", reply.Sent, err)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("cause %v, want %v", err, c.cause)
			}
			if len(reply.Body) > DefaultMaxBody {
				t.Errorf("%d bytes kept", len(reply.Body))
			}
			w.want(t, 1)
		})
	}
}

// raw answers with these bytes and closes the connection.
func raw(text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(rw).Hijack()
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// waitGone returns when the client has closed the connection, which the server notices only after it has read the body.
func waitGone(r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	<-r.Context().Done()
}

// TestFailedFirstWriteIsNotSent writes to a closed connection, which then has not carried the request.
func TestFailedFirstWriteIsNotSent(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	_ = far.Close()
	a := &attempt{budget: Budget{Start: time.Now(), Send: time.Hour, Clock: time.Now}, onSent: func() {}}
	conn := &guardedConn{Conn: near}
	a.arm(httptrace.GotConnInfo{Conn: conn})
	if _, err := conn.Write([]byte("POST")); err == nil {
		t.Fatal("a write to a closed connection succeeded")
	}
	if sent, at := a.end(nil); sent || !at.IsZero() {
		t.Errorf("sent %v at %v, want not sent", sent, at)
	}
}

// TestUnguardedConnectionIsRefused gives the attempt a connection without a guard.
func TestUnguardedConnectionIsRefused(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	a := &attempt{budget: Budget{Start: time.Now(), Send: time.Hour, Clock: time.Now}}
	a.arm(httptrace.GotConnInfo{Conn: near})
	if _, err := near.Write([]byte("POST")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write: %v, want the connection closed", err)
	}
}
