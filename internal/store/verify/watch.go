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

// WatchConfig of Watch. Everything has a default, except Tables.
type WatchConfig struct {
	Every  time.Duration // between two small pieces of work; default 1 s
	Page   int           // refunds checked in one piece, walking through all of them; default 100
	Fresh  int           // refunds changed lately that are checked in one piece; default 20
	Cheap  time.Duration // between two rounds of the checks that look at open rows only; default 15 s
	Tables time.Duration // between two rounds of the checks that read whole tables; 0 = they are left to `refundry verify`
	// TablesAt shifts the rounds of Tables: they begin at midnight UTC plus TablesAt, and Tables later, and so on.
	TablesAt time.Duration
	Report   func(WatchReport)
}

func (c WatchConfig) withDefaults() WatchConfig {
	for _, d := range []struct {
		v *time.Duration
		d time.Duration
	}{{&c.Every, time.Second}, {&c.Cheap, 15 * time.Second}} {
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

// nextRound is when the next round of the whole-table checks begins.
func (c WatchConfig) nextRound(now time.Time) time.Time {
	return now.UTC().Add(-c.TablesAt).Truncate(c.Tables).Add(c.Tables + c.TablesAt)
}

// longestPiece and longestTable bound one statement of the watch, in ms: of a small piece, and of a whole-table check. What takes longer is
// left to `refundry verify`.
const (
	longestPiece = "60000"
	longestTable = "900000"
)

// maxBroken bounds how many broken refunds the watch remembers.
const maxBroken = 100_000

// lockWatch is the advisory lock of the process that watches.
const lockWatch = "watch"

// watch is the state between two pieces of work. Its methods are in watch.go and watch_report.go.
type watch struct {
	v      *Verifier
	cfg    WatchConfig
	leader uint32 // process id of the session that has the lock; 0 = none has
	checks []check
	counts map[string]int64              // latest count by check
	broken map[refund.RefundRef][]string // promises that a refund breaks, once per finding
	at     pageCursor                    // of the pass over all refunds
	most   [2]int64                      // standing effects of one refund, at most: in the pass over all refunds, and in the one before
	pos    int64                         // of the journal's fresh rows
	round  time.Time                     // when the next round of whole-table checks begins
	tables []check                       // left of this round
	cheap  time.Time                     // when the next round of the cheap checks begins
	report WatchReport
}

// Watch checks without end at a low rate, on the one connection of this Verifier: changed refunds soon, all of them in time, and the
// tables check by check. Of all processes that watch, one checks at a time: the one whose session has an advisory lock. The others report
// that they do not lead, and take over within Every when the lock is free. Watch returns when ctx ends. A database that is away is tried
// again.
func (v *Verifier) Watch(ctx context.Context, cfg WatchConfig) {
	w := &watch{v: v, cfg: cfg.withDefaults()}
	w.forget()
	tick := time.NewTicker(w.cfg.Every)
	defer tick.Stop()
	for {
		leads, err := w.leads(ctx)
		if leads {
			err = w.piece(ctx)
		}
		if err != nil && ctx.Err() == nil {
			v.cfg.Logger.WarnContext(ctx, "promises not checked", "error", err.Error())
		}
		if w.cfg.Report != nil {
			w.cfg.Report(w.summary(leads))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// leads reports whether this session has the lock, and takes it if it is free. A session that was replaced has lost it.
func (w *watch) leads(ctx context.Context) (bool, error) {
	conn, err := w.v.pool.Acquire(ctx)
	if err != nil {
		return false, pg.Translate(err)
	}
	defer conn.Release()
	pid := conn.Conn().PgConn().PID()
	if w.leader == pid {
		return true, nil
	}
	w.leader = 0
	var mine bool
	err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, refund.AdvisoryKey(w.v.cfg.Schema, lockWatch, 0, "")).Scan(&mine)
	if err != nil || !mine {
		return false, pg.Translate(err)
	}
	w.leader = pid
	w.forget() // another process may have watched meanwhile
	return true, nil
}

// forget drops what earlier pieces have found.
func (w *watch) forget() {
	w.checks = checks(w.v.cfg.Overdue)
	w.counts, w.broken, w.report = map[string]int64{}, map[refund.RefundRef][]string{}, WatchReport{Excess: map[string]int64{}}
	w.at, w.most, w.pos, w.tables, w.cheap = pageCursor{}, [2]int64{}, 0, nil, time.Time{}
	if w.cfg.Tables > 0 {
		w.round = w.cfg.nextRound(time.Now())
	}
}

// piece is a small amount of work, or one check of a whole table.
func (w *watch) piece(ctx context.Context) error {
	if err := w.limit(ctx, longestPiece); err != nil {
		return err
	}
	if err := w.refunds(ctx); err != nil {
		return err
	}
	if now := time.Now(); !now.Before(w.cheap) {
		w.cheap = now.Add(w.cfg.Cheap)
		if err := w.cheapChecks(ctx); err != nil {
			return err
		}
	}
	return w.table(ctx)
}

func (w *watch) limit(ctx context.Context, ms string) error {
	_, err := w.v.pool.Exec(ctx, `SELECT set_config('statement_timeout', $1, false)`, ms)
	return pg.Translate(err)
}

// refunds checks what has changed and the next page of all refunds, in one snapshot.
func (w *watch) refunds(ctx context.Context) error {
	tx, err := w.v.db.Snapshot(ctx)
	if err != nil {
		return pg.Translate(err)
	}
	defer pg.Undo(ctx, tx)
	if err := w.v.learn(ctx, tx); err != nil {
		return err
	}
	if err := w.fresh(ctx, tx); err != nil {
		return err
	}
	return w.walk(ctx, tx)
}

// cheapChecks are answered from indexes whose size does not grow with the history.
func (w *watch) cheapChecks(ctx context.Context) error {
	for _, c := range w.checks {
		if c.cheap {
			if err := w.run(ctx, c); err != nil {
				return err
			}
		}
	}
	return w.excess(ctx)
}

// table runs the next check of the round of whole-table checks. A round begins when it is due and the one before has ended.
func (w *watch) table(ctx context.Context) error {
	if len(w.tables) == 0 {
		if now := time.Now(); w.cfg.Tables <= 0 || now.Before(w.round) {
			return nil
		} else {
			w.round = w.cfg.nextRound(now)
		}
		for _, c := range w.checks {
			if !c.cheap {
				w.tables = append(w.tables, c)
			}
		}
	}
	c := w.tables[0]
	w.tables = w.tables[1:]
	if err := w.limit(ctx, longestTable); err != nil {
		return err
	}
	return w.run(ctx, c)
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
func (w *watch) walk(ctx context.Context, tx pgx.Tx) error {
	w.v.cfg.Page = w.cfg.Page
	next, last, err := w.pages(ctx, tx, w.at)
	if err != nil {
		return err
	}
	w.at = next
	if last {
		w.at, w.most = pageCursor{}, [2]int64{0, w.most[0]}
	}
	return nil
}

// pages checks one page and remembers which of its refunds are broken.
func (w *watch) pages(ctx context.Context, tx pgx.Tx, at pageCursor) (pageCursor, bool, error) {
	found := map[refund.RefundRef][]string{}
	w.v.onFinding = func(k refund.RefundRef, f audit.Finding) { found[k] = append(found[k], f.Promise) }
	w.v.onRefund = func(k refund.RefundRef, r *refund.Record) {
		delete(w.broken, k)
		w.most[0] = max(w.most[0], standing(r))
	}
	defer func() { w.v.onFinding, w.v.onRefund = nil, nil }()
	t := newVerifyTally(1)
	next, last, err := w.v.pageIn(ctx, tx, at, t)
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
func (w *watch) fresh(ctx context.Context, tx pgx.Tx) error {
	if w.pos == 0 {
		return pg.Translate(tx.QueryRow(ctx, freshTopSQL).Scan(&w.pos))
	}
	rows, err := tx.Query(ctx, freshSQL, w.pos, w.cfg.Fresh)
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
		if _, _, err := w.pages(ctx, tx, c.before()); err != nil {
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
