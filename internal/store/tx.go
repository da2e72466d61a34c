package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// enqueue adds follow-up jobs to the transaction.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, w ...refund.Wakeup) error {
	if s.cfg.Enqueuer == nil || len(w) == 0 {
		return nil
	}
	return s.cfg.Enqueuer.EnqueueTx(ctx, tx, w)
}

// rerun is pg.Rerun, and counts each lost COMMIT. Every transaction of the store that writes goes through it; a single statement that
// commits by itself needs none, because its caller repeats it after refund.ErrUnavailable.
func (s *Store) rerun(ctx context.Context, what string, run func() error) error {
	return pg.Rerun(ctx, s.log, what, func() error {
		err := run()
		if errors.Is(err, refund.ErrCommitUnknown) && s.cfg.CommitUnknown != nil {
			s.cfg.CommitUnknown()
		}
		return err
	})
}

// inTx is pg.InTx, run again after a lost COMMIT.
func (s *Store) inTx(ctx context.Context, what string, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return s.rerun(ctx, what, func() error { return pg.InTx(ctx, s.pool, fn) })
}
