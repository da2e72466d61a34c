package httpapi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

const noticesOfDemo = "/v1/channels/demo/notices"

func TestNoticeIsStoredBeforeItIsAcknowledged(t *testing.T) {
	t.Parallel()
	d, c := serveNotices(t)
	got := c.do("POST", noticesOfDemo, "good", "Cookie", "sid=secret", "X-Api-Key", "secret", "Plain-Signature", "v1=00")
	if got.status != 200 || got.body != "success" {
		t.Errorf("%d %q, want 200 and the answer of the channel's own form", got.status, got.body)
	}
	if len(d.kept) != 2 || string(d.kept[0].Body) != "good" || d.kept[1].Number != "n2" {
		t.Fatalf("kept %+v", d.kept)
	}
	h := d.kept[0].Headers
	if len(h["Plain-Signature"]) != 1 || h["Cookie"] != nil || h["X-Api-Key"] != nil || h["Authorization"] != nil {
		t.Errorf("headers %v, want the signature, which is evidence, and no secrets", h)
	}
	d.wantSeen(t, map[string]int{"demo entered": 2})
}

// C21: while the database is unavailable the status is not 200, so that the channel repeats the notice; the repeat is stored.
func TestNoticeIsNotLostWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	d, c := serveNotices(t)
	for _, err := range []error{refund.ErrUnavailable, refund.ErrBusy, refund.ErrCommitUnknown, errors.New("a surprise")} {
		d.mu.Lock()
		d.err = err
		d.mu.Unlock()
		if got := c.do("POST", noticesOfDemo, "good"); got.status < 500 || got.body != "fail" || got.header.Get("Retry-After") == "" {
			t.Errorf("%v: %d %q, want a 5xx in the channel's own form", err, got.status, got.body)
		}
	}
	d.mu.Lock()
	d.err = nil
	d.mu.Unlock()
	if got := c.do("POST", noticesOfDemo, "good"); got.status != 200 || len(d.kept) != 2 {
		t.Errorf("%d for the repeat and %d notices stored, want 200 and 2", got.status, len(d.kept))
	}
	d.wantSeen(t, map[string]int{"demo entered": 2}) // only stored notices are counted
}

func TestForgedNoticeStoresNothing(t *testing.T) {
	t.Parallel()
	d, c := serveNotices(t)
	for _, x := range []struct {
		what, path, body string
		status           int
		code             string
	}{
		{"forged", noticesOfDemo, "forged", 401, "unauthorized"},
		{"empty", noticesOfDemo, "", 401, "unauthorized"},
		{"too large", noticesOfDemo, strings.Repeat("x", 65), 413, "body-too-large"},
		{"an account that sends none", "/v1/channels/other/notices", "good", 404, "not-found"},
	} {
		got := c.do("POST", x.path, x.body)
		if got.status != x.status || !strings.Contains(got.body, `"`+x.code+`"`) || strings.Contains(got.body, "mile") {
			t.Errorf("%s: %d %s, want %d %s", x.what, got.status, got.body, x.status, x.code)
		}
	}
	if got := c.do("GET", noticesOfDemo, ""); got.status != 405 {
		t.Errorf("GET: %d", got.status)
	}
	if len(d.kept) != 0 {
		t.Errorf("kept %+v", d.kept)
	}
	d.wantSeen(t, map[string]int{"demo forged": 2})
}

// A signed notice that cannot be read is stored and not acknowledged: the channel repeats it, and a later version may read it.
func TestASignedNoticeThatCannotBeReadIsKeptAndNotAcknowledged(t *testing.T) {
	t.Parallel()
	d, c := serveNotices(t)
	for range 2 {
		if got := c.do("POST", noticesOfDemo, "torn", "X-Api-Key", "secret"); got.status != 503 || got.body != "fail" {
			t.Errorf("%d %s, want a 5xx in the channel's own form", got.status, got.body)
		}
	}
	if len(d.kept) != 0 || len(d.torn) != 2 || d.torn[0].Digest != d.torn[1].Digest || d.torn[0].Digest == [32]byte{} || string(d.torn[0].Body) != "torn" ||
		d.torn[0].Account != "demo" || d.torn[0].Reason == "" || d.torn[0].Headers["X-Api-Key"] != nil {
		t.Errorf("stored %+v and %+v, want the same digest for the same bytes", d.kept, d.torn)
	}
	d.mu.Lock()
	d.err = refund.ErrUnavailable
	d.mu.Unlock()
	if got := c.do("POST", noticesOfDemo, "torn"); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("not stored: %d", got.status)
	}
	d.mu.Lock()
	d.err, d.shut = nil, true
	d.mu.Unlock()
	if got := c.do("POST", noticesOfDemo, "torn"); got.status != 200 || got.body != "success" {
		t.Errorf("dismissed: %d %s, want it acknowledged", got.status, got.body)
	}
	d.wantSeen(t, map[string]int{"demo unread": 3})
}
