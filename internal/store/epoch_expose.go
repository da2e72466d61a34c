package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// markTries bounds how often a refund whose row is locked is tried again. Each try waits for the lock timeout.
const markTries = 3

// shortestMarkNew covers intakes whose transaction began before sending was resumed and commits after it.
const shortestMarkNew = 2 * time.Minute

// ExposeConfig of ExposeEpoch.
type ExposeConfig struct {
	MarkNew  time.Duration // how long after the marking a new refund may be one that was lost; at least 2 min
	Batch    int           // refunds read at once; default 500
	Workers  int           // refunds marked at once; default 4
	Progress func(marked, open int64)
}

// ExposeEpoch begins the next epoch: it holds sending, marks every open refund under the newest stored contract of its account, agrees to
// the present server and resumes sending. Each refund has a transaction of its own, so a later run continues an interrupted one. Errors:
// refund.ErrUnavailable, refund.ErrBusy; running it again is always safe.
func (s *Store) ExposeEpoch(ctx context.Context, cfg ExposeConfig) (EpochState, error) {
	if cfg.Batch <= 0 {
		cfg.Batch = 500
	}
	if cfg.Workers <= 0 {
		cfg.Workers = 4
	}
	e, err := s.EpochState(ctx)
	if err != nil {
		return e, err
	}
	if e, err = s.holdToExpose(ctx, e); err != nil || e.HeldSince == nil {
		return e, err
	}
	target, marked := e.Epoch+1, int64(0)
	for {
		if err := s.markAll(ctx, target, cfg, &marked, e.Open); err != nil {
			return e, err
		}
		fault.Point(fault.EpochResumeBefore)
		tag, err := s.pool.Exec(ctx, resumeSQL, target, e.ActualSystem, e.ActualTimeline, max(cfg.MarkNew, shortestMarkNew), e.ActualDatabaseOID,
			e.ActualTableOID)
		if err != nil {
			return e, pg.Translate(err)
		}
		if tag.RowsAffected() == 1 {
			fault.Point(fault.EpochResumeCommitted)
			s.log.WarnContext(ctx, "a new epoch has begun, sending is resumed", "epoch", target, "marked", marked)
			return s.EpochState(ctx)
		}
		now, err := s.EpochState(ctx)
		if err != nil || now.Epoch >= target { // another process has finished it
			return now, err
		}
	}
}

// holdToExpose holds sending, with or without a sign. A state that is not held means that another process has begun the next epoch.
func (s *Store) holdToExpose(ctx context.Context, e EpochState) (EpochState, error) {
	for begun := e.Epoch; e.HeldSince == nil; {
		why := string(pg.SignOperator)
		if e.Moved {
			why = because(e.Signs)
		}
		held, err := s.epochs.hold(ctx, s.pool, &e, why)
		if err != nil || held {
			return e, pg.Translate(err)
		}
		if e, err = s.EpochState(ctx); err != nil || e.Epoch > begun { // the row has changed since it was read
			return e, err
		}
	}
	return e, nil
}

// SetMarkNew changes how long from now a new refund counts as one that may have been lost; 0 ends it.
func (s *Store) SetMarkNew(ctx context.Context, d time.Duration) error {
	fault.Point(fault.EpochMarkNewBefore)
	_, err := s.pool.Exec(ctx, markNewSQL, d)
	fault.Point(fault.EpochMarkNewCommitted)
	return pg.Translate(err)
}

// unmarked is a refund to be marked.
type unmarked struct {
	key     refund.RefundRef
	account string
}

func (s *Store) markAll(ctx context.Context, epoch int, cfg ExposeConfig, marked *int64, open int64) error {
	contracts, err := pg.ReadContracts(ctx, s.pool)
	if err != nil {
		return pg.Translate(err)
	}
	var at refund.RefundRef
	for {
		todo, err := s.readUnmarked(ctx, unmarkedSQL, epoch, int64(at.Tenant), [16]byte(at.RID), cfg.Batch)
		if err != nil || len(todo) == 0 {
			return err
		}
		if err := s.markBatch(ctx, todo, epoch, cfg.Workers, contracts); err != nil {
			return err
		}
		last := todo[len(todo)-1].key
		at = last
		*marked += int64(len(todo))
		if cfg.Progress != nil {
			cfg.Progress(*marked, max(open, *marked))
		}
	}
}

func (s *Store) readUnmarked(ctx context.Context, sql string, args ...any) ([]unmarked, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u unmarked, err error) {
		var tenant int64
		var rid [16]byte
		err = row.Scan(&tenant, &rid, &u.account)
		u.key = refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}
		return u, err
	})
	return out, pg.Translate(err)
}

// markBatch marks refunds concurrently and stops at the first error.
func (s *Store) markBatch(ctx context.Context, todo []unmarked, epoch, workers int, contracts map[string]map[int]refund.Contract) error {
	next := make(chan unmarked)
	faults := make([]error, workers)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for u := range next {
				if faults[i] == nil {
					if faults[i] = s.mark(ctx, u.key, epoch, newestContract(contracts[u.account])); faults[i] != nil {
						cancel()
					}
				}
			}
		})
	}
	for _, u := range todo {
		next <- u
	}
	close(next)
	wg.Wait()
	return errors.Join(faults...)
}

