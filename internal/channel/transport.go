// Package channel has what all clients of payment channels share: the HTTP transport (Transport, Do), which sends a request
// at most once and never after its time, the limiter of calls, the registry of accounts, and Kind, which a channel exports.
//
// A context from WithBudget permits one request on one connection. When its time to send is over, no further byte of the
// request is written. Every error of a call is a *CallError, and its field Sent says whether a byte of the request was written.
package channel

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// TransportConfig configures a Transport. Every field has a default.
type TransportConfig struct {
	// DialTimeout limits name lookup and connecting, in addition to the budget; default 3 s.
	DialTimeout time.Duration
	// TLSTimeout limits the TLS handshake; default 3 s.
	TLSTimeout time.Duration
	// ReadTimeout limits the answer, from the first byte sent to the last byte read; default 30 s. It is longer than a lease
	// on purpose: a late answer is evidence, whoever owns the refund by then.
	ReadTimeout time.Duration
	// IdleTimeout is how long an unused connection is kept; default 15 s, which is less than the idle timeout of most servers.
	IdleTimeout time.Duration
	// MaxConnsPerHost limits the open connections; default 256.
	MaxConnsPerHost int
	// TLS is cloned, and its least version raised to TLS 1.2. Default: the system's roots.
	TLS *tls.Config
	// Proxy is that of http.Transport; default none, also when the environment has one.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial opens a connection; default a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (c TransportConfig) withDefaults() TransportConfig {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.DialTimeout, 3 * time.Second},
		{&c.TLSTimeout, 3 * time.Second},
		{&c.ReadTimeout, 30 * time.Second},
		{&c.IdleTimeout, 15 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.MaxConnsPerHost <= 0 {
		c.MaxConnsPerHost = 256
	}
	if c.TLS == nil {
		c.TLS = &tls.Config{}
	}
	c.TLS = c.TLS.Clone()
	c.TLS.MinVersion = max(c.TLS.MinVersion, tls.VersionTLS12)
	c.TLS.NextProtos = []string{"http/1.1"}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return c
}

// Transport is the http.RoundTripper of all channel clients, including SDKs.
//
// Each context from WithBudget permits one request on one connection: a second request with the same context is refused. Plain
// net/http repeats a request by itself when a reused connection breaks before the answer, even a POST if it has an
// Idempotency-Key header; an SDK or a redirect can do the same.
//
// The time to send is checked immediately before every write to the socket. If it is over before the first byte, no byte of the
// request is written, then or later; if it ends within the request, the rest is withheld.
//
// Every error is a *CallError (through an http.Client it is wrapped in a *url.Error); its Sent says whether a byte of the first request
// with that context was written. No error means that the request was sent. The transport uses HTTP/1.1 only.
//
// Its parts are in transport_budget.go (attempt, the state of one call), transport_conn.go (guardedConn, which asks the attempt
// before every write), transport_watch.go (the timeouts) and transport_do.go (Do).
type Transport struct {
	base        *http.Transport
	readTimeout time.Duration
}

// NewTransport returns a Transport. CloseIdleConnections closes the connections that it keeps.
func NewTransport(cfg TransportConfig) *Transport {
	cfg = cfg.withDefaults()
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &Transport{readTimeout: cfg.ReadTimeout, base: &http.Transport{
		Protocols:              &http1,
		Proxy:                  cfg.Proxy,
		DialContext:            guardDial(cfg.Dial, cfg.DialTimeout),
		TLSClientConfig:        cfg.TLS,
		TLSHandshakeTimeout:    cfg.TLSTimeout,
		IdleConnTimeout:        cfg.IdleTimeout,
		MaxIdleConnsPerHost:    64,
		MaxConnsPerHost:        cfg.MaxConnsPerHost,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // evidence is stored as received
	}}
}

// Client returns an http.Client that uses the transport and follows no redirect.
func (t *Transport) Client() *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CloseIdleConnections closes the connections that are kept for reuse.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper. Every error is a *CallError.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	a := attemptOf(req.Context())
	if a == nil {
		closeBody(req)
		return nil, &CallError{Err: errNoBudget}
	}
	w := &watch{attempt: a, readTimeout: t.readTimeout}
	if err := a.begin(w.sent); err != nil { // the context was used before; Sent is that of its first request
		closeBody(req)
		sent, at := a.end(err)
		return nil, &CallError{Sent: sent, SentAt: at, Err: err}
	}
	ctx := w.start(req.Context())
	out := req.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: a.arm}))
	if out.Header.Get("Accept-Encoding") == "" {
		out.Header.Set("Accept-Encoding", "identity")
	}
	out.GetBody = nil // without it net/http cannot send the body a second time
	resp, err := t.base.RoundTrip(out)
	// From here on no first byte is written: a write that net/http may still try gets errSecondSend.
	sent, _ := a.end(errSecondSend)
	if err == nil && !sent { // the server wrote an answer into the connection before it got a request
		_ = resp.Body.Close()
		err = errUnsolicited
	}
	if err != nil {
		err = w.failed(err)
		w.stop()
		return nil, err
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, watch: w}
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
