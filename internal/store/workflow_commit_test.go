package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// A COMMIT whose answer is lost has an unknown outcome, whether or not it happened and whatever the driver says about retrying.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	for code, c := range map[string]cut{"before": cutBefore, "after": cutAfter} {
		w.arm(c)
		err := pg.InTx(t.Context(), s.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO tenants (code) VALUES ($1)`, code)
			return err
		})
		if !errors.Is(err, refund.ErrCommitUnknown) {
			t.Errorf("cut %s COMMIT: %v, want ErrCommitUnknown", code, err)
		}
	}
	if n := f.count(t, `SELECT count(*) FROM tenants WHERE code = 'after'`); n != 1 {
		t.Error("cut after COMMIT: the server had committed")
	}
	if n := f.count(t, `SELECT count(*) FROM tenants WHERE code = 'before'`); n != 0 {
		t.Error("cut before COMMIT: the server had nothing to commit")
	}
}

// Enter returns the right result when answers to its COMMITs are lost.
func TestEnterCommitLost(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	for i, c := range []struct {
		name string
		cuts []cut
	}{
		{"before", []cut{cutBefore}}, {"after", []cut{cutAfter}}, {"before, before", []cut{cutBefore, cutBefore}},
		{"before, after", []cut{cutBefore, cutAfter}}, {"after, before", []cut{cutAfter, cutBefore}}, {"after, after", []cut{cutAfter, cutAfter}},
	} {
		for _, kind := range []refund.FactKind{refund.Succeeded, refund.Unknown, refund.LeaseEnd} {
			k := f.refund(t, fmt.Sprintf("rf_%d_%s", i, kind))
			claimed := f.claim(t, k, refund.AttemptSend, 20*time.Millisecond)
			fact := succeeded(claimed, "ch_"+k.RID.String())
			want := refund.StateSuccess
			switch kind {
			case refund.Unknown:
				fact, want = answered(claimed, refund.Unknown), refund.StateUnknown
			case refund.LeaseEnd:
				f.waitUntil(t, f.load(t, k).LeaseEndsAt)
				fact, want = refund.Fact{Kind: refund.LeaseEnd, Generation: claimed.Generation, Source: "sweeper"}, refund.StateUnknown
			}
			w.arm(c.cuts...)
			ch, err := s.Enter(t.Context(), k, fact, f.contract)
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, kind, err)
				continue
			}
			r := f.wantState(t, k, want)
			if ch.After.State != want || ch.After.JournalSeq != r.JournalSeq || r.JournalSeq != 3 {
				t.Errorf("%s, %s: returned %s at %d, the row has %s at %d", c.name, kind, ch.After.State, ch.After.JournalSeq, r.State, r.JournalSeq)
			}
		}
	}
	if w.cuts() != 30 {
		t.Errorf("%d cuts made, want 30", w.cuts())
	}
	f.wantSound(t)
}

func TestCancelCommitLost(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	for id, c := range map[string]cut{"b": cutBefore, "a": cutAfter} {
		k := f.refund(t, id)
		w.arm(c)
		if r, err := s.Cancel(t.Context(), k, "actor:ann"); err != nil || r.State != refund.StateCanceled {
			t.Errorf("cut %d: %s %v", c, r.State, err)
		}
	}
	f.wantSound(t)
}

// If every rerun fails, Enter returns ErrUnavailable, and entering again later gives the right result.
func TestEnterCommitLostForGood(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	w, url := newWireCutter(t, f.url)
	s := f.openSecond(t, url)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	w.arm(cutAfter, cutBefore, cutBefore, cutBefore)
	if _, err := s.Enter(t.Context(), k, succeeded(c, "ch_1"), f.contract); !errors.Is(err, refund.ErrUnavailable) || !errors.Is(err, refund.ErrCommitUnknown) {
		t.Errorf("%v, want ErrUnavailable that wraps ErrCommitUnknown", err)
	}
	if ch, err := s.Enter(t.Context(), k, succeeded(c, "ch_1"), f.contract); err != nil || !ch.Known || ch.After.State != refund.StateSuccess {
		t.Errorf("entered again: %s known=%v %v", ch.After.State, ch.Known, err)
	}
	f.wantSound(t)
}
