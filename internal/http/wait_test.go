package httpapi_test

import (
	"strings"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
)

// waitFor polls a condition until it holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
		<-time.After(time.Millisecond)
	}
}

func TestPreferWait(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf_1001"))
	done := sampleRefund("rf_1001")
	done.State, done.JournalSeq, done.PendingReason, done.NextActionAt = refund.StateSuccess, 3, "", time.Time{}

	tag := c.do("GET", "/v1/refunds/rf_1001", "").header.Get("ETag")
	got := make(chan reply, 3)
	go func() {
		got <- c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k-1", "Prefer", "respond-async, wait=60")
	}()
	go func() { got <- c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", "wait=60") }()
	go func() { got <- c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", "wait=60", "If-None-Match", tag) }()
	waitFor(t, "the Door got the refund", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.accepted) == 1 })
	w.set(done)
	for range 3 {
		r := <-got
		if (r.status != 200 && r.status != 202) || !strings.Contains(r.body, `"state":"SUCCESS"`) || r.header.Get("Preference-Applied") != "wait=60" {
			t.Errorf("%d %q %s, want the final state after the wait", r.status, r.header.Get("Preference-Applied"), r.body)
		}
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	w, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) { cfg.Limits.Waiters = 1 })
	w.set(sampleRefund("rf_1001"))

	if r := c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", "wait=1"); r.status != 200 || r.header.Get("Preference-Applied") != "wait=1" {
		t.Errorf("%d %v after the wait, want 200 and Preference-Applied", r.status, r.header)
	}
	tag := c.do("GET", "/v1/refunds/rf_1001", "").header.Get("ETag")
	if r := c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", "wait=1", "If-None-Match", strings.TrimPrefix(tag, "W/")); r.status != 304 || r.body != "" ||
		r.header.Get("ETag") != tag {
		t.Errorf("%d %q of an unchanged refund, want 304", r.status, r.body)
	}
	for _, prefer := range []string{"wait=soon", "wait=-1", "wait", "handling=strict", "wait=99999999999"} {
		if r := c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", prefer); r.status != 200 || r.header.Get("Preference-Applied") != "" {
			t.Errorf("Prefer: %s: %d %q, want it ignored", prefer, r.status, r.header.Get("Preference-Applied"))
		}
	}
	got := make(chan reply, 1)
	go func() { got <- c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", "wait=600") }()
	w.mu.Lock()
	before := w.finds
	w.mu.Unlock()
	waitFor(t, "a second read", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.finds >= before+3 })
	// The only slot is taken, so the next request does not wait.
	if r := c.do("GET", "/v1/refunds/rf_1001", "", "Prefer", "wait=60"); r.status != 200 || r.header.Get("Preference-Applied") != "" {
		t.Errorf("%d %q, want 200 without a wait: too many requests wait already", r.status, r.header.Get("Preference-Applied"))
	}
	c.api.Drain()
	if r := <-got; r.status != 200 || r.header.Get("Preference-Applied") != "wait=60" {
		t.Errorf("%d %q, want 200: Drain ends the wait", r.status, r.header.Get("Preference-Applied"))
	}
	if r := c.do("GET", "/readyz", ""); r.status != 503 {
		t.Errorf("/readyz of a stopping process: %d, want 503", r.status)
	}
}

func TestGetRefundMatches(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf_1001"))
	tag := c.do("GET", "/v1/refunds/rf_1001", "").header.Get("ETag")
	strong := strings.TrimPrefix(tag, "W/")
	for tag, want := range map[string]int{tag: 304, strong: 304, `"0", ` + tag: 304, `*`: 304, `W/"2"`: 200, strings.Trim(strong, `"`): 200} {
		if r := c.do("GET", "/v1/refunds/rf_1001", "", "If-None-Match", tag); r.status != want {
			t.Errorf("If-None-Match: %s: %d, want %d", tag, r.status, want)
		}
	}
}

// TestTheEntityTagCoversWhatTheBodyShows: also the members that change without a new version.
func TestTheEntityTagCoversWhatTheBodyShows(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf_1001"))
	seen := c.do("GET", "/v1/refunds/rf_1001", "")
	for what, change := range map[string]func(*refund.Refund){
		"pendingReason":   func(r *refund.Refund) { r.PendingReason = refund.PendingBreaker },
		"updatedAt":       func(r *refund.Refund) { r.UpdatedAt = r.UpdatedAt.Add(time.Microsecond) },
		"nextActionAt":    func(r *refund.Refund) { r.NextActionAt = r.NextActionAt.Add(time.Second) },
		"no nextActionAt": func(r *refund.Refund) { r.NextActionAt = time.Time{} },
		"case": func(r *refund.Refund) {
			r.Case = &refund.Case{ID: refund.RID{1}, Reasons: []refund.CaseReason{refund.CaseDeadline}}
		},
		"channelRefundId": func(r *refund.Refund) { r.ChannelRefundID = "re_1" },
		"version":         func(r *refund.Refund) { r.JournalSeq++ },
	} {
		changed := sampleRefund("rf_1001")
		change(&changed)
		w.set(changed)
		r := c.do("GET", "/v1/refunds/rf_1001", "", "If-None-Match", seen.header.Get("ETag"))
		if r.status != 200 || r.body == seen.body || r.header.Get("ETag") == seen.header.Get("ETag") {
			t.Errorf("another %s: %d %s, want 200 with another tag", what, r.status, r.header.Get("ETag"))
		}
	}
	w.set(sampleRefund("rf_1001"))
	if r := c.do("GET", "/v1/refunds/rf_1001", "", "If-None-Match", seen.header.Get("ETag")); r.status != 304 {
		t.Errorf("the same body: %d, want 304", r.status)
	}
}
