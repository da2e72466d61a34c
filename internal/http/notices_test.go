package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
)

// fakeNotices stands for a channel's client and the store behind it. A body "good" is
// signed well, "torn" is signed and unreadable, anything else is forged.
type fakeNotices struct {
	mu   sync.Mutex
	err  error
	kept []refund.KeptNotice
	seen map[string]int // by outcome
}

func (d *fakeNotices) count(account, outcome string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[account+" "+outcome]++
}

func (d *fakeNotices) wantSeen(t *testing.T, want map[string]int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !maps.Equal(d.seen, want) {
		t.Errorf("counted %v, want %v", d.seen, want)
	}
}

func (d *fakeNotices) Notifier(account string) (refund.Notifier, bool) { return d, account == "demo" }

func (d *fakeNotices) ParseNotice(_ map[string][]string, body []byte) ([]refund.Notice, error) {
	switch string(body) {
	case "good":
		return []refund.Notice{{Digest: [32]byte{1}, Number: "n1", Status: refund.Succeeded}, {Digest: [32]byte{2}, Number: "n2", Status: refund.Reversed}}, nil
	case "torn":
		return nil, fmt.Errorf("%w: no JSON", refund.ErrNoticeUnreadable)
	}
	return nil, fmt.Errorf("%w: by a mile", refund.ErrNoticeForged)
}

func (d *fakeNotices) AckNotice(ok bool) (int, string, []byte) {
	if !ok {
		return http.StatusOK, "text/plain", []byte("fail") // a channel that looks at the word, not at the status
	}
	return http.StatusOK, "text/plain", []byte("success")
}

func (d *fakeNotices) ReceiveNotice(_ context.Context, _ string, n refund.KeptNotice) (refund.NoticeOutcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return "", d.err
	}
	d.kept = append(d.kept, n)
	if n.Number == "" {
		return refund.NoticeKept, nil
	}
	return refund.NoticeEntered, nil
}

func serveNotices(t *testing.T) (*fakeNotices, *client) {
	t.Helper()
	d := &fakeNotices{seen: map[string]int{}}
	_, c := serve(t, func(_ *fakeBackend, cfg *httpapi.Config) {
		cfg.Notices, cfg.NoticeSeen, cfg.Limits.Notice = d, d.count, 64
	})
	return d, c
}

const noticesOfDemo = "/v1/channels/demo/notices"

func TestNoticeIsStoredThenAcknowledged(t *testing.T) {
	t.Parallel()
	d, c := serveNotices(t)
	got := c.do("POST", noticesOfDemo, "good", "Cookie", "sid=secret", "X-Api-Key", "secret", "Plain-Signature", "v1=00")
	if got.status != 200 || got.body != "success" {
		t.Errorf("%d %q, want the channel's own word", got.status, got.body)
	}
	if len(d.kept) != 2 || string(d.kept[0].Body) != "good" || d.kept[1].Number != "n2" {
		t.Fatalf("kept %+v", d.kept)
	}
	h := d.kept[0].Headers
	if len(h["Plain-Signature"]) != 1 || h["Cookie"] != nil || h["X-Api-Key"] != nil || h["Authorization"] != nil {
		t.Errorf("headers %v: the signature is evidence, secrets are not", h)
	}
	d.wantSeen(t, map[string]int{"demo entered": 2})
}

// C21: while the database is away the handler must not say 200, so that the sender repeats, and the repeat is taken.
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
		t.Errorf("the repeat: %d, %d kept", got.status, len(d.kept))
	}
	d.wantSeen(t, map[string]int{"demo entered": 2}) // what was not stored is not counted
}

func TestNoticeThatIsForgedWritesNothing(t *testing.T) {
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

// Signed by the channel and not to be read: kept for people, and acknowledged, since a repeat would read no better.
func TestNoticeThatCannotBeReadIsKept(t *testing.T) {
	t.Parallel()
	d, c := serveNotices(t)
	for range 2 {
		if got := c.do("POST", noticesOfDemo, "torn"); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	if len(d.kept) != 2 || d.kept[0].Digest != d.kept[1].Digest || d.kept[0].Digest == [32]byte{} || d.kept[0].Number != "" || string(d.kept[0].Body) != "torn" {
		t.Errorf("kept %+v: the same bytes have the same key", d.kept)
	}
	d.wantSeen(t, map[string]int{"demo unusable": 2})
}
