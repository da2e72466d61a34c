package store

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/store/verify"
)

// The watch checks everything in time: changed refunds, all refunds, open rows, whole tables, money.
func TestWatchReportsBrokenAndMendedPromises(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	v, err := verify.Open(t.Context(), verify.Config{URL: f.url, Overdue: 100 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan verify.WatchReport)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.Watch(ctx, verify.WatchConfig{Every: time.Millisecond, Page: 3, Cheap: time.Millisecond, Tables: time.Millisecond, Report: func(r verify.WatchReport) {
			select {
			case told <- r:
			case <-ctx.Done():
			}
		}})
	}()
	wait := func(what string, ok func(verify.WatchReport) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			if ok(<-told) {
				return
			}
		}
		t.Fatalf("never reported: %s", what)
	}
	clean := func(r verify.WatchReport) bool {
		for _, n := range r.Violations {
			if n != 0 {
				return false
			}
		}
		return len(r.Violations) == 12
	}
	wait("nothing is broken, at most two effects a refund", func(r verify.WatchReport) bool { return clean(r) && r.MostMoved == 2 && len(r.Excess) == 0 })
	f.plant(t, `UPDATE journal SET data = data || ' ' WHERE rid = $pending; UPDATE payments SET reserved = reserved + 1 WHERE payment_id = 'pay_pending_0';
		INSERT INTO readers (name, cursor) VALUES ('sink', 1000000); UPDATE payments SET captured = 60, excess = 40, excess_accepted = 40 WHERE payment_id = 'pay_unknown_0'`)
	wait("a changed row, a wrong balance, a reader ahead, excess", func(r verify.WatchReport) bool {
		return r.Violations["P7"] > 0 && r.Violations["P3"] > 0 && r.Violations["P11"] == 1 && r.Excess["USD"] == 40
	})
	f.plant(t, `UPDATE journal SET data = rtrim(data) WHERE rid = $pending; UPDATE payments SET reserved = reserved - 1 WHERE payment_id = 'pay_pending_0'; DELETE FROM readers;
		UPDATE payments SET captured = 1000, excess = 0, excess_accepted = 0 WHERE payment_id = 'pay_unknown_0'`)
	wait("all is mended", clean)
	cancel()
	<-done
}

// TestOneProcessLeadsTheContinuousCheck: the others do nothing, and one of them takes over when the session of the leader has ended.
func TestOneProcessLeadsTheContinuousCheck(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	type watcher struct {
		reports chan verify.WatchReport
		stop    func()
	}
	start := func() watcher {
		v, err := verify.Open(t.Context(), verify.Config{URL: f.url, Overdue: 100 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		w, done := watcher{reports: make(chan verify.WatchReport, 1000)}, make(chan struct{})
		go func() {
			defer close(done)
			v.Watch(ctx, verify.WatchConfig{Every: 5 * time.Millisecond, Report: func(r verify.WatchReport) {
				select {
				case w.reports <- r:
				default:
				}
			}})
		}()
		w.stop = func() { cancel(); <-done; v.Close() }
		return w
	}
	one, two := start(), start()
	defer func() { two.stop() }()
	first, second := <-one.reports, <-two.reports
	if first.Leads == second.Leads {
		t.Fatalf("leads: %v and %v, want one of them", first.Leads, second.Leads)
	}
	if second.Leads {
		one, two = two, one
	}
	for range 20 {
		if r := <-two.reports; r.Leads || len(r.Violations) > 0 {
			t.Fatalf("%+v, want that one process checks", r)
		}
		if r := <-one.reports; !r.Leads || len(r.Violations) != 12 {
			t.Fatalf("%+v, want that the leader goes on", r)
		}
	}
	one.stop()
	for end := time.Now().Add(time.Minute); ; {
		if r := <-two.reports; r.Leads {
			return
		}
		if time.Now().After(end) {
			t.Fatal("nobody took over")
		}
	}
}

// countingDatabase counts the snapshots of a Verifier, and how often it reads what all checks need.
type countingDatabase struct {
	*pgxpool.Pool
	snapshots, learned atomic.Int64
}

func (d *countingDatabase) Snapshot(ctx context.Context) (pgx.Tx, error) {
	d.snapshots.Add(1)
	tx, err := d.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	return countingTx{tx, d}, err
}

type countingTx struct {
	pgx.Tx
	counts *countingDatabase
}

func (t countingTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if strings.Contains(sql, "FROM tenants") {
		t.counts.learned.Add(1)
	}
	return t.Tx.Query(ctx, sql, args...)
}

// TestAPieceOfTheContinuousCheckLearnsOnce: however many refunds have changed, it reads tenants and contracts once, in one snapshot.
func TestAPieceOfTheContinuousCheckLearnsOnce(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	v, err := verify.Open(t.Context(), verify.Config{URL: f.url, Overdue: 100 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	counts := &countingDatabase{Pool: f.pool}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const most = 5
	var pieces, snapshots, learned int64
	v.Within(counts).Watch(ctx, verify.WatchConfig{Every: time.Millisecond, Report: func(r verify.WatchReport) {
		if pieces++; pieces == 2 { // the first piece learns where the journal ends
			for _, id := range []string{"a", "b", "c"} {
				f.refund(t, "learn_"+id)
			}
		}
		if pieces == most {
			snapshots, learned = counts.snapshots.Load(), counts.learned.Load()
			cancel()
		}
	}})
	if snapshots != most || learned != most {
		t.Errorf("%d snapshots and %d times learned in %d pieces, want one of each a piece", snapshots, learned, most)
	}
}
