package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// AcceptGroup decides and stores a group of intakes in one transaction: one round trip locks and reads, one writes and commits. It takes
// more round trips with an Enqueuer that is no PipelineEnqueuer, and while notices wait for the numbers of new refunds.
//
// The locks of an intake are the advisory locks lockEvent, lockRefund, lockPayment and lockReference, those of them for which it has a
// value (see accept_keys.go), the row of its payment, and the parked row that it retries. AcceptGroup tries these locks and never waits for
// one: an intake that does not get all of them has the outcome NotLocked (not decided; the Door submits it again), and the rest of the group
// goes on. A row that these locks do not cover is waited for no longer than Config.LockTimeout; then the error is refund.ErrBusy.
//
// An error means that no intake has an outcome. After refund.ErrCommitUnknown all of the group is stored, or none of it; the Door submits
// the same group again, with the same ids, and an intake that was stored gets its outcome from its receipt. After every other error this
// call has stored nothing; it says nothing about an earlier call that ended with refund.ErrCommitUnknown. refund.ErrUnavailable concerns the
// whole group; refund.ErrBusy and any other error may be caused by one intake, so the Door bisects the group.
func (s *Store) AcceptGroup(ctx context.Context, g []intake.Intake) ([]intake.Outcome, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, pg.Translate(err)
	}
	defer conn.Release()
	fault.Point(fault.DoorBegin)
	view, noticesWait, tx, err := s.readGroup(ctx, conn, g)
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
	case noticesWait:
		err = s.writeGroupNoticed(ctx, tx, b, plan.Refunds)
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

// writeGroupNoticed writes a group while notices are stored that name a number of no known refund: those that name the number of a new
// refund are entered before COMMIT.
// Such a notice can make its refund final at once, which the unit reports after COMMIT. It takes more round trips than writeGroup.
func (s *Store) writeGroupNoticed(ctx context.Context, tx pgx.Tx, b *pgx.Batch, rs []intake.NewRefund) error {
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return pg.Translate(err)
	}
	u := s.newUnit()
	if err := s.matchGroup(ctx, u, tx, rs); err != nil {
		return pg.Translate(err)
	}
	fault.Point(fault.DoorNoticed)
	if err := pg.CommitError(tx.Commit(ctx)); err != nil {
		return err
	}
	u.committed() // calls Config.RefundEnded
	return nil
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
