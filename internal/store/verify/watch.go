package verify

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// WatchConfig of Watch. Everything has a default.
type WatchConfig struct {
	Every  time.Duration // between two small pieces of work; default 1 s
	Page   int           // refunds checked in one piece, walking through all of them; default 100
	Fresh  int           // refunds changed lately that are checked in one piece; default 20
	Cheap  time.Duration // between two rounds of the checks that look at open rows only; default 15 s
	Whole  time.Duration // between two checks of a whole table, each in its turn; default 60 s
	Report func(WatchReport)
}

func (c WatchConfig) withDefaults() WatchConfig {
	for _, d := range []struct {
		v *time.Duration
		d time.Duration
	}{{&c.Every, time.Second}, {&c.Cheap, 15 * time.Second}, {&c.Whole, time.Minute}} {
		if *d.v <= 0 {
			*d.v = d.d
		}
	}
	if c.Page <= 0 {
		c.Page = 100
	}
	if c.Fresh <= 0 {
		c.Fresh = 20
	}
	return c
}

// longestWatched bounds one statement of the watch, in ms. A check that takes longer is left to `refundry verify`.
const longestWatched = "60000"

// maxBroken bounds how many broken refunds the watch remembers.
const maxBroken = 100_000

// watch is the state between two pieces of work. Its methods are in watch.go and watch_report.go.
type watch struct {
	v      *Verifier
	cfg    WatchConfig
	checks []check
	counts map[string]int64              // latest count by check
	broken map[refund.RefundRef][]string // promises that a refund breaks, once per finding
	at     pageCursor                    // of the pass over all refunds
	pos    int64                         // of the journal's fresh rows
	next   int                           // whole check whose turn comes
	turns  int                           // whole checks so far
	due    map[string]time.Time          // of cheap, whole
	report WatchReport
}

// Watch checks without end at a low rate, on the one connection of this Verifier: changed refunds soon, all of them in time, and the
// tables check by check. It returns when ctx ends. A database that is away is tried again.
func (v *Verifier) Watch(ctx context.Context, cfg WatchConfig) {
	w := &watch{v: v, cfg: cfg.withDefaults(), checks: checks(v.cfg.Overdue), counts: map[string]int64{}, broken: map[refund.RefundRef][]string{},
		due: map[string]time.Time{}, report: WatchReport{Excess: map[string]int64{}}}
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		if err := w.piece(ctx); err != nil && ctx.Err() == nil {
			v.cfg.Logger.WarnContext(ctx, "promises not checked", "error", err.Error())
		}
		if w.cfg.Report != nil {
			w.cfg.Report(w.summary())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// piece is a small amount of work.
func (w *watch) piece(ctx context.Context) error {
	if _, err := w.v.pool.Exec(ctx, `SELECT set_config('statement_timeout', $1, false)`, longestWatched); err != nil {
		return pg.Translate(err)
	}
	if err := w.fresh(ctx); err != nil {
		return err
	}
	if err := w.walk(ctx); err != nil {
		return err
	}
	if w.turn("cheap", w.cfg.Cheap) {
		for _, c := range w.checks {
			if c.cheap {
				if err := w.run(ctx, c); err != nil {
					return err
				}
			}
		}
	}
	if w.turn("whole", w.cfg.Whole) {
		return w.whole(ctx)
	}
	return nil
}

func (w *watch) turn(name string, every time.Duration) bool {
	if time.Now().Before(w.due[name]) {
		return false
	}
	w.due[name] = time.Now().Add(every)
	return true
}

// moneyEvery is how many whole checks go by between two sums of the money.
const moneyEvery = 8

// whole runs the check of a whole table whose turn it is; now and then the money is summed up, too.
func (w *watch) whole(ctx context.Context) error {
	if w.turns%moneyEvery == 0 {
		if err := w.money(ctx); err != nil {
			return err
		}
	}
	w.turns++
	for range w.checks {
		c := w.checks[w.next%len(w.checks)]
		w.next++
		if !c.cheap {
			return w.run(ctx, c)
		}
	}
	return nil
}

func (w *watch) run(ctx context.Context, c check) error {
	t := newVerifyTally(1)
	if err := w.v.check(ctx, c, t); err != nil {
		return err
	}
	w.counts[c.promise+"/"+c.name] = t.by[c.promise].Violations
	w.log(ctx, t)
	return nil
}

// walk checks the next page of the pass over all refunds.
func (w *watch) walk(ctx context.Context) error {
	w.v.cfg.Page = w.cfg.Page
	next, last, err := w.pages(ctx, w.at)
	if err != nil {
		return err
	}
	w.at = next
	if last {
		w.at = pageCursor{}
	}
	return nil
}

// pages checks one page and remembers which of its refunds are broken.
func (w *watch) pages(ctx context.Context, at pageCursor) (pageCursor, bool, error) {
	found := map[refund.RefundRef][]string{}
	w.v.onFinding = func(k refund.RefundRef, f audit.Finding) { found[k] = append(found[k], f.Promise) }
	w.v.onRefund = func(k refund.RefundRef) { delete(w.broken, k) }
	defer func() { w.v.onFinding, w.v.onRefund = nil, nil }()
	t := newVerifyTally(1)
	next, last, err := w.v.page(ctx, at, t)
	if err != nil {
		return at, false, err
	}
	for k, promises := range found {
		if len(w.broken) < maxBroken {
			w.broken[k] = promises
		}
	}
	w.log(ctx, t)
	return next, last, nil
}

const (
	freshTopSQL = `SELECT coalesce(max(pos), 0) FROM journal`
	freshSQL    = `SELECT tenant_id, rid, max(pos) FROM (SELECT tenant_id, rid, pos FROM journal WHERE pos > $1
    ORDER BY pos LIMIT 1000) x GROUP BY 1, 2 ORDER BY 3 DESC LIMIT $2`
)

// fresh checks a few refunds that changed since the last piece; the pass over all refunds covers the rest.
func (w *watch) fresh(ctx context.Context) error {
	if w.pos == 0 {
		return pg.Translate(w.v.pool.QueryRow(ctx, freshTopSQL).Scan(&w.pos))
	}
	rows, err := w.v.pool.Query(ctx, freshSQL, w.pos, w.cfg.Fresh)
	if err != nil {
		return pg.Translate(err)
	}
	var changed []pageCursor
	var c pageCursor
	var pos int64
	if _, err := pgx.ForEachRow(rows, []any{&c.tenant, &c.rid, &pos}, func() error {
		changed, w.pos = append(changed, c), max(w.pos, pos)
		return nil
	}); err != nil {
		return pg.Translate(err)
	}
	w.v.cfg.Page = 1
	for _, c := range changed {
		if _, _, err := w.pages(ctx, c.before()); err != nil {
			return err
		}
	}
	return nil
}

// before is the next lower key, so that a page behind it begins with this one.
func (c pageCursor) before() pageCursor {
	hi, lo := binary.BigEndian.Uint64(c.rid[:8]), binary.BigEndian.Uint64(c.rid[8:])
	if lo == 0 {
		hi--
	}
	binary.BigEndian.PutUint64(c.rid[:8], hi)
	binary.BigEndian.PutUint64(c.rid[8:], lo-1)
	return c
}
