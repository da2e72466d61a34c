package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// waitsForALock returns when a session waits for an advisory lock.
func (f *testWorkflow) waitsForALock(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		if f.count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`) > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no session waits for an advisory lock")
		}
	}
}

// The notice and the answer with its id are under way at the same moment. The second one waits and sees the first.
func TestNoticeConcurrentWithTheAnswerWithItsID(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	n := notice("done", "", "ch_1", refund.Succeeded)
	inTx := func(do func(tx pgx.Tx) error, meanwhile func() error) {
		t.Helper()
		done := make(chan error, 1)
		err := pg.InTx(t.Context(), f.pool, func(_ context.Context, tx pgx.Tx) error {
			if err := do(tx); err != nil {
				return err
			}
			go func() { done <- meanwhile() }()
			f.waitsForALock(t)
			return nil
		})
		if err = errors.Join(err, <-done); err != nil {
			t.Fatal(err)
		}
	}
	answerFirst := f.refund(t, "answer")
	f.claim(t, answerFirst, refund.AttemptSend, 10*time.Second)
	inTx(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `UPDATE dispatches SET acknowledged = true, channel_refund_id = 'ch_1' WHERE rid = $1`, [16]byte(answerFirst.RID))
		if err == nil {
			_, err = tx.Exec(t.Context(), lockIDsSharedSQL, []int64{f.channelIDKey("demo", "ch_1")})
		}
		return err
	}, func() error {
		got, err := f.ReceiveNotice(t.Context(), "demo", n)
		if err == nil && got != refund.NoticeEntered {
			err = fmt.Errorf("the notice is %s", got)
		}
		return err
	})
	f.wantState(t, answerFirst, refund.StateSuccess)

	noticeFirst := f.refund(t, "notice")
	a := answered(f.claim(t, noticeFirst, refund.AttemptSend, 10*time.Second), refund.Acknowledged)
	a.ChannelRefundID = "ch_2"
	n = notice("done too", "", "ch_2", refund.Succeeded)
	inTx(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), lockIDAloneSQL, f.channelIDKey("demo", "ch_2"))
		if err == nil {
			_, _, err = keepNotice(t.Context(), tx, "demo", n, nil)
		}
		return err
	}, func() error {
		_, err := f.Enter(t.Context(), noticeFirst, a, f.contract)
		return err
	})
	f.wantState(t, noticeFirst, refund.StateSuccess)
	f.wantNotice(t, "done too", 1, true)
	f.wantSound(t)
}

// The same, many times and without help: no notice is left for the housekeeping.
func TestNoticesAndAnswersAtOnce(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 60)
	var wg sync.WaitGroup
	for i, k := range keys {
		id := fmt.Sprint("ch_", i)
		a := answered(f.claim(t, k, refund.AttemptSend, 30*time.Second), refund.Acknowledged)
		a.ChannelRefundID = id
		start := make(chan struct{})
		wg.Go(func() {
			<-start
			if _, err := f.Enter(t.Context(), k, a, f.contract); err != nil {
				t.Errorf("answer %s: %v", id, err)
			}
		})
		for range 2 {
			wg.Go(func() {
				<-start
				_, err := f.ReceiveNotice(t.Context(), "demo", notice(id, "", id, refund.Succeeded))
				for end := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(end); { // a channel repeats what was not taken
					_, err = f.ReceiveNotice(t.Context(), "demo", notice(id, "", id, refund.Succeeded))
				}
				if err != nil {
					t.Errorf("notice %s: %v", id, err)
				}
			})
		}
		close(start)
	}
	wg.Wait()
	for _, k := range keys {
		f.wantState(t, k, refund.StateSuccess)
	}
	if n := f.count(t, `SELECT count(*) FROM notices WHERE rid IS NULL`); n != 0 {
		t.Errorf("%d notices were left", n)
	}
	f.wantSound(t)
}
