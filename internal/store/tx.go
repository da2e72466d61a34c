package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// inTx runs fn in one READ COMMITTED transaction. Errors come back translated; a lost COMMIT is refund.ErrCommitUnknown.
func (s *Store) inTx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return translate(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return translate(err)
	}
	if err := fn(ctx, tx); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return translate(err)
	}
	return commitError(tx.Commit(ctx))
}

// one insists that a guarded UPDATE touched exactly one row.
func one(n int64, what string) error {
	if n != 1 {
		return fmt.Errorf("%w: %s touched %d rows", refund.ErrNotOwner, what, n)
	}
	return nil
}

// enqueue adds follow-up jobs to the transaction.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, w ...refund.Wakeup) error {
	if s.cfg.Enqueuer == nil || len(w) == 0 {
		return nil
	}
	return s.cfg.Enqueuer.EnqueueTx(ctx, tx, w)
}
