package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// sweepDueSQL takes due refunds whose rows are not locked, and moves their timers on so that the next pass, here or on another replica,
// finds other rows: by $2 for a refund that gets a job, by $3 for a send whose lease has ended. $1 limit, $2 refund.HandoutTTL, $3
// takeOverPause, $4 overdueAfter, $5 refund.LongestLease: a lease that ends later was given by a clock that ran ahead, and counts as ended.
//
// ended is true only in PROCESSING: there the end of the lease is a fact that makes the refund UNKNOWN. In the other states nothing follows
// from it, because the lease was taken for a query or a list, or the refund counts as possibly executed already. Such a refund gets a job,
// which claims the next call.
const sweepDueSQL = `WITH due AS MATERIALIZED (
    SELECT r.tenant_id, r.rid, r.state = 'PROCESSING' AND (r.lease_ends_at <= clock_timestamp() OR r.lease_ends_at > clock_timestamp() + $5::interval)
      AS ended, r.next_action_at < now() - $4::interval AS overdue
    FROM refunds r WHERE r.next_action_at <= now()
    ORDER BY r.next_action_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE refunds r SET next_action_at = clock_timestamp() + CASE WHEN due.ended THEN $3::interval ELSE $2::interval END
  FROM due WHERE (r.tenant_id, r.rid) = (due.tenant_id, due.rid)
  RETURNING r.tenant_id, r.rid, r.generation, r.account, due.ended, due.overdue`

// sweepFarSQL makes timers due that are further away than any step of their state sets them: a clock that ran ahead has set them. $1 limit,
// $2 only timers that are further away than this are read.
var sweepFarSQL = `WITH far AS MATERIALIZED (
    SELECT r.tenant_id, r.rid FROM refunds r
    WHERE r.next_action_at > clock_timestamp() + $2::interval AND r.next_action_at > clock_timestamp() + ` + pg.TimerLimit + `
    LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE refunds r SET next_action_at = clock_timestamp() FROM far WHERE (r.tenant_id, r.rid) = (far.tenant_id, far.rid)`

// One pass in farEvery reads all timers that are further away than a lease; the others only those beyond the longest wait but that for a
// balance, which are few.
const farEvery = 512

// sweepParkedSQL finds messages that wait for a payment that exists, because it became known while the message was being parked. Every pass reads
// the messages parked within the last minute, and of the older ones those of one eighth of the payments, by hash: $2 is 0 to 7. A message
// that was woken more than ten times in vain is read by one of these passes in fifty, by chance. $1 limit.
const sweepParkedSQL = `WITH ready AS MATERIALIZED (
    SELECT p.tenant_id, p.parked_id FROM parked p
    WHERE p.done_at IS NULL AND p.wake_payment IS NOT NULL
      AND (p.at > now() - interval '1 minute' OR hashtext(p.wake_payment) & 7 = $2)
      AND (p.tries <= 10 OR random() < 0.02)
      AND EXISTS (SELECT FROM payments y WHERE y.tenant_id = p.tenant_id AND y.payment_id = p.wake_payment)
    LIMIT $1 FOR NO KEY UPDATE OF p SKIP LOCKED
  )
  UPDATE parked p SET tries = p.tries + 1 FROM ready
  WHERE (p.tenant_id, p.parked_id) = (ready.tenant_id, ready.parked_id)
  RETURNING p.tenant_id, p.wake_payment`

// overdueAfter is when Swept.Overdue counts a timer as overdue: for this time no pass has taken it, because none ran or more rows than its
// limit were due. The pass that finds it repairs it.
// It is shorter than verify.Config.Overdue, after which promise P4 is broken.
const overdueAfter = 30 * time.Second

// takeOverPause is the time between two tries to take a send over.
const takeOverPause = 2 * time.Second

// dueRow is a due refund.
type dueRow struct {
	key        refund.RefundRef
	generation int
	account    string
	ended      bool
	overdue    bool
}

// Sweep is one bounded pass over everything that time makes due: due refunds get a job, sends with an ended lease are taken over, approved
// decisions are applied, parked messages whose payment is known are woken. Any number of replicas may sweep at once.
//
// Without passes no wait ends and no owner that was lost is replaced. No second payment follows from that: the sweep serves progress, the
// claim protects the money.
//
// A send is taken over within one sweep interval plus one pass after its lease has ended, unless no sweeper runs or more than limit rows
// are due. With the defaults, that is 1 s ± 20 % and a pass after the 10 s of the lease.
//
// Errors: ErrUnavailable. An error of one take-over is logged, and it is tried again after takeOverPause.
func (s *Store) Sweep(ctx context.Context, limit int) (refund.Swept, error) {
	var out refund.Swept
	if err := s.sweepFar(ctx, limit, &out); err != nil {
		return out, err
	}
	ended, err := s.sweepDue(ctx, limit, &out)
	if err != nil {
		return out, err
	}
	for _, d := range ended {
		if err := s.takeOver(ctx, d); err == nil {
			out.TakenOver++
		} else if errors.Is(err, refund.ErrUnavailable) {
			return out, err
		} else if !errors.Is(err, refund.ErrNotOwner) {
			s.log.ErrorContext(ctx, "take-over failed", "rid", d.key.RID.String(), "account", d.account, "error", err)
		}
	}
	if err := s.sweepDecisions(ctx, limit, &out); err != nil {
		return out, err
	}
	if err := s.sweepKeptLines(ctx); err != nil {
		return out, err
	}
	out.Payments, err = s.sweepParked(ctx, limit)
	return out, err
}

