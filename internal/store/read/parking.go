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

// parkedRow is a row of parked k.
type parkedRow struct {
	ID          [16]byte   `sql:"k.parked_id"`
	Consumer    string     `sql:"k.consumer"`
	Source      string     `sql:"coalesce(k.source, '')"`
	EventID     string     `sql:"coalesce(k.event_id, '')"`
	Position    string     `sql:"k.position"`
	Reason      string     `sql:"k.reason"`
	WakePayment string     `sql:"coalesce(k.wake_payment, '')"`
	AlarmAt     *time.Time `sql:"k.alarm_at"`
	Tries       int        `sql:"k.tries"`
	At          time.Time  `sql:"k.at"`
	DoneAt      *time.Time `sql:"k.done_at"`
	DoneHow     string     `sql:"coalesce(k.done_how, '')"`
	DoneBy      string     `sql:"coalesce(k.done_by, '')"`
	BodySize    int        `sql:"octet_length(k.body)"`
}

var parkedColumns = pg.Columns[parkedRow]()

var (
	// Open messages have an index in order of time, so the position of a page is a row's time and id.
	sqlParkedOpen = `SELECT ` + parkedColumns + ` FROM parked k WHERE k.tenant_id = $1 AND k.done_at IS NULL AND ($2 = '' OR k.reason = $2) AND ($3 = ''
    OR k.consumer = $3)
  AND (k.at, k.parked_id) > (coalesce((SELECT a.at FROM parked a WHERE a.tenant_id = $1 AND a.parked_id = $4), '-infinity'), $4)
ORDER BY k.at, k.parked_id LIMIT $5`

	sqlParkedDone = `SELECT ` + parkedColumns + ` FROM parked k WHERE k.tenant_id = $1 AND k.done_at IS NOT NULL AND ($2 = '' OR k.reason = $2)
    AND ($3 = '' OR k.consumer = $3)
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

// scanParked reads parkedColumns, then the further columns of the query into more.
func scanParked(row pgx.Row, tenant refund.TenantID, more ...any) (intake.ParkedView, error) {
	k, err := pg.Scan[parkedRow](row, more...)
	var p intake.ParkedView
	p.ParkedMessage.ID, p.Tenant.ID, p.ParkedMessage.Consumer, p.Position = k.ID, tenant, k.Consumer, k.Position
	p.EventID.Consumer, p.Source, p.EventID.ID = k.Consumer, k.Source, k.EventID
	p.Reason, p.WakePayment, p.AlarmAt, p.Tries, p.At = k.Reason, k.WakePayment, pg.Deref(k.AlarmAt), k.Tries, k.At
	p.DoneAt, p.DoneHow, p.DoneBy, p.BodySize = pg.Deref(k.DoneAt), k.DoneHow, k.DoneBy, k.BodySize
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
