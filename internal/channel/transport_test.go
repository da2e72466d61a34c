package channel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// C28: the channel acts on a reused connection and drops the answer. net/http
// sends such a request again by itself; here exactly one arrives.
func TestOneRequestOnABrokenReusedConnection(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			t.Run(fmt.Sprintf("%s tls %v", method, secure), func(t *testing.T) {
				t.Parallel()
				var warm atomic.Bool
				w := newWire(t, secure, func(rw http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor != 1 {
						t.Errorf("spoken: %s, want HTTP/1.1", r.Proto)
					}
					if warm.CompareAndSwap(false, true) {
						ok(rw, r)
						return
					}
					_, _ = io.ReadAll(r.Body)
					hangUp(rw)
				})
				request := func() *http.Request {
					if method == http.MethodGet {
						return get(t, w.URL)
					}
					return post(t, w.URL)
				}
				tr := w.transport(t, TransportConfig{})
				if _, err := call(t, tr, request()); err != nil {
					t.Fatalf("first call: %v", err)
				}
				reply, err := call(t, tr, request())
				if !errors.Is(err, ErrAmbiguous) || errors.Is(err, ErrNotSent) || !reply.Sent || reply.SentAt.IsZero() {
					t.Errorf("second call: %+v, %v, want sent and ambiguous", reply, err)
				}
				w.want(t, 2)
			})
		}
	}
}

// The trap itself, so that the test above is known to be able to fail.
func TestPlainNetHTTPSendsTwice(t *testing.T) {
	t.Parallel()
	var warm atomic.Bool
	w := newWire(t, false, func(rw http.ResponseWriter, r *http.Request) {
		if warm.CompareAndSwap(false, true) {
			ok(rw, r)
			return
		}
		_, _ = io.ReadAll(r.Body)
		hangUp(rw)
	})
	client := w.Client()
	resp, err := client.Do(post(t, w.URL))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp, err := client.Do(post(t, w.URL)); err == nil {
		_ = resp.Body.Close()
	}
	w.want(t, 3)
}

func TestReplyIsWhole(t *testing.T) {
	t.Parallel()
	w := newWire(t, true, func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Test", "yes")
		rw.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = rw.Write(body)
	})
	tr := w.transport(t, TransportConfig{})
	for range 3 { // reused
		reply, err := call(t, tr, post(t, w.URL))
		if err != nil || reply.Status != 422 || string(reply.Body) != `{"amount":1}` || reply.Header.Get("X-Test") != "yes" ||
			!reply.Sent || time.Since(reply.SentAt) > time.Minute {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
}

// C33: the clock jumps between getting the connection and the first byte. One
// clock alone is enough: the wall clock after a suspension, the monotonic one
// after the wall clock was set back.
func TestPastTheBudgetNothingLeaves(t *testing.T) {
	t.Parallel()
	for name, drift := range map[string]struct{ wall, mono time.Duration }{
		"wall only": {wall: time.Hour}, "monotonic only": {mono: time.Hour}, "both": {time.Hour, time.Hour},
		"monotonic on, wall back": {wall: -time.Hour, mono: time.Hour},
	} {
		for _, secure := range []bool{false, true} {
			for _, reused := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s tls %v reused %v", name, secure, reused), func(t *testing.T) {
					t.Parallel()
					w := newWire(t, secure, ok)
					tr := w.transport(t, TransportConfig{})
					var before int32
					if reused {
						if _, err := call(t, tr, post(t, w.URL)); err != nil {
							t.Fatal(err)
						}
						before = 1
					}
					var held atomic.Bool
					ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
						GotConn: func(httptrace.GotConnInfo) { held.Store(true) },
					})
					b := budget()
					b.Clock = func() time.Time {
						if held.Load() {
							return drifted(t, time.Now(), drift.wall, drift.mono)
						}
						return time.Now()
					}
					reply, err := Do(WithBudget(ctx, b), tr.Client(), post(t, w.URL), 0)
					if !errors.Is(err, ErrNotSent) || errors.Is(err, ErrAmbiguous) || !errors.Is(err, errPastBudget) || reply.Sent {
						t.Errorf("%+v, %v, want not sent, the time being over", reply, err)
					}
					if !held.Load() {
						t.Error("the connection was never held: the check before the first byte was not reached")
					}
					w.want(t, before)
				})
			}
		}
	}
}

