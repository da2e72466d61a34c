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

const (
	sqlTimelineJournal = `SELECT seq, at, kind, coalesce(from_state, ''), to_state, generation, source, actor, data FROM journal
WHERE tenant_id = $1 AND rid = $2 ORDER BY seq DESC LIMIT $3`
	sqlTimelineDispatches = `SELECT no, number, key_expires_at, absence_counts_from, exposed, overridden_by IS NOT NULL, final_negative_at, acknowledged, coalesce(channel_refund_id, ''), at,
  EXISTS (SELECT 1 FROM retired_dispatches x WHERE (x.tenant_id, x.rid, x.no) = (d.tenant_id, d.rid, d.no))
FROM dispatches d WHERE tenant_id = $1 AND rid = $2 ORDER BY no`
	sqlTimelineAttempts = `SELECT no, dispatch_no, kind, epoch, generation, contract_version, started_at, not_after, answered_at, coalesce(answer, ''), coalesce(rule, ''), late, evidence
FROM attempts WHERE tenant_id = $1 AND rid = $2 ORDER BY no DESC LIMIT $3`
	sqlTimelineEffects = `SELECT effect_id, dispatch_no, coalesce(channel_refund_id, ''), amount, currency, counted, status, source, at, reversed_at, voucher
FROM effects WHERE tenant_id = $1 AND payment_id = $2 AND rid = $3 ORDER BY at`
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

// newest turns a list that was read from its end into order of time, without the row that only told that there is more.
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

func scanDispatchRow(row pgx.CollectableRow) (refund.DispatchRow, error) {
	var d refund.DispatchRow
	var dies, absence, negative *time.Time
	err := row.Scan(&d.Ordinal, &d.Number, &dies, &absence, &d.Exposed, &d.Overridden, &negative, &d.Acknowledged, &d.ChannelRefundID, &d.CreatedAt, &d.Retired)
	d.KeyExpiresAt, d.AbsenceCountsFrom, d.FinalNegativeAt = pg.Deref(dies), pg.Deref(absence), pg.Deref(negative)
	return d, err
}

func scanAttemptRow(row pgx.CollectableRow) (refund.AttemptRow, error) {
	var a refund.AttemptRow
	var kind, answer string
	var answered *time.Time
	var evidence []byte
	err := row.Scan(&a.No, &a.DispatchNo, &kind, &a.Epoch, &a.Generation, &a.ContractVersion, &a.StartedAt, &a.NotAfter, &answered, &answer, &a.Rule, &a.Late, &evidence)
	a.Kind, a.Answer, a.AnsweredAt = refund.AttemptKind(kind), refund.FactKind(answer), pg.Deref(answered)
	if evidence != nil {
		a.Evidence = json.RawMessage(evidence)
	}
	return a, err
}

// scanEffectRow reads an effect of the refund with this id; "" = of none of ours.
func scanEffectRow(refundID string) func(pgx.CollectableRow) (refund.EffectRow, error) {
	return func(row pgx.CollectableRow) (refund.EffectRow, error) {
		e := refund.EffectRow{RefundID: refundID}
		var id [16]byte
		var no *int
		var currency, status string
		var reversed *time.Time
		var voucher []byte
		err := row.Scan(&id, &no, &e.ChannelRefundID, &e.Amount, &currency, &e.Counted, &status, &e.Source, &e.At, &reversed, &voucher)
		e.ID, e.Ours, e.DispatchNo = id, no != nil, pg.Deref(no)
		e.Currency, e.Status, e.ReversedAt = refund.Currency(currency), refund.EffectStatus(status), pg.Deref(reversed)
		e.Voucher = string(voucher)
		return e, err
	}
}

func scanDeliveryRow(row pgx.CollectableRow) (refund.DeliveryRow, error) {
	var d refund.DeliveryRow
	err := row.Scan(&d.At, &d.Consumer, &d.Source, &d.EventID, &d.Transport, &d.Outcome)
	return d, err
}