// MarkReappeared marks new refunds that a restore may have lost, at most limit of them. The epoch watcher runs it. n counts the marked
// refunds.
func (s *Store) MarkReappeared(ctx context.Context, limit int) (n int, err error) {
	e, err := s.epochs.read(ctx, s.pool)
	if err != nil || e.MarkNewUntil == nil || e.HeldSince != nil {
		return 0, pg.Translate(err)
	}
	todo, err := s.readUnmarked(ctx, reappearedRefundsSQL, e.Epoch, limit)
	if err != nil || len(todo) == 0 {
		return 0, err
	}
	contracts, err := pg.ReadContracts(ctx, s.pool)
	if err != nil {
		return 0, pg.Translate(err)
	}
	return len(todo), s.markBatch(ctx, todo, e.Epoch, 2, contracts)
}

// newestContract is the version that was stored last. An unknown account has the zero contract, which allows no query.
func newestContract(versions map[int]refund.Contract) (c refund.Contract) {
	for _, x := range versions {
		if x.Version > c.Version {
			c = x
		}
	}
	return c
}

const (
	markNumbersSQL = `UPDATE dispatches SET exposed = overridden_by IS NULL, key_expires_at = least(key_expires_at, $3::timestamptz),
    may_act_until = greatest(may_act_until, $3::timestamptz + $4::interval),
    marked_epoch = $5 WHERE tenant_id = $1 AND rid = $2`
	epochRetirementsSQL = `INSERT INTO retired_dispatches (tenant_id, rid, no, epoch, rule, at) SELECT tenant_id, rid, no, $3, 'EPOCH_MARK', $4
    FROM dispatches WHERE tenant_id = $1 AND rid = $2
  ON CONFLICT DO NOTHING`
	nextMarkedSQL = `INSERT INTO dispatches (tenant_id, rid, no, account, number, exposed, key_expires_at, may_act_until, marked_epoch, at)
  VALUES ($1, $2, $3, $4, $5, true, $6::timestamptz, $6::timestamptz + $7::interval, $8, $6)`
)

// mark marks one refund: all its dispatches and the next one count as exposed, their keys as expired, and a lost owner may act on them for
// the longest lease. A dispatch after the live one may have been used after the state that a restore brought back, so it is queried like
// the others.
func (s *Store) mark(ctx context.Context, k refund.RefundRef, epoch int, c refund.Contract) error {
	f := refund.Fact{Kind: refund.EpochMark, Source: "epoch", Actor: "system:epoch"}
	u := s.newUnit()
	once := func() error { return s.markOnce(ctx, u, k, epoch, c, f) } // finds it marked if an earlier run went through
	err := u.run(ctx, "epoch mark of "+k.RID.String(), once)
	for try := 0; try < markTries && errors.Is(err, refund.ErrBusy); try++ {
		err = u.run(ctx, "epoch mark of "+k.RID.String(), once)
	}
	return err
}

func (s *Store) markOnce(ctx context.Context, u *unit, k refund.RefundRef, epoch int, c refund.Contract, f refund.Fact) error {
	marked := false
	err := s.withRecord(ctx, u, k, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
		if r.State.Final() || r.MarkedIn(epoch) {
			return nil
		}
		if err := s.markNumbers(ctx, tx, &r, epoch); err != nil {
			return err
		}
		ch, err := refund.Apply(r, f, c)
		if err != nil {
			return err
		}
		if err := s.writeChange(ctx, u, tx, &ch, f); err != nil {
			return err
		}
		if ch.WakeNow {
			err = s.enqueue(ctx, tx, refund.Wakeup{RefundRef: k, Generation: ch.After.Generation})
		}
		marked = true
		fault.Point(fault.EpochMarkWritten)
		return err
	})
	if marked && err == nil {
		fault.Point(fault.EpochMarkCommitted)
	}
	return err
}

// markNumbers writes the marks and reads the dispatches back into the record, which belongs to the new epoch from here on.
func (s *Store) markNumbers(ctx context.Context, tx pgx.Tx, r *refund.Record, epoch int) error {
	tenant, rid, no := int64(r.Tenant), [16]byte(r.RID), len(r.Dispatches)+1
	b := &pgx.Batch{}
	b.Queue(markNumbersSQL, tenant, rid, r.Now, refund.LongestLease, epoch)
	b.Queue(epochRetirementsSQL, tenant, rid, epoch, r.Now)
	b.Queue(nextMarkedSQL, tenant, rid, no, r.Account, refund.DispatchNumber(r.Installation, r.TenantCode, r.RefundID, no), r.Now, refund.LongestLease, epoch)
	b.Queue(epochRetirementsSQL, tenant, rid, epoch, r.Now)
	b.Queue(pg.LoadDispatchesSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		r.Dispatches, err = pgx.CollectRows(rows, pg.ScanDispatch)
		return err
	})
	r.Epoch = max(r.Epoch, epoch)
	return tx.SendBatch(ctx, b).Close()
}
