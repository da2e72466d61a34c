package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
)

// fakeNotices is the client of a channel and the store of its notices. A body "good" has
// a valid signature, "torn" is signed and cannot be parsed, any other is forged.
type fakeNotices struct {
	mu   sync.Mutex
	err  error
	kept []refund.KeptNotice
	torn []refund.UnreadNotice
	shut bool           // the unread notice was dismissed
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

func (d *fakeNotices) ReadNotice(_ map[string][]string, body []byte) ([]refund.Notice, error) {
	return d.ParseNotice(nil, body)
}

func (d *fakeNotices) KeepUnread(_ context.Context, n refund.UnreadNotice) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.torn = append(d.torn, n)
	}
	return !d.shut, d.err
}

func (d *fakeNotices) AckNotice(ok bool) (int, string, []byte) {
	if !ok {
		return http.StatusOK, "text/plain", []byte("fail") // a channel that evaluates the body and not the status
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
