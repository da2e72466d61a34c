package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// enqueue adds follow-up jobs to the transaction.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, w ...refund.Wakeup) error {
	if s.cfg.Enqueuer == nil || len(w) == 0 {
		return nil
	}
	return s.cfg.Enqueuer.EnqueueTx(ctx, tx, w)
}
