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

// Client is a well-behaved caller of the API: it sends an Idempotency-Key, and repeats the same request while its outcome
// is unknown.
type Client struct {
	t    testing.TB
	base func() string // called for every request: a restarted server can have another address
	key  string
	http *http.Client

	// Retries counts the repeated requests.
	Retries atomic.Int64
}

// tryTime limits one try of a request, including the waits that the caller asks for.
const tryTime = 40 * time.Second

// NewClient returns a client with an API key.
func NewClient(t testing.TB, base func() string, key string) *Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{t: t, base: base, key: key, http: &http.Client{Transport: transport, Timeout: tryTime}}
}

// HTTP returns the HTTP client, for other requests.
func (c *Client) HTTP() *http.Client { return c.http }

// Base returns the current URL of the API.
func (c *Client) Base() string { return c.base() }

// Response is a complete answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into decodes the body and ends the test if it cannot.
func (r Response) Into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("status %d: %v: %s", r.Status, err, r.Body)
	}
}

// Problem decodes a problem document and ends the test if it cannot.
func (r Response) Problem(t testing.TB) Problem {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("status %d with content type %q, want a problem document: %s", r.Status, got, r.Body)
	}
	var p Problem
	r.Into(t, &p)
	return p
}

// Replayed reports whether the answer repeats an earlier decision.
func (r Response) Replayed() bool { return r.Header.Get("Idempotency-Replayed") == "true" }

// Headers are additional headers of a request.
type Headers map[string]string

// Once sends a request once. An error means that there was no complete answer.
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

// Send sends a request until it is decided: it repeats after a connection error, a 503, and an operation in progress. It
// fails the test and returns false when ctx ends first.
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

// Post requests a refund under a key until it is decided.
func (c *Client) Post(ctx context.Context, key string, r Request, more ...Headers) (Response, bool) {
	c.t.Helper()
	h := Headers{"Idempotency-Key": key}
	for _, m := range more {
		maps.Copy(h, m)
	}
	return c.Send(ctx, http.MethodPost, "/v1/refunds", h, r)
}

// Accept requests a refund that must be accepted.
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

// Events posts events and returns their verdicts, in order. It can be called from any goroutine: when it fails the test,
// all verdicts are empty.
func (c *Client) Events(ctx context.Context, events ...any) []Verdict {
	c.t.Helper()
	var out struct{ Results []Verdict }
	res, ok := c.Send(ctx, http.MethodPost, "/v1/events", Headers{"Content-Type": "application/cloudevents-batch+json", "Accept": "application/json"}, events)
	if !ok || res.Status != http.StatusOK || json.Unmarshal(res.Body, &out) != nil || len(out.Results) != len(events) {
		c.t.Errorf("%d events: status %d, want 200 and as many verdicts: %s", len(events), res.Status, res.Body)
		return make([]Verdict, len(events))
	}
	return out.Results
}

// Refund returns a refund.
func (c *Client) Refund(ctx context.Context, id string) Refund {
	return get[Refund](ctx, c, "/v1/refunds/"+id)
}

// Timeline returns everything that is stored about a refund.
func (c *Client) Timeline(ctx context.Context, id string) Timeline {
	return get[Timeline](ctx, c, "/v1/refunds/"+id+"/timeline")
}

// Payment returns a payment.
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

// Until reads a refund until done returns true, and ends the test after within.
func (c *Client) Until(ctx context.Context, id string, within time.Duration, what string, done func(Refund) bool) Refund {
	c.t.Helper()
	var last Refund
	Eventually(c.t, within, fmt.Sprintf("refund %s %s", id, what), func() (bool, string) {
		last = c.Refund(ctx, id)
		return done(last), last.String()
	})
	return last
}

// UntilState reads a refund until it has the state.
func (c *Client) UntilState(ctx context.Context, id, state string, within time.Duration) Refund {
	c.t.Helper()
	return c.Until(ctx, id, within, "is "+state, func(r Refund) bool { return r.State == state })
}