// sweepFar makes timers due that no step sets so far ahead.
func (s *Store) sweepFar(ctx context.Context, limit int, out *refund.Swept) error {
	beyond := refund.LongestWait(refund.StateUnknown, "")
	if s.farPasses.Add(1)%farEvery == 1 {
		beyond = refund.LongestWait(refund.StateProcessing, "")
	}
	tag, err := s.pool.Exec(ctx, sweepFarSQL, limit, beyond)
	if err != nil {
		return pg.Translate(err)
	}
	if out.TooFar = int(tag.RowsAffected()); out.TooFar > 0 {
		s.log.WarnContext(ctx, "timers were further away than any step sets them, so the database's clock has run ahead; they are due now", "refunds", out.TooFar)
	}
	return nil
}

func (s *Store) sweepDue(ctx context.Context, limit int, out *refund.Swept) (ended []dueRow, err error) {
	err = s.inTx(ctx, "sweep of due refunds", func(ctx context.Context, tx pgx.Tx) error {
		ended, out.Enqueued, out.Overdue, out.More = nil, 0, 0, false // a rerun finds what the run before has not handed out
		rows, err := tx.Query(ctx, sweepDueSQL, limit, refund.HandoutTTL, takeOverPause, overdueAfter, refund.LongestLease)
		if err != nil {
			return err
		}
		due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d dueRow, err error) {
			var tenant int64
			var rid [16]byte
			err = row.Scan(&tenant, &rid, &d.generation, &d.account, &d.ended, &d.overdue)
			d.key = refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}
			return d, err
		})
		if err != nil {
			return err
		}
		var jobs []refund.Wakeup
		for _, d := range due {
			if d.overdue {
				out.Overdue++
			}
			if d.ended {
				ended = append(ended, d)
			} else {
				jobs = append(jobs, refund.Wakeup{RefundRef: d.key, Generation: d.generation})
			}
		}
		out.Enqueued, out.More = len(jobs), len(due) == limit
		err = s.enqueue(ctx, tx, jobs...)
		if len(due) > 0 {
			fault.Point(fault.SweepWritten)
		}
		return err
	})
	if out.Enqueued > 0 {
		fault.Point(fault.SweepCommitted)
	}
	return ended, err
}

// takeOver enters that the lease of a send has ended without an answer. The channel may have executed the send. The follow-up job is in the
// same transaction.
//
// A process without the refund's account does not know the contract and returns ErrNoChannel, which is logged as an error. The refund is due
// again after takeOverPause, for whichever replica sweeps first. Such a replica only delays the take-over; this is a limitation, and where
// all replicas have the same accounts it does not occur.
func (s *Store) takeOver(ctx context.Context, d dueRow) error {
	c, ok := s.contractOf(d.account, d.key.Tenant)
	if !ok {
		return refund.ErrNoChannel
	}
	_, err := s.Enter(ctx, d.key, refund.Fact{Kind: refund.LeaseEnd, Generation: d.generation, Source: "sweeper", Actor: "system:sweeper"}, c)
	return err
}

// contractOf returns the account's contract as this process is configured.
func (s *Store) contractOf(account string, tenant refund.TenantID) (refund.Contract, bool) {
	if s.cfg.Accounts == nil {
		return refund.Contract{}, false
	}
	c, known, _ := s.cfg.Accounts.Account(account, tenant)
	return c, known
}

// sweepParked wakes parked messages whose payment is known. Eight passes of one process cover every
// payment, up to limit messages a pass; messages that were woken more than ten times come by chance.
func (s *Store) sweepParked(ctx context.Context, limit int) (n int, err error) {
	err = s.inTx(ctx, "sweep of parked messages", func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sweepParkedSQL, limit, int(s.parkedPasses.Add(1)&7))
		if err != nil {
			return err
		}
		seen := map[refund.Wakeup]bool{}
		var jobs []refund.Wakeup
		for rows.Next() {
			var tenant int64
			var payment string
			if err := rows.Scan(&tenant, &payment); err != nil {
				return err
			}
			w := refund.Wakeup{RefundRef: refund.RefundRef{Tenant: refund.TenantID(tenant)}, PaymentID: payment}
			if !seen[w] {
				seen[w] = true
				jobs = append(jobs, w)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		n = len(jobs)
		err = s.enqueue(ctx, tx, jobs...)
		if n > 0 {
			fault.Point(fault.SweepParkedWritten)
		}
		return err
	})
	if n > 0 {
		fault.Point(fault.SweepParkedCommitted)
	}
	return n, err
}
