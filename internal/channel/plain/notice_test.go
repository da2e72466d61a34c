package plain_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/simulator"
)

const (
	noticeNow    = "notice-secret-of-now"
	noticeBefore = "notice-secret-before"
)

func noticeClient(t *testing.T, now time.Time) *plain.Client {
	t.Helper()
	tr := channel.NewTransport(channel.TransportConfig{})
	t.Cleanup(tr.CloseIdleConnections)
	c, err := plain.New(plain.Config{Endpoint: "http://127.0.0.1:1", NoticeSecrets: []string{noticeNow, noticeBefore}, HTTP: tr.Client(),
		Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func signature(secret, stamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

func noticeHeader(stamp, signed string) http.Header {
	return http.Header{"Plain-Timestamp": {stamp}, "Plain-Signature": {signed}}
}

const noticeBody = `{"id":"pr_1-1","account":"shop","number":"n1","refundId":"rf","channelRefundId":"pr_1","paymentReference":"ch","status":"returned","amount":1250,"currency":"USD","occurredAt":"2026-03-01T12:00:00Z"}`

// TestNoticeIsRead accepts the current and the earlier secret, and several signatures. A repeat with another time stamp has
// the same digest.
func TestNoticeIsRead(t *testing.T) {
	t.Parallel()
	now := time.Unix(1772366400, 0)
	c := noticeClient(t, now)
	stamp, later := strconv.FormatInt(now.Unix(), 10), strconv.FormatInt(now.Add(time.Minute).Unix(), 10)
	want := refund.Notice{Number: "n1", ChannelRefundID: "pr_1", Status: refund.Reversed, Amount: 1250, Currency: "USD", Code: "returned",
		Names: refund.Names{RefundID: "rf", PaymentReference: "ch"}}
	var keys [][32]byte
	for _, h := range []http.Header{
		noticeHeader(stamp, signature(noticeNow, stamp, noticeBody)),
		noticeHeader(later, signature(noticeBefore, later, noticeBody)),
		noticeHeader(stamp, "v0=00, "+signature(noticeNow, stamp, noticeBody)),
	} {
		got, err := c.ParseNotice(h, []byte(noticeBody))
		if err != nil || len(got) != 1 {
			t.Fatalf("%v: %v, %v", h, got, err)
		}
		keys = append(keys, got[0].Digest)
		got[0].Digest = [32]byte{}
		if got[0] != want {
			t.Errorf("%v: %+v, want %+v", h, got[0], want)
		}
	}
	if keys[0] != keys[1] || keys[0] == [32]byte{} {
		t.Error("the same content must have the same key, whatever the time stamp")
	}
	if status, _, _ := c.AckNotice(true); status != http.StatusOK {
		t.Errorf("acknowledged with %d", status)
	}
	if status, _, _ := c.AckNotice(false); status < 500 {
		t.Errorf("refused with %d: the channel would not repeat it", status)
	}
}

func TestNoticeIsForged(t *testing.T) {
	t.Parallel()
	now := time.Unix(1772366400, 0)
	c := noticeClient(t, now)
	stamp := strconv.FormatInt(now.Unix(), 10)
	good := signature(noticeNow, stamp, noticeBody)
	old := strconv.FormatInt(now.Add(-6*time.Minute).Unix(), 10)
	early := strconv.FormatInt(now.Add(6*time.Minute).Unix(), 10)
	for what, h := range map[string]http.Header{
		"no headers":          {},
		"no signature":        {"Plain-Timestamp": {stamp}},
		"no time stamp":       {"Plain-Signature": {signature(noticeNow, "", noticeBody)}},
		"another secret":      noticeHeader(stamp, signature("somebody-elses-secret", stamp, noticeBody)),
		"another body":        noticeHeader(stamp, signature(noticeNow, stamp, strings.Replace(noticeBody, "1250", "1251", 1))),
		"another time stamp":  noticeHeader(old, good),
		"old":                 noticeHeader(old, signature(noticeNow, old, noticeBody)),
		"from the future":     noticeHeader(early, signature(noticeNow, early, noticeBody)),
		"no number as time":   noticeHeader("noon", signature(noticeNow, "noon", noticeBody)),
		"another version":     noticeHeader(stamp, strings.Replace(good, "v1=", "v2=", 1)),
		"no version":          noticeHeader(stamp, strings.TrimPrefix(good, "v1=")),
		"half a signature":    noticeHeader(stamp, good[:len(good)/2]),
		"nothing":             noticeHeader(stamp, "v1="),
		"a heap of guesses":   noticeHeader(stamp, strings.Repeat("v1=00,", 100)+good),
		"two signature lines": {"Plain-Timestamp": {stamp}, "Plain-Signature": {good, good}},
	} {
		if got, err := c.ParseNotice(h, []byte(noticeBody)); !errors.Is(err, refund.ErrNoticeForged) || got != nil {
			t.Errorf("%s: %v, %v, want it forged", what, got, err)
		}
	}
	unsigned := noticeHeader(stamp, signature("", stamp, noticeBody))
	if got, err := noticeClientWithout(t).ParseNotice(unsigned, []byte(noticeBody)); !errors.Is(err, refund.ErrNoticeForged) {
		t.Errorf("an account without a secret took %v, %v", got, err)
	}
}

func noticeClientWithout(t *testing.T) *plain.Client {
	t.Helper()
	tr := channel.NewTransport(channel.TransportConfig{})
	t.Cleanup(tr.CloseIdleConnections)
	c, err := plain.New(plain.Config{Endpoint: "http://127.0.0.1:1", HTTP: tr.Client(), Clock: func() time.Time { return time.Unix(1772366400, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNoticeIsUnreadable has notices that are signed correctly but cannot be read, which is an error of its own. An unknown
// status is read and proves nothing.
func TestNoticeIsUnreadable(t *testing.T) {
	t.Parallel()
	now := time.Unix(1772366400, 0)
	c := noticeClient(t, now)
	stamp := strconv.FormatInt(now.Unix(), 10)
	for _, body := range []string{``, `[]`, `{`, `"x"`, `{}`, `{"id":"x","status":"succeeded"}`, `{"number":"n1","status":"succeeded"}`, `{"id":"x","number":7}`} {
		got, err := c.ParseNotice(noticeHeader(stamp, signature(noticeNow, stamp, body)), []byte(body))
		if !errors.Is(err, refund.ErrNoticeUnreadable) || got != nil {
			t.Errorf("%s: %v, %v, want it unreadable", body, got, err)
		}
	}
	for _, spoilt := range []string{`"status":"frozen"`, `"status":"returned","amount":-1`} {
		body := strings.Replace(strings.Replace(noticeBody, `"status":"returned"`, spoilt, 1), `,"amount":1250`, "", 1)
		got, err := c.ParseNotice(noticeHeader(stamp, signature(noticeNow, stamp, body)), []byte(body))
		if errors.Is(err, refund.ErrNoticeUnreadable) {
			continue
		}
		if err != nil || len(got) != 1 || got[0].Status != refund.Unknown {
			t.Errorf("%s: %+v, %v, want a notice that says nothing", body, got, err)
		}
		if _, says := got[0].Fact(1); says {
			t.Errorf("%s became a fact", body)
		}
	}
}

// TestNoticesOfTheSimulator reads the notices that the simulator sends, of which some are forged.
func TestNoticesOfTheSimulator(t *testing.T) {
	t.Parallel()
	type heard struct {
		notices []refund.Notice
		err     error
	}
	ears := make(chan heard, 8)
	c := noticeClient(t, time.Now())
	inbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		notices, err := c.ParseNotice(r.Header, body)
		ears <- heard{notices, err}
		status, _, answer := c.AckNotice(err == nil)
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	defer inbox.Close()
	sim, err := simulator.New(simulator.Config{Dir: t.TempDir(), NoticeSecret: noticeBefore, Faults: "notice-forged=1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sim.Close() }()
	if err := sim.SetNotices(inbox.URL + "/{account}"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim.Handler())
	defer server.Close()
	if a := newClient(t, server.URL, refund.CodeTerms{}).Refund(attempt(t), ours); a.Kind != refund.Succeeded {
		t.Fatalf("send: %+v", a)
	}
	forged, read := 0, 0
	for range 2 {
		select {
		case h := <-ears:
			switch {
			case errors.Is(h.err, refund.ErrNoticeForged):
				forged++
			case h.err != nil:
				t.Errorf("notice: %v", h.err)
			default:
				read++
				if n := h.notices[0]; n.Number != ours.Number || n.Status != refund.Succeeded || n.Amount != ours.Amount || n.ChannelRefundID == "" {
					t.Errorf("read %+v", n)
				}
			}
		case <-time.After(20 * time.Second):
			t.Fatal("no notice came")
		}
	}
	if forged != 1 || read != 1 {
		t.Errorf("%d forged, %d read, want one of each", forged, read)
	}
}
