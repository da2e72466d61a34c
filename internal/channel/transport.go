// Package channel holds what all payment channel clients share: the one HTTP
// transport, which sends a request at most once and never after its time, and
// the registry of accounts.
package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// TransportConfig has a default for every field.
type TransportConfig struct {
	// DialTimeout bounds name lookup and connecting, besides the budget; default 3 s.
	DialTimeout time.Duration
	// TLSTimeout bounds the TLS handshake; default 3 s.
	TLSTimeout time.Duration
	// ReadTimeout bounds the answer, from the first byte sent to the last byte
	// read; default 30 s. It is longer than a lease on purpose: an answer that
	// comes is evidence, whoever owns the refund by then.
	ReadTimeout time.Duration
	// IdleTimeout is how long an unused connection is kept; default 15 s, less
	// than servers usually wait before they close one.
	IdleTimeout time.Duration
	// MaxConnsPerHost bounds open connections; default 256.
	MaxConnsPerHost int
	// TLS is cloned; at least TLS 1.2 is spoken. Default: the system's roots.
	TLS *tls.Config
	// Proxy as in http.Transport; default none, whatever the environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Dial connects; default a net.Dialer.
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

// Transport is the one http.RoundTripper of all channel clients, SDKs included.
//
// Plain net/http sends a request again by itself when a reused connection breaks
// before an answer came, a POST too if it has an Idempotency-Key header; an SDK
// or a redirect may do the same one level up. Here a context from WithBudget is
// good for one call, and that call for one request on one connection; the time to
// send is checked right before its first byte reaches the socket. HTTP/1.1 only.
type Transport struct {
	base        *http.Transport
	readTimeout time.Duration
}

// NewTransport returns a Transport. CloseIdleConnections ends what it keeps open.
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
		DisableCompression:     true, // evidence is kept as it came
	}}
}

// Client returns an http.Client on the transport that follows no redirect.
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
	if err := a.begin(w.sent); err != nil {
		closeBody(req)
		sent, at := a.end(err)
		return nil, &CallError{Sent: sent, SentAt: at, Err: err}
	}
	ctx := w.start(req.Context())
	out := req.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: a.arm}))
	out.GetBody = nil
	resp, err := t.base.RoundTrip(out)
	sent, _ := a.end(errSecondSend)
	if err == nil && !sent {
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

// watch ends a call whose time is over: before the first byte by the budget,
// after it by the read timeout.
type watch struct {
	attempt     *attempt
	readTimeout time.Duration
	ctx         context.Context
	cancel      context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	readEnd time.Time // zero until the first byte left
	stopped bool
}

func (w *watch) start(parent context.Context) context.Context {
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(max(0, w.attempt.budget.left()), w.over)
	return w.ctx
}

// sent starts the read timeout. The attempt calls it under its own lock.
func (w *watch) sent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readEnd = time.Now().Add(w.readTimeout)
	if !w.stopped {
		w.timer.Reset(w.readTimeout)
	}
}

func (w *watch) over() {
	if sent, _ := w.attempt.end(errPastBudget); !sent {
		w.cancel(errPastBudget)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// The budget's timer may fire while the first byte leaves: then the read
	// timeout has just begun.
	if left := time.Until(w.readEnd); left > 0 {
		if !w.stopped {
			w.timer.Reset(left)
		}
		return
	}
	w.cancel(errReadTimeout)
}

func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(nil)
}

// failed says what an error means for the attempt.
func (w *watch) failed(err error) *CallError {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause // what ended the call says more than where it was then
	}
	if reason := w.attempt.reason(); reason != nil {
		err = reason
	}
	sent, at := w.attempt.end(err)
	return &CallError{Sent: sent, SentAt: at, Err: err}
}

// watchedBody keeps the read timeout running until the answer is closed.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.failed(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.stop()
	return err
}

// The two classes of a failed call; every error of this package's calls is one
// of them under errors.Is.
var (
	// ErrNotSent: no byte of the request left, and none will.
	ErrNotSent = errors.New("channel: not sent")
	// ErrAmbiguous: at least one byte left; what the channel did is not known.
	ErrAmbiguous = errors.New("channel: sent, outcome not known")
)

// CallError is a call without a usable answer.
type CallError struct {
	Sent   bool
	SentAt time.Time // of the first byte, by the budget's clock; zero when not sent
	Err    error
}

func (e *CallError) class() error {
	if e.Sent {
		return ErrAmbiguous
	}
	return ErrNotSent
}

// Error implements error.
func (e *CallError) Error() string { return fmt.Sprintf("%v: %v", e.class(), e.Err) }

// Is tells the class, see ErrNotSent and ErrAmbiguous.
func (e *CallError) Is(target error) bool { return target == e.class() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
