package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// Client is a caller of the API that behaves well: it names what it wants by an Idempotency-Key and, when it does not know
// what became of a request, sends the same again.
type Client struct {
	t    testing.TB
	base func() string // asked for every request: a restarted server may have moved
	key  string
	http *http.Client

	// Retries counts requests that had to be sent again.
	Retries atomic.Int64
}

// tryTime bounds one try of a request, waits that the caller asks for included.
const tryTime = 40 * time.Second

// NewClient makes a client for one API key.
func NewClient(t testing.TB, base func() string, key string) *Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{t: t, base: base, key: key, http: &http.Client{Transport: transport, Timeout: tryTime}}
}

// HTTP is the client below, for requests of another form.
func (c *Client) HTTP() *http.Client { return c.http }

// Base is where the API is now.
func (c *Client) Base() string { return c.base() }

// Response is one whole answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into decodes the body, or ends the test.
func (r Response) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("status %d: %v: %s", r.Status, err, r.Body)
	}
}

// Problem decodes a problem document, or ends the test.
func (r Response) Problem(t testing.TB) Problem {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d with content type %q, want a problem document: %s", r.Status, got, r.Body)
	}
	var p Problem
	r.Into(t, &p)
	return p
}

// Replayed tells whether the answer says that it was decided earlier.
func (r Response) Replayed() bool { return r.Header.Get("Idempotency-Replayed") == "true" }

// Headers of a request, beside those that every request has.
type Headers map[string]string

// Once sends a request one time. An error means that no whole answer came.
func (c *Client) Once(ctx context.Context, method, path string, h Headers, body any) (Response, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		text = b
	case string:
		text = []byte(b)
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			return Response{}, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base()+path, bytes.NewReader(text))
	if err != nil {
		return Response{}, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if len(text) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range h {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Response{}, err
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	return Response{res.StatusCode, res.Header, got}, err
}

// Send sends a request until it is decided: again after a connection error, a 503, and an operation that is in progress.
// It fails the test and returns false when ctx ends first.
func (c *Client) Send(ctx context.Context, method, path string, h Headers, body any) (Response, bool) {
	c.t.Helper()
	wait := 20 * time.Millisecond
	for {
		res, err := c.Once(ctx, method, path, h, body)
		if err == nil && !tryAgain(c.t, res) {
			return res, true
		}
		c.Retries.Add(1)
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			c.t.Errorf("%s %s: not decided in time, last: %v status %d %s", method, path, err, res.Status, res.Body)
			return res, false
		}
		wait = min(wait*2, 300*time.Millisecond)
	}
}

func tryAgain(t testing.TB, r Response) bool {
	switch r.Status {
	case http.StatusServiceUnavailable:
		return true
	case http.StatusConflict:
		return r.Problem(t).Code == "operation-in-progress"
	}
	return false
}

// Post asks for a refund under a key and sends until it is decided.
func (c *Client) Post(ctx context.Context, key string, r Request, more ...Headers) (Response, bool) {
	c.t.Helper()
	h := Headers{"Idempotency-Key": key}
	for _, m := range more {
		maps.Copy(h, m)
	}
	return c.Send(ctx, http.MethodPost, "/v1/refunds", h, r)
}

// Accept asks for a refund that has to be accepted now.
func (c *Client) Accept(ctx context.Context, r Request) Refund {
	c.t.Helper()
	res, ok := c.Post(ctx, "key-"+r.RefundID, r)
	if !ok || res.Status != http.StatusAccepted {
		c.t.Fatalf("refund %s: status %d, want 202: %s", r.RefundID, res.Status, res.Body)
	}
	var out Refund
	res.Into(c.t, &out)
	return out
}

// Events pushes events and returns their verdicts, in order. May be called from any goroutine: when it fails the test, all
// verdicts are empty.
func (c *Client) Events(ctx context.Context, events ...any) []Verdict {
	c.t.Helper()
	var out struct{ Results []Verdict }
	res, ok := c.Send(ctx, http.MethodPost, "/v1/events", Headers{"Content-Type": "application/cloudevents-batch+json"}, events)
	if !ok || res.Status != http.StatusOK || json.Unmarshal(res.Body, &out) != nil || len(out.Results) != len(events) {
		c.t.Errorf("%d events: status %d, want 200 and as many verdicts: %s", len(events), res.Status, res.Body)
		return make([]Verdict, len(events))
	}
	return out.Results
}

// Refund reads a refund.
func (c *Client) Refund(ctx context.Context, id string) Refund {
	return get[Refund](ctx, c, "/v1/refunds/"+id)
}

// Timeline reads all that is known of a refund.
func (c *Client) Timeline(ctx context.Context, id string) Timeline {
	return get[Timeline](ctx, c, "/v1/refunds/"+id+"/timeline")
}

// Payment reads a payment.
func (c *Client) Payment(ctx context.Context, id string) Payment {
	return get[Payment](ctx, c, "/v1/payments/"+id)
}

func get[T any](ctx context.Context, c *Client, path string) (out T) {
	c.t.Helper()
	res, ok := c.Send(ctx, http.MethodGet, path, nil, nil)
	if !ok || res.Status != http.StatusOK {
		c.t.Fatalf("GET %s: status %d: %s", path, res.Status, res.Body)
	}
	res.Into(c.t, &out)
	return out
}

// Until reads a refund until done says so, or ends the test.
func (c *Client) Until(ctx context.Context, id string, within time.Duration, what string, done func(Refund) bool) Refund {
	c.t.Helper()
	var last Refund
	Eventually(c.t, within, fmt.Sprintf("refund %s %s", id, what), func() (bool, string) {
		last = c.Refund(ctx, id)
		return done(last), last.String()
	})
	return last
}

// UntilState reads a refund until it has this state.
func (c *Client) UntilState(ctx context.Context, id, state string, within time.Duration) Refund {
	c.t.Helper()
	return c.Until(ctx, id, within, "is "+state, func(r Refund) bool { return r.State == state })
}
