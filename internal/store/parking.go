package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	sqlWaiting = `SELECT k.parked_id, k.consumer, k.position, k.headers, k.body, t.tenant_id, t.code, t.closed_at IS NOT NULL FROM parked k
    JOIN tenants t USING (tenant_id)
WHERE k.tenant_id = $1 AND k.wake_payment = $2 AND k.parked_id > $3 AND k.done_at IS NULL ORDER BY k.parked_id LIMIT $4`

	sqlParkedPlace = `SELECT parked_id, tries FROM parked WHERE tenant_id = $1 AND consumer = $2 AND position = $3`

	sqlDiscard = `UPDATE parked SET done_at = now(), done_how = 'discarded', done_by = $3 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`

	sqlStillParked = `UPDATE parked SET tries = tries + 1 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`
)

// Park parks a message with a reason, in a transaction of its own. The same position again counts up. Errors:
// refund.ErrUnavailable, refund.ErrBadData; repeating it is harmless, and so is a rerun, which counts up once more.
func (s *Store) Park(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) error {
	_, _, err := s.ParkBeforeRetry(ctx, tenant, ev, reason, p)
	return err
}

// ParkAll is Park for several messages in one transaction: all are stored, or none.
func (s *Store) ParkAll(ctx context.Context, rows []intake.ParkedRow) error {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Source, rows[i].ID = storable(rows[i].Source), storable(rows[i].ID)
	}
	// The same order in every transaction: two that park the same messages do not wait for each other.
	slices.SortStableFunc(rows, func(a, b intake.ParkedRow) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), strings.Compare(a.Consumer, b.Consumer), strings.Compare(a.Position, b.Position))
	})
	err := pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		now, err := txNow(ctx, tx)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		queueParked(b, intake.View{Now: now}, intake.Plan{Parked: rows}, s.cfg.NewRID)
		err = tx.SendBatch(ctx, b).Close()
		fault.Point(fault.PoisonWritten)
		return err
	})
	fault.Point(fault.PoisonCommitted)
	return err
}

// ParkBeforeRetry is Park for a message that is about to be tried once more. It returns the row and how often the position has
// been parked or tried.
func (s *Store) ParkBeforeRetry(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) (id refund.RID, tries int,
	err error) {
	err = s.inTx(ctx, "parking of "+ev.Consumer+" "+p.Position, func(ctx context.Context, tx pgx.Tx) error {
		now, err := txNow(ctx, tx)
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		ev.Source, ev.ID = storable(ev.Source), storable(ev.ID)
		row := intake.ParkedRow{EventRef: intake.EventRef{Tenant: tenant, EventID: ev}, Park: p, Reason: reason}
		queueParked(b, intake.View{Now: now}, intake.Plan{Parked: []intake.ParkedRow{row}}, s.cfg.NewRID)
		b.Queue(sqlParkedPlace, int64(tenant), ev.Consumer, storable(p.Position)).QueryRow(func(row pgx.Row) error { return row.Scan((*[16]byte)(&id), &tries) })
		err = tx.SendBatch(ctx, b).Close()
		fault.Point(fault.PoisonWritten)
		return err
	})
	fault.Point(fault.PoisonCommitted)
	return id, tries, err
}

// Waiting reads at most limit parked messages of a tenant that wait for this payment, those after a message (zero = all), the oldest
// first.
func (s *Store) Waiting(ctx context.Context, tenant refund.TenantID, paymentID string, after refund.RID, limit int) ([]intake.ParkedMessage, error) {
	rows, err := s.pool.Query(ctx, sqlWaiting, int64(tenant), paymentID, [16]byte(after), limit)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (intake.ParkedMessage, error) {
		var m intake.ParkedMessage
		var id [16]byte
		var headers []byte
		var tid int64
		if err := row.Scan(&id, &m.Consumer, &m.Position, &headers, &m.Body, &tid, &m.Tenant.Code, &m.Tenant.Closed); err != nil {
			return m, err
		}
		m.ID, m.Tenant.ID = id, refund.TenantID(tid)
		return m, json.Unmarshal(headers, &m.Headers)
	})
	return out, pg.Translate(err)
}

// Discard settles a parked message without trying it; by is the journal's name of the actor. A message that is settled already stays as it
// is, and one that does not exist is no error. Errors: refund.ErrUnavailable.
func (s *Store) Discard(ctx context.Context, tenant refund.TenantID, id refund.RID, by string) error {
	fault.Point(fault.ParkedDiscardBefore)
	_, err := s.pool.Exec(ctx, sqlDiscard, int64(tenant), [16]byte(id), by)
	fault.Point(fault.ParkedDiscardCommitted)
	return pg.Translate(err)
}

// StillParked counts a try that left the message parked. Errors: refund.ErrUnavailable.
func (s *Store) StillParked(ctx context.Context, tenant refund.TenantID, id refund.RID) error {
	fault.Point(fault.ParkedTryBefore)
	_, err := s.pool.Exec(ctx, sqlStillParked, int64(tenant), [16]byte(id))
	fault.Point(fault.ParkedTryCommitted)
	return pg.Translate(err)
}
