package store

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

const sqlWaiting = `SELECT k.parked_id, k.consumer, k.place, k.headers, k.body, t.tenant_id, t.code, t.closed_at IS NOT NULL FROM parked k JOIN tenants t USING (tenant_id)
WHERE k.tenant_id = $1 AND k.wake_payment = $2 AND k.done_at IS NULL ORDER BY k.at, k.parked_id LIMIT $3`

// ParkPoison keeps a message that the door cannot even look at, in a transaction of its own. The same place again counts up.
func (s *Store) ParkPoison(ctx context.Context, tenant refund.TenantID, ev refund.EventKey, reason string, p refund.Park) error {
	return s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		now, err := txNow(ctx, tx)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		ev.Source, ev.ID = storable(ev.Source), storable(ev.ID)
		row := refund.ParkedRow{EventRef: refund.EventRef{Tenant: tenant, EventKey: ev}, Park: p, Reason: reason}
		queueParked(b, refund.View{Now: now}, refund.Plan{Parked: []refund.ParkedRow{row}}, s.cfg.NewRID)
		return tx.SendBatch(ctx, b).Close()
	})
}

// Waiting reads at most limit parked messages of a tenant that wait for this payment, the oldest first.
func (s *Store) Waiting(ctx context.Context, tenant refund.TenantID, paymentID string, limit int) ([]refund.ParkedMessage, error) {
	rows, err := s.pool.Query(ctx, sqlWaiting, int64(tenant), paymentID, limit)
	if err != nil {
		return nil, translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (refund.ParkedMessage, error) {
		var m refund.ParkedMessage
		var id [16]byte
		var headers []byte
		var tid int64
		if err := row.Scan(&id, &m.Consumer, &m.Place, &headers, &m.Body, &tid, &m.Tenant.Code, &m.Tenant.Closed); err != nil {
			return m, err
		}
		m.ID, m.Tenant.ID = id, refund.TenantID(tid)
		return m, json.Unmarshal(headers, &m.Headers)
	})
	return out, translate(err)
}
