package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	sqlWaiting = `SELECT k.parked_id, k.consumer, k.position, k.headers, k.body, t.tenant_id, t.code, t.closed_at IS NOT NULL FROM parked k JOIN tenants t USING (tenant_id)
WHERE k.tenant_id = $1 AND k.wake_payment = $2 AND k.done_at IS NULL ORDER BY k.at, k.parked_id LIMIT $3`

	parkedColumns = `k.parked_id, k.consumer, coalesce(k.source, ''), coalesce(k.event_id, ''), k.position, k.reason, coalesce(k.wake_payment, ''), k.alarm_at, k.tries, k.at,
  k.done_at, coalesce(k.done_how, ''), coalesce(k.done_by, ''), octet_length(k.body)`

	// The open ones have an index of their own, in order of time; so the position of a page is a row's time and id.
	sqlParkedOpen = `SELECT ` + parkedColumns + ` FROM parked k WHERE k.tenant_id = $1 AND k.done_at IS NULL AND ($2 = '' OR k.reason = $2) AND ($3 = '' OR k.consumer = $3)
  AND (k.at, k.parked_id) > (coalesce((SELECT a.at FROM parked a WHERE a.tenant_id = $1 AND a.parked_id = $4), '-infinity'), $4)
ORDER BY k.at, k.parked_id LIMIT $5`

	sqlParkedDone = `SELECT ` + parkedColumns + ` FROM parked k WHERE k.tenant_id = $1 AND k.done_at IS NOT NULL AND ($2 = '' OR k.reason = $2) AND ($3 = '' OR k.consumer = $3)
  AND k.parked_id > $4 ORDER BY k.parked_id LIMIT $5`

	sqlParkedOne = `SELECT ` + parkedColumns + `, k.headers, k.body, t.code, t.closed_at IS NOT NULL FROM parked k JOIN tenants t USING (tenant_id)
WHERE k.tenant_id = $1 AND k.parked_id = $2`

	sqlParkedPlace = `SELECT parked_id, tries FROM parked WHERE tenant_id = $1 AND consumer = $2 AND position = $3`

	sqlDiscard = `UPDATE parked SET done_at = now(), done_how = 'discarded', done_by = $3 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`

	sqlStillParked = `UPDATE parked SET tries = tries + 1 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`
)

// ParkUndecodable keeps a message that the door cannot even look at, in a transaction of its own. The same place again counts up.
// Errors: refund.ErrUnavailable, refund.ErrCommitUnknown, refund.ErrBadData; repeating it is harmless.
func (s *Store) ParkUndecodable(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) error {
	_, _, err := s.ParkBeforeRetry(ctx, tenant, ev, reason, p)
	return err
}

// ParkBeforeRetry is ParkPoison for a message that is about to be tried once more. It tells the row, and how often the place has been
// parked or tried by now.
func (s *Store) ParkBeforeRetry(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) (id refund.RID, tries int, err error) {
	err = pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
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

// Waiting reads at most limit parked messages of a tenant that wait for this payment, the oldest first.
func (s *Store) Waiting(ctx context.Context, tenant refund.TenantID, paymentID string, limit int) ([]intake.ParkedMessage, error) {
	rows, err := s.pool.Query(ctx, sqlWaiting, int64(tenant), paymentID, limit)
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

// ListParked gives a page of a tenant's parking lot without the messages' bytes, the oldest first. Errors: refund.ErrUnavailable.
func (s *Store) ListParked(ctx context.Context, tenant refund.TenantID, q intake.ParkedFilter) ([]intake.ParkedView, error) {
	text := sqlParkedOpen
	if q.Done {
		text = sqlParkedDone
	}
	rows, err := s.pool.Query(ctx, text, int64(tenant), q.Reason, q.Consumer, [16]byte(q.After), max(1, q.Limit))
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (intake.ParkedView, error) { return scanParked(row, tenant) })
	return out, pg.Translate(err)
}

// scanParked reads a row of parkedColumns, and what more it has.
func scanParked(row pgx.Row, tenant refund.TenantID, more ...any) (intake.ParkedView, error) {
	var p intake.ParkedView
	var id [16]byte
	var alarm, done *time.Time
	to := append([]any{&id, &p.EventID.Consumer, &p.Source, &p.EventID.ID, &p.Position, &p.Reason, &p.WakePayment, &alarm, &p.Tries, &p.At, &done, &p.DoneHow, &p.DoneBy, &p.BodySize}, more...)
	err := row.Scan(to...)
	p.ParkedMessage.ID, p.Tenant.ID, p.ParkedMessage.Consumer = id, tenant, p.EventID.Consumer
	p.AlarmAt, p.DoneAt = pg.Deref(alarm), pg.Deref(done)
	return p, err
}

// ParkedMessage reads one parked message with its bytes. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (s *Store) ParkedMessage(ctx context.Context, tenant refund.TenantID, id refund.RID) (intake.ParkedView, error) {
	var headers, body []byte
	var t refund.Tenant
	p, err := scanParked(s.pool.QueryRow(ctx, sqlParkedOne, int64(tenant), [16]byte(id)), tenant, &headers, &body, &t.Code, &t.Closed)
	if err != nil {
		return p, pg.Translate(err)
	}
	t.ID = tenant
	p.Tenant, p.Body = t, body
	return p, json.Unmarshal(headers, &p.Headers)
}

// Discard settles a parked message without trying it; by is the journal's name of who says so. A message that is dealt with
// already stays as it is. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (s *Store) Discard(ctx context.Context, tenant refund.TenantID, id refund.RID, by string) (intake.ParkedView, error) {
	fault.Point(fault.ParkedDiscardBefore)
	if _, err := s.pool.Exec(ctx, sqlDiscard, int64(tenant), [16]byte(id), by); err != nil {
		return intake.ParkedView{}, pg.Translate(err)
	}
	fault.Point(fault.ParkedDiscardCommitted)
	return s.ParkedMessage(ctx, tenant, id)
}

// StillParked counts a try of a parked message that changed nothing. Errors: refund.ErrUnavailable.
func (s *Store) StillParked(ctx context.Context, tenant refund.TenantID, id refund.RID) error {
	fault.Point(fault.ParkedTryBefore)
	_, err := s.pool.Exec(ctx, sqlStillParked, int64(tenant), [16]byte(id))
	fault.Point(fault.ParkedTryCommitted)
	return pg.Translate(err)
}
