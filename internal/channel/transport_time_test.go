package channel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestPastTheBudgetNothingLeaves moves the clock between getting the connection and the first byte. One clock is enough:
// the wall clock after a suspension, the monotonic one after the wall clock was set back. C33.
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
						t.Errorf("%+v, %v, want not sent, since the time is over", reply, err)
					}
					if !held.Load() {
						t.Error("no connection was used: the check before the first byte was not reached")
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

// TestBudgetEndsTheWait waits for a slow dial until the budget is over.
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

// TestLateAnswerIsRead gets an answer after the budget, which limits the first byte only.
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

// TestStalledRequestEndsWithTheBudget has a server that stops reading, so that only a part of the request is sent. The rest
// is withheld once the time is over.
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
