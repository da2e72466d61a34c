package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// AcceptGroup decides and stores a group of intakes in one transaction: one round trip locks and reads, one writes and commits. It takes
// more round trips with an Enqueuer that is no PipelineEnqueuer, and when notices were kept for numbers of the group.
//
// The locks of an intake are the advisory locks lockEvent, lockRefund, lockPayment and lockReference, those of them for which it has a
// value (see accept_keys.go), the row of its payment, and the parked row that it retries. AcceptGroup tries these locks and never waits for
// one: an intake that does not get all of them has the outcome NotLocked (not decided; the Door submits it again), and the rest of the group
// goes on. A row that these locks do not cover is waited for no longer than Config.LockTimeout; then the error is refund.ErrBusy.
//
// After a lost COMMIT the same group runs again, with the same ids: all of it is stored, or none, and an intake that was stored gets its
// outcome from its receipt.
//
// An error means that no intake has an outcome. refund.ErrUnavailable concerns the whole group; if it matches refund.ErrCommitUnknown too, the
// group may be stored. refund.ErrBusy and any other error may be caused by one intake, so the Door bisects the group.
func (s *Store) AcceptGroup(ctx context.Context, g []intake.Intake) (out []intake.Outcome, err error) {
	u := s.newUnit()
	err = u.run(ctx, fmt.Sprintf("group of %d intakes", len(g)), func() (err error) {
		out, err = s.acceptOnce(ctx, u, g)
		for _, o := range out {
			if o.Refund != nil {
				u.found(o.Refund)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// acceptOnce is one run of the group's transaction. After refund.ErrCommitUnknown all of the group is stored, or none of it.
func (s *Store) acceptOnce(ctx context.Context, u *unit, g []intake.Intake) ([]intake.Outcome, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, pg.Translate(err)
	}
	defer conn.Release()
	fault.Point(fault.DoorBegin)
	view, noticed, tx, err := s.readGroup(ctx, conn, g)
	if err != nil {
		if tx != nil {
			_ = tx.Rollback(context.WithoutCancel(ctx))
		}
		return nil, pg.Translate(err)
	}
	fault.Point(fault.DoorRead)
	plan := intake.DecideGroup(view, g)
	if !plan.Writes() {
		if err := tx.Rollback(ctx); err != nil { // nothing to store; the rollback releases the locks
			return nil, pg.Translate(err)
		}
		return plan.Outcomes, nil
	}
	b := s.queueGroup(view, plan)
	announceJobs, err := s.queueJobs(ctx, tx, b, plan.Wakes)
	switch {
	case err != nil:
		err = pg.Translate(err)
	case len(noticed) > 0:
		err = s.writeGroupNoticed(ctx, u, tx, b, plan.Refunds, noticed)
	default:
		err = s.writeGroup(ctx, conn, b)
	}
	if err != nil {
		if conn.Conn().PgConn().TxStatus() != 'I' { // 'I': the server has ended the transaction already
			_ = tx.Rollback(context.WithoutCancel(ctx))
		}
		return nil, err
	}
	fault.Point(fault.DoorCommitted)
	if len(plan.Captures) > 0 {
		fault.Point(fault.DoorCapture)
	}
	if len(plan.Parked) > 0 {
		fault.Point(fault.DoorParked)
	}
	announceJobs()
	return plan.Outcomes, nil
}

// queueJobs adds the group's jobs to its pipeline, or inserts them in its transaction at once. The caller runs announceJobs after COMMIT,
// which notifies the workers.
func (s *Store) queueJobs(ctx context.Context, tx pgx.Tx, b *pgx.Batch, w []refund.Wakeup) (announceJobs func(), err error) {
	e, pipelined := s.cfg.Enqueuer.(PipelineEnqueuer)
	if !pipelined {
		return func() {}, s.enqueue(ctx, tx, w...)
	}
	queues, err := e.QueueJobs(b, w)
	return func() { s.announce(e, queues) }, err //nolint:contextcheck // announced after the caller has returned
}

// writeGroup sends every INSERT and UPDATE of a plan and COMMIT in one pipeline. The first statement that fails stops the pipeline before
// COMMIT. A connection lost anywhere in the pipeline is refund.ErrCommitUnknown, because COMMIT was sent with the rest.
func (s *Store) writeGroup(ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch) error {
	b.Queue(sqlCommit)
	fault.Point(fault.DoorWrite)
	sent := conn.SendBatch(ctx, b)
	fault.Point(fault.DoorUnread)
	return pg.CommitError(sent.Close())
}

// writeGroupNoticed writes a group with numbers for which notices were kept (noticed), and enters these notices before COMMIT. Such a
// notice can make its refund final at once, which the unit reports after COMMIT. It takes more round trips than writeGroup.
func (s *Store) writeGroupNoticed(ctx context.Context, u *unit, tx pgx.Tx, b *pgx.Batch, rs []intake.NewRefund, noticed []string) error {
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return pg.Translate(err)
	}
	if err := s.matchGroup(ctx, u, tx, rs, noticed); err != nil {
		return pg.Translate(err)
	}
	fault.Point(fault.DoorNoticed)
	return pg.CommitError(tx.Commit(ctx))
}

// queueGroup queues everything that a plan writes.
func (s *Store) queueGroup(v intake.View, p intake.Plan) *pgx.Batch {
	b := &pgx.Batch{}
	queueReceipts(b, v, p.Receipts)
	queueReceiptUpdates(b, v, p.Rebound)
	queuePayments(b, p)
	queueRefunds(b, v, p.Refunds)
	queueCaptures(b, v, p.Captures)
	queueConflicts(b, v, p.Conflicts, s.cfg.NewRID)
	queueParked(b, v, p, s.cfg.NewRID)
	queueBalances(b, p.Touched)
	return b
}

const sqlCommit = `COMMIT`