func TestBudgetOverBeforeTheCall(t *testing.T) {
	t.Parallel()
	w := newWire(t, false, ok)
	tr := w.transport(t, TransportConfig{})
	ahead := Budget{Start: time.Now().Add(time.Hour).Round(0), Send: 10 * time.Hour}
	for name, ctx := range map[string]context.Context{
		"expired": expired(t.Context()), "none": t.Context(), "zero": WithBudget(t.Context(), Budget{}),
		"no clock to rely on": WithBudget(t.Context(), ahead),
	} {
		if _, err := Do(ctx, tr.Client(), post(t, w.URL), 0); !errors.Is(err, ErrNotSent) {
			t.Errorf("%s: %v, want not sent", name, err)
		}
	}
	w.want(t, 0)
}

func TestNotSent(t *testing.T) {
	t.Parallel()
	secure := newWire(t, true, ok)
	plain := newWire(t, false, ok)
	for name, c := range map[string]struct {
		url string
		cfg TransportConfig
	}{
		"refused":     {url: "http://127.0.0.1:1"}, // a port that no other test can be given
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

// Waiting for a free connection or a slow dial ends with the budget.
func TestBudgetEndsTheWait(t *testing.T) {
	t.Parallel()
	tr := NewTransport(TransportConfig{Dial: hang, DialTimeout: time.Hour})
	began := time.Now()
	ctx := WithBudget(t.Context(), Budget{Start: began, Send: 30 * time.Millisecond})
	if _, err := Do(ctx, tr.Client(), post(t, "http://channel.invalid"), 0); !errors.Is(err, ErrNotSent) {
		t.Errorf("%v, want not sent", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v, the budget was 30 ms", took)
	}
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

// raw answers with these bytes and closes.
func raw(text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(rw).Hijack()
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// waitGone returns when the caller has hung up; the server notices that only
// after it has read the body.
func waitGone(r *http.Request) {
	_, _ = io.ReadAll(r.Body)
	<-r.Context().Done()
}

// An answer that takes longer than the budget is read: the budget is about the
// first byte only.
func TestLateAnswerIsRead(t *testing.T) {
	t.Parallel()
	const send = 50 * time.Millisecond
	w := newWire(t, false, func(rw http.ResponseWriter, r *http.Request) {
		timer := time.NewTimer(4 * send)
		defer timer.Stop()
		<-timer.C
		ok(rw, r)
	})
	tr := w.transport(t, TransportConfig{})
	if _, err := call(t, tr, get(t, w.URL)); err != nil { // a connection to reuse
		t.Fatal(err)
	}
	reply, err := Do(WithBudget(t.Context(), Budget{Start: time.Now(), Send: send}), tr.Client(), post(t, w.URL), 0)
	if err != nil || string(reply.Body) != "ok" {
		t.Errorf("%+v, %v, want the late answer", reply, err)
	}
}

// A peer that stops reading leaves half a request out: the rest stays here once
// the time is over.
func TestStalledRequestEndsWithTheBudget(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	w := newWire(t, false, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	req, err := http.NewRequest(http.MethodPost, w.URL, strings.NewReader(strings.Repeat("x", 64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	tr := w.transport(t, TransportConfig{ReadTimeout: time.Minute})
	reply, err := Do(WithBudget(t.Context(), Budget{Start: time.Now(), Send: 300 * time.Millisecond}), tr.Client(), req, 0)
	if !errors.Is(err, ErrAmbiguous) || !reply.Sent {
		t.Errorf("%+v, %v, want ambiguous", reply, err)
	}
}

func TestRedirectsAreAnswers(t *testing.T) {
	t.Parallel()
	target := newWire(t, false, ok)
	w := newWire(t, false, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, target.URL, http.StatusTemporaryRedirect)
	})
	tr := w.transport(t, TransportConfig{})
	for _, req := range []*http.Request{post(t, w.URL), get(t, w.URL)} {
		reply, err := call(t, tr, req)
		if err != nil || reply.Status != http.StatusTemporaryRedirect {
			t.Errorf("%s: %+v, %v, want the 307 itself", req.Method, reply, err)
		}
	}
	// A client that would follow is stopped by the transport.
	following := &http.Client{Transport: tr}
	if _, err := Do(WithBudget(t.Context(), budget()), following, get(t, w.URL), 0); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("following client: %v, want ambiguous", err)
	}
	target.want(t, 0)
}

func TestOneCallPerAttempt(t *testing.T) {
	t.Parallel()
	w := newWire(t, false, ok)
	tr := w.transport(t, TransportConfig{})
	ctx := WithBudget(t.Context(), budget())
	if _, err := Do(ctx, tr.Client(), post(t, w.URL), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Do(ctx, tr.Client(), post(t, w.URL), 0); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("second call of one attempt: %v, want it stopped, the attempt having sent", err)
	}
	w.want(t, 1)
	if _, err := Do(WithBudget(t.Context(), budget()), &http.Client{}, post(t, w.URL), 0); !errors.Is(err, ErrNotSent) {
		t.Errorf("a client without the transport: %v, want not sent", err)
	}
	w.want(t, 1)
}

// Cancelling at any moment never makes a lie: what is called not sent never
// arrives, not even later.
func TestCancelNeverLies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	arrived := map[string]bool{}
	w := newWire(t, false, func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		arrived[r.URL.Path] = true
		mu.Unlock()
		ok(rw, r)
	})
	tr := w.transport(t, TransportConfig{})
	var notSent []string
	sent := 0
	for i := range 400 {
		path := fmt.Sprintf("/%d", i)
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(rand.IntN(400))*time.Microsecond, cancel)
		reply, err := Do(WithBudget(ctx, budget()), tr.Client(), post(t, w.URL+path), 0)
		timer.Stop()
		cancel()
		if errors.Is(err, ErrNotSent) {
			notSent = append(notSent, path)
		}
		if reply.Sent {
			sent++
		}
		if (err == nil || errors.Is(err, ErrAmbiguous)) != reply.Sent {
			t.Fatalf("%+v, %v", reply, err)
		}
	}
	tr.CloseIdleConnections()
	w.Close() // waits for every request that did arrive
	for _, path := range notSent {
		if arrived[path] {
			t.Errorf("%s was called not sent and arrived", path)
		}
	}
	t.Logf("%d sent, %d not sent", sent, len(notSent))
}

// What a call has reported as not sent stays so: net/http writes from a goroutine
// of its own, which may wake up after the call has returned.
func TestSealedAttemptWritesNothing(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	a := &attempt{budget: Budget{Start: time.Now(), Send: time.Hour, Clock: time.Now}}
	conn := &guardedConn{Conn: near}
	a.arm(httptrace.GotConnInfo{Conn: conn})
	if sent, _ := a.end(context.Canceled); sent {
		t.Fatal("sent before anything was written")
	}
	if n, err := conn.Write([]byte("POST")); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("wrote %d bytes, %v, want none", n, err)
	}
	if err := near.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(far); len(got) != 0 {
		t.Errorf("%q left", got)
	}
}

// A connection that took nothing of the request has not carried it.
func TestFailedFirstWriteIsNotSent(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	_ = far.Close()
	a := &attempt{budget: Budget{Start: time.Now(), Send: time.Hour, Clock: time.Now}, onSent: func() {}}
	conn := &guardedConn{Conn: near}
	a.arm(httptrace.GotConnInfo{Conn: conn})
	if _, err := conn.Write([]byte("POST")); err == nil {
		t.Fatal("the other end is closed and the write succeeded")
	}
	if sent, at := a.end(nil); sent || !at.IsZero() {
		t.Errorf("sent %v at %v, want not sent", sent, at)
	}
}

// A connection that the guard does not sit on cannot be used.
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
