package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

func unread(text string) refund.UnreadNotice {
	return refund.UnreadNotice{Account: "demo", Digest: sha256.Sum256([]byte(text)), Headers: map[string][]string{"Plain-Signature": {"v1=00"}},
		Body: []byte(text), Reason: "it names no refund"}
}

func TestASignedNoticeThatCannotBeReadIsKeptOnceAndListed(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	for _, text := range []string{"torn", "other", "torn", "torn"} {
		if open, err := f.KeepUnread(t.Context(), unread(text)); err != nil || !open {
			t.Fatalf("%s: open %v, %v", text, open, err)
		}
	}
	times := map[string]int{}
	var last refund.UnreadNotice
	for range 3 { // page by page
		page, err := f.UnreadNotices(t.Context(), last.Account, last.Digest, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page {
			times[string(n.Body)], last = n.TimesSeen, n
			if n.Reason != "it names no refund" || len(n.Headers["Plain-Signature"]) != 1 || n.FirstAt.IsZero() || n.Account != "demo" {
				t.Errorf("%+v", n)
			}
		}
	}
	if len(times) != 2 || times["torn"] != 3 || times["other"] != 1 {
		t.Errorf("listed %v, want each once, with how often it came", times)
	}
	if s, err := f.reader().Backlog(t.Context()); err != nil || s.Unread["demo"] != 2 {
		t.Errorf("the gauge has %v, %v", s.Unread, err)
	}
	if n, err := f.MatchNotices(t.Context()); n != 0 || err != nil {
		t.Errorf("matched %d, %v", n, err)
	}
	if n, err := f.EndUnmatched(t.Context(), time.Nanosecond); n != 0 || err != nil {
		t.Errorf("ended %d, %v: an unread notice may be about a refund of ours", n, err)
	}
}

func TestAnUnreadNoticeThatEndedIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	for _, as := range []refund.UnreadEnd{refund.UnreadRead, refund.UnreadDismissed} {
		n := unread(string(as))
		if _, err := f.KeepUnread(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		if err := f.EndUnread(t.Context(), n.Account, n.Digest, as); err != nil {
			t.Fatal(err)
		}
		if err := f.EndUnread(t.Context(), n.Account, n.Digest, as); !errors.Is(err, refund.ErrNotFound) {
			t.Errorf("ended twice: %v", err)
		}
		if open, err := f.KeepUnread(t.Context(), n); err != nil || open {
			t.Errorf("%s: open %v, %v after its end", as, open, err)
		}
	}
	left, err := f.UnreadNotices(t.Context(), "", [32]byte{}, 10)
	if err != nil || len(left) != 0 {
		t.Errorf("listed %+v, %v", left, err)
	}
	if got := f.text(t, `SELECT string_agg(ended_as || ' ' || times_seen, ', ' ORDER BY ended_as) FROM notices`); got != "dismissed 2, read 2" {
		t.Errorf("kept %s, want both rows", got)
	}
}

// A merchant account that other systems use brings notices about refunds of others. They slow down no group of intakes.
func TestNoticesOfOtherSystemsDoNotSlowDownIntakes(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	for i := range 20 {
		f.receive(t, notice(fmt.Sprint("foreign", i), fmt.Sprint("THEIRS", i), fmt.Sprint("re_", i), refund.Succeeded), refund.NoticeKept)
	}
	ours := refund.DispatchNumber(f.Installation(), "demo", "rf_1", 1)
	f.receive(t, notice("ours", ours, "ch_1", refund.Succeeded), refund.NoticeKept)
	conn, err := f.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for id, want := range map[string]int{"rf_1": 1, "rf_2": 0} {
		_, noticed, tx, err := f.readGroup(t.Context(), conn, []intake.Intake{f.request("e", id, "pay_1", 60, inlinePayment(1000))})
		if err != nil || len(noticed) != want {
			t.Errorf("%s: notices wait for %v, %v, want %d", id, noticed, err, want)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	out := f.accept(t, f.request("e_2", "rf_2", "pay_1", 60, inlinePayment(1000)), f.request("e_1", "rf_1", "pay_1", 100, nil))
	wantVerdicts(t, out, intake.Taken, intake.Taken)
	f.wantState(t, out[1].Refund.RefundRef, refund.StateSuccess)
	f.wantState(t, out[0].Refund.RefundRef, refund.StatePending)
	f.wantNotice(t, "ours", 1, true)
}

func TestUnmatchedNoticesEndAfterTheConfiguredTime(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	number := refund.DispatchNumber(f.Installation(), "demo", "rf_0", 1)
	f.receive(t, notice("by number", number, "ch_1", refund.Succeeded), refund.NoticeKept)
	f.receive(t, notice("by id", "", "ch_1", refund.Succeeded), refund.NoticeKept)
	if n, err := f.EndUnmatched(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("ended %d, %v before the time", n, err)
	}
	if n, err := f.EndUnmatched(t.Context(), 0); n != 2 || err != nil {
		t.Errorf("ended %d, %v, want both", n, err)
	}
	k := f.refund(t, "rf")
	if k := f.wantState(t, k, refund.StatePending); len(k.Effects) != 0 {
		t.Errorf("effects %+v", k.Effects)
	}
	if n, err := f.MatchNotices(t.Context()); n != 0 || err != nil {
		t.Errorf("matched %d, %v", n, err)
	}
	f.wantNotice(t, "by number", 1, false)
}

func TestWhyANoticeIsUnreadAndHowItEndedNeverChange(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	n := unread("torn")
	if _, err := f.KeepUnread(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := f.EndUnread(t.Context(), n.Account, n.Digest, refund.UnreadDismissed); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{`unread = NULL`, `unread = 'other'`, `ended_as = 'read'`, `ended_at = NULL, ended_as = NULL`, `ended_at = now() + interval '1 s'`} {
		if _, err := f.pool.Exec(t.Context(), `UPDATE notices SET `+change); err == nil {
			t.Errorf("%s was not refused", change)
		}
	}
}
