package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Two transactions that did not see each other leave a notice behind; the housekeeping finds it.
func TestMatchNoticesEntersLeftNotices(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	number := refund.DispatchNumber(f.Installation(), "demo", "rf_0", 1)
	f.receive(t, notice("left", number, "ch_1", refund.Succeeded), refund.NoticeKept)
	key := sha256.Sum256([]byte("left"))
	// The notice does not show while the refund is accepted, as if it were not committed yet.
	f.plant(t, fmt.Sprintf(`UPDATE notices SET number = NULL WHERE digest = '\x%x'`, key))
	k := f.refund(t, "rf")
	f.plant(t, fmt.Sprintf(`UPDATE notices SET number = '%s' WHERE digest = '\x%x'`, number, key))
	f.wantState(t, k, refund.StatePending)
	for _, want := range []int{1, 0} {
		if n, err := f.MatchNotices(t.Context()); err != nil || n != want {
			t.Errorf("matched %d, %v, want %d", n, err, want)
		}
	}
	f.wantState(t, k, refund.StateSuccess)
	f.wantNotice(t, "left", 1, true)
	f.wantSound(t)
}

// C21: the connection breaks around COMMIT. The transaction is run again and finds what the first run did. If every run is cut, the
// sender gets ErrUnavailable, and its repeat finds the notice stored.
func TestNoticeWhoseCommitIsLost(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, through := newWireCutter(t, f.url)
	second := f.openSecond(t, through)
	for i, c := range []struct {
		cuts  []cut
		named bool // the notice names the refund's number
		want  refund.NoticeOutcome
	}{
		{[]cut{cutBefore}, true, refund.NoticeEntered},
		{[]cut{cutAfter}, true, refund.NoticeEntered},
		{[]cut{cutBefore}, false, refund.NoticeKept},
		{[]cut{cutAfter}, false, refund.NoticeKept},
		{[]cut{cutAfter, cutBefore, cutBefore, cutBefore}, true, refund.NoticeKnown},
	} {
		k := f.refund(t, fmt.Sprint("rf", i))
		f.claim(t, k, refund.AttemptSend, 10*time.Second)
		n := notice(fmt.Sprint("told ", i), f.number(t, k), fmt.Sprint("ch_", i), refund.Succeeded)
		state := refund.StateSuccess
		if !c.named {
			n.Number, state = "nobody's", refund.StateProcessing
		}
		w.arm(c.cuts...)
		got, err := second.ReceiveNotice(t.Context(), "demo", n)
		w.disarm()
		if len(c.cuts) > 1 {
			if !errors.Is(err, refund.ErrUnavailable) {
				t.Fatalf("cuts %v: %v, want ErrUnavailable", c.cuts, err)
			}
			got, err = second.ReceiveNotice(t.Context(), "demo", n)
		}
		if err != nil || got != c.want {
			t.Fatalf("cuts %v: %s, %v, want %s", c.cuts, got, err, c.want)
		}
		if rows := f.count(t, `SELECT count(*) FROM notices WHERE digest = $1`, n.Digest[:]); rows != 1 {
			t.Errorf("cuts %v: %d rows, want 1", c.cuts, rows)
		}
		if r := f.wantState(t, k, state); c.named && len(r.Effects) != 1 {
			t.Errorf("cuts %v: effects %+v, want one", c.cuts, r.Effects)
		}
	}
	f.wantSound(t)
}
