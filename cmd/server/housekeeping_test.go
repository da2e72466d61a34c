package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/migrate"
)

// versionedReader is the client of an account. The old version cannot read "v2 NUMBER".
type versionedReader struct{ newer bool }

func (versionedReader) ParseNotice(map[string][]string, []byte) ([]refund.Notice, error) {
	return nil, refund.ErrNoticeForged // its time stamp is too old by now
}

func (r versionedReader) ReadNotice(header map[string][]string, body []byte) ([]refund.Notice, error) {
	number, v2 := strings.CutPrefix(string(body), "v2 ")
	if !v2 || !r.newer || len(header["Plain-Signature"]) != 1 {
		return nil, fmt.Errorf("%w: an unknown form", refund.ErrNoticeUnreadable)
	}
	return []refund.Notice{{Digest: sha256.Sum256(body), Number: number, ChannelRefundID: "re_1", Status: refund.Succeeded, Amount: 100, Currency: "USD"}}, nil
}

func (versionedReader) AckNotice(bool) (int, string, []byte) { return 200, "", nil }

func housekeepingOn(t *testing.T) (housekeeping, string) {
	t.Helper()
	url := dbtest.Template(t, "housekeeping", func(url string) error {
		_, err := migrate.Up(context.Background(), migrate.Config{URL: url})
		return err
	})
	s, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return housekeeping{store: s, schema: "refundry", endAfter: endUnmatchedAfter, log: slog.New(slog.DiscardHandler)}, url
}

func (h housekeeping) with(newer bool) housekeeping {
	h.notifier = func(account string) (refund.Notifier, bool) { return versionedReader{newer}, account == "demo" }
	return h
}

func TestANoticeThatCannotBeReadIsReadByTheNextVersion(t *testing.T) {
	t.Parallel()
	h, url := housekeepingOn(t)
	keep := func(account, text string) refund.UnreadNotice {
		n := refund.UnreadNotice{Account: account, Digest: sha256.Sum256([]byte("unread " + text)), Headers: map[string][]string{"Plain-Signature": {"v1=00"}},
			Body: []byte(text), Reason: "an unknown form"}
		if _, err := h.store.KeepUnread(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	readable, never := keep("demo", "v2 NUMBER1"), keep("demo", "v3 ?")
	keep("elsewhere", "v2 NUMBER2")
	for _, c := range []struct {
		newer bool
		left  int
	}{{false, 3}, {true, 2}, {true, 2}} {
		if err := h.with(c.newer).Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := h.store.UnreadNotices(t.Context(), "", [32]byte{}, 10)
		if err != nil || len(left) != c.left {
			t.Errorf("newer version %v: %d left, %v, want %d", c.newer, len(left), err, c.left)
		}
	}
	if open, err := h.store.KeepUnread(t.Context(), readable); err != nil || open {
		t.Errorf("a repeat of the notice that was read is asked for again: %v, %v", open, err)
	}

	out, err := run("notice", "list", "--database-url", url)
	if err != nil || !strings.Contains(out, "an unknown form") || strings.Count(out, "\n") != 3 {
		t.Errorf("notice list: %v\n%s", err, out)
	}
	digest := hex.EncodeToString(never.Digest[:])
	if out, err := run("notice", "show", "demo", digest, "--database-url", url); err != nil || out != "v3 ?" {
		t.Errorf("notice show: %v %s", err, out)
	}
	for _, wrong := range []bool{false, true} { // the second time it is dismissed already
		if out, err := run("notice", "dismiss", "demo", digest, "--database-url", url); (err != nil) != wrong {
			t.Errorf("notice dismiss: %v %s", err, out)
		}
	}
	if open, err := h.store.KeepUnread(t.Context(), never); err != nil || open {
		t.Errorf("a dismissed notice is asked for again: %v, %v", open, err)
	}
}

func TestMaintenanceEndsUnmatchedNotices(t *testing.T) {
	t.Parallel()
	h, _ := housekeepingOn(t)
	h = h.with(true)
	n := refund.KeptNotice{Notice: refund.Notice{Digest: [32]byte{1}, Number: "THEIRS", Status: refund.Succeeded}, Body: []byte("x")}
	for _, c := range []struct {
		after time.Duration
		ended int
	}{{endUnmatchedAfter, 0}, {time.Nanosecond, 1}} {
		if out, err := h.store.ReceiveNotice(t.Context(), "demo", n); err != nil || out != refund.NoticeKept {
			t.Fatal(out, err)
		}
		h.endAfter = c.after
		if err := h.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		var ended int
		if err := h.store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM notices WHERE ended_as = 'unmatched'`).Scan(&ended); err != nil || ended != c.ended {
			t.Errorf("after %s: %d ended, %v, want %d", c.after, ended, err, c.ended)
		}
	}
}
