package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// Load reads everything durable about a refund from one snapshot, in one round trip. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Load(ctx context.Context, k refund.RefundRef) (refund.Record, error) {
	var rec refund.Record
	err := pg.Snapshot(ctx, s.pool, func(b *pgx.Batch) { s.queueRecord(b, k, pg.LoadPaymentSQL, &rec) })
	if err != nil {
		return refund.Record{}, err
	}
	return rec, nil
}

// queueRecord queues the reads that fill rec. A writer passes lockPaymentSQL, which locks the payment's row.
func (s *Store) queueRecord(b *pgx.Batch, k refund.RefundRef, paymentSQL string, rec *refund.Record) {
	rec.Installation = s.identity.installation
	pg.QueueRecord(b, k, paymentSQL, rec)
}
