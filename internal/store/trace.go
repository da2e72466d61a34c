package store

import (
	"context"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

const sqlRecordDeliveries = `INSERT INTO deliveries (day, tenant_id, delivery_id, consumer, source, event_id, transport, outcome, cause, rid, replay_batch, at)
SELECT (now() AT TIME ZONE 'UTC')::date, t, d, c, nullif(s, ''), nullif(e, ''), tr, o, nullif(ca, ''), r, b, now()
FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::uuid[], $10::uuid[]) AS u(t, d, c, s, e,
    tr, o, ca, r, b)`

// RecordDeliveries stores deliveries in one statement. A lost delivery row loses no refund.
func (s *Store) RecordDeliveries(ctx context.Context, ds []intake.Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	var tenants []int64
	var ids [][16]byte
	var rids, batches []*[16]byte
	var consumers, sources, events, transports, outcomes, causes []string
	for _, d := range ds {
		tenants, ids = append(tenants, int64(d.Tenant)), append(ids, [16]byte(s.cfg.NewRID()))
		rids, batches = append(rids, pg.NullRID(d.RID)), append(batches, pg.NullRID(d.ReplayBatch))
		consumers, sources, events = append(consumers, d.Event.Consumer), append(sources, storable(d.Event.Source)), append(events, storable(d.Event.ID))
		transports, outcomes, causes = append(transports, storable(d.Transport)), append(outcomes, d.Outcome), append(causes, d.Cause)
	}
	_, err := s.pool.Exec(ctx, sqlRecordDeliveries, tenants, ids, consumers, sources, events, transports, outcomes, causes, rids, batches)
	return pg.Translate(err)
}

// BridgeTenant finds a tenant for a bridge. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (s *Store) BridgeTenant(ctx context.Context, code string) (refund.Tenant, error) {
	t, err := s.Tenant(ctx, code)
	return t.Tenant(), err
}
