package read

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// timelineRows bounds each list of a timeline; the newest rows are kept.
const timelineRows = 1000

var (
	sqlTimelineJournal = `SELECT seq, at, kind, coalesce(from_state, ''), to_state, generation, source, actor, data FROM journal
WHERE tenant_id = $1 AND rid = $2 ORDER BY seq DESC LIMIT $3`
	sqlTimelineDispatches = `SELECT ` + dispatchColumns + `
FROM ` + pg.DispatchTables + ` WHERE d.tenant_id = $1 AND d.rid = $2 ORDER BY d.no`
	sqlTimelineAttempts = `SELECT ` + attemptColumns + `
FROM attempts a WHERE a.tenant_id = $1 AND a.rid = $2 ORDER BY a.no DESC LIMIT $3`
	sqlTimelineEffects = `SELECT ` + effectColumns + `
FROM effects e WHERE e.tenant_id = $1 AND e.payment_id = $2 AND e.rid = $3 ORDER BY e.at`
	sqlTimelineReceipts = `SELECT at, consumer, source, event_id, coalesce(transport, ''), outcome FROM receipts
WHERE tenant_id = $1 AND rid = $2 AND at >= $3 ORDER BY at DESC LIMIT $4`
)

// Timeline reads everything durable about one refund. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (r *Reader) Timeline(ctx context.Context, tenant refund.TenantID, refundID string) (refund.Timeline, error) {
	var t refund.Timeline
	err := pg.Snapshot(ctx, r.pool, func(b *pgx.Batch) {
		b.Queue(sqlFindRefund, int64(tenant), refundID).QueryRow(func(row pgx.Row) (err error) {
			t.Refund, err = pg.ScanRefund(row)
			return err
		})
	}, func(b *pgx.Batch) { queueTimeline(b, &t) })
	if err != nil {
		return refund.Timeline{}, err
	}
	t.Journal, t.Attempts, t.Deliveries = newest(t.Journal, &t.Truncated), newest(t.Attempts, &t.Truncated), newest(t.Deliveries, &t.Truncated)
	return t, nil
}

// queueTimeline queues the lists of the refund t.Refund.
func queueTimeline(b *pgx.Batch, t *refund.Timeline) {
	tenant, rid := int64(t.Refund.Tenant), [16]byte(t.Refund.RID)
	b.Queue(sqlTimelineJournal, tenant, rid, timelineRows+1).Query(func(rows pgx.Rows) (err error) {
		t.Journal, err = pgx.CollectRows(rows, scanJournalRow)
		return err
	})
	b.Queue(sqlTimelineDispatches, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		t.Dispatches, err = pgx.CollectRows(rows, scanDispatchRow)
		return err
	})
	b.Queue(sqlTimelineAttempts, tenant, rid, timelineRows+1).Query(func(rows pgx.Rows) (err error) {
		t.Attempts, err = pgx.CollectRows(rows, scanAttemptRow)
		return err
	})
	b.Queue(sqlTimelineEffects, tenant, t.Refund.PaymentID, rid).Query(func(rows pgx.Rows) (err error) {
		t.Effects, err = pgx.CollectRows(rows, scanEffectRow(t.Refund.RefundID))
		return err
	})
	b.Queue(sqlTimelineReceipts, tenant, rid, t.Refund.CreatedAt.Add(-time.Second), timelineRows+1).Query(func(rows pgx.Rows) (err error) {
		t.Deliveries, err = pgx.CollectRows(rows, scanDeliveryRow)
		return err
	})
}

// newest puts a list that was read from its end in order of time, and drops the extra row that shows that there are more.
func newest[T any](rows []T, truncated *bool) []T {
	if len(rows) > timelineRows {
		rows, *truncated = rows[:timelineRows], true
	}
	slices.Reverse(rows)
	return rows
}

func scanJournalRow(row pgx.CollectableRow) (refund.JournalRow, error) {
	var j refund.JournalRow
	var from, to, data string
	err := row.Scan(&j.Seq, &j.At, &j.Kind, &from, &to, &j.Generation, &j.Source, &j.Actor, &data)
	j.From, j.To, j.Data = refund.State(from), refund.State(to), json.RawMessage(data)
	return j, err
}

func scanDeliveryRow(row pgx.CollectableRow) (refund.DeliveryRow, error) {
	var d refund.DeliveryRow
	err := row.Scan(&d.At, &d.Consumer, &d.Source, &d.EventID, &d.Transport, &d.Outcome)
	return d, err
}
