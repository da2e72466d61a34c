package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOneRequestOnABrokenReusedConnection has the channel act on a reused connection and drop the answer. net/http repeats
// such a request; the transport sends exactly one. C28.
func TestOneRequestOnABrokenReusedConnection(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			t.Run(fmt.Sprintf("%s tls %v", method, secure), func(t *testing.T) {
				t.Parallel()
				var warm atomic.Bool
				w := newWire(t, secure, func(rw http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor != 1 {
						t.Errorf("the request used %s, want HTTP/1.1", r.Proto)
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

// TestPlainNetHTTPSendsTwice shows that plain net/http does repeat the request, so that the test above can fail.
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
	// The transport stops a client that follows redirects.
	following := &http.Client{Transport: tr}
	if _, err := Do(WithBudget(t.Context(), budget()), following, get(t, w.URL), 0); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("a client that follows redirects: %v, want ambiguous", err)
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
		t.Errorf("second call of one attempt: %v, want an error, since the attempt has sent", err)
	}
	w.want(t, 1)
	if _, err := Do(WithBudget(t.Context(), budget()), &http.Client{}, post(t, w.URL), 0); !errors.Is(err, ErrNotSent) {
		t.Errorf("a client without the transport: %v, want not sent", err)
	}
	w.want(t, 1)
}

// TestACancelledCallThatIsNotSentNeverArrives cancels calls at random moments. A request that is reported as not sent never arrives, not even
// later.
func TestACancelledCallThatIsNotSentNeverArrives(t *testing.T) {
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
	w.Close() // waits for every request that arrived
	for _, path := range notSent {
		if arrived[path] {
			t.Errorf("%s was reported as not sent and arrived", path)
		}
	}
	t.Logf("%d sent, %d not sent", sent, len(notSent))
}

// TestSealedAttemptWritesNothing writes after the call was reported as not sent, as a goroutine of net/http can.
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
		t.Errorf("%q was sent, want nothing", got)
	}
}
