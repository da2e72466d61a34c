package read

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
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
)

// ListParked gives a page of a tenant's parking lot without the messages' bytes, the oldest first. Errors: refund.ErrUnavailable.
func (r *Reader) ListParked(ctx context.Context, tenant refund.TenantID, q intake.ParkedFilter) ([]intake.ParkedView, error) {
	text := sqlParkedOpen
	if q.Done {
		text = sqlParkedDone
	}
	rows, err := r.pool.Query(ctx, text, int64(tenant), q.Reason, q.Consumer, [16]byte(q.After), max(1, q.Limit))
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
func (r *Reader) ParkedMessage(ctx context.Context, tenant refund.TenantID, id refund.RID) (intake.ParkedView, error) {
	var headers, body []byte
	var t refund.Tenant
	p, err := scanParked(r.pool.QueryRow(ctx, sqlParkedOne, int64(tenant), [16]byte(id)), tenant, &headers, &body, &t.Code, &t.Closed)
	if err != nil {
		return p, pg.Translate(err)
	}
	t.ID = tenant
	p.Tenant, p.Body = t, body
	return p, json.Unmarshal(headers, &p.Headers)
}
