package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// loadRefundSQL reads the row, and beside it what is not in the row: the tenant's code, whether sending is held (for all, or for this
// one since a restore may have lost it and it is not marked yet), and the database's clock.
const loadRefundSQL = `SELECT ` + pg.RefundColumns + `,
    (SELECT t.code FROM tenants t WHERE t.tenant_id = r.tenant_id),
    (SELECT i.sending_held_since IS NOT NULL OR coalesce(r.created_at < i.mark_new_until AND r.final_at IS NULL AND NOT EXISTS (
        SELECT FROM dispatches m WHERE m.tenant_id = r.tenant_id AND m.rid = r.rid AND m.marked_epoch = i.epoch), false) FROM installation i),
    clock_timestamp()
  FROM refunds r` + pg.RefundSides + ` WHERE r.tenant_id = $1 AND r.rid = $2`

const loadDispatchesSQL = `SELECT d.no, d.number, d.key_expires_at, d.absence_counts_from, d.exposed, d.overridden_by IS NOT NULL, d.final_negative_at,
    d.may_act_until, d.marked_epoch, d.acknowledged, d.channel_refund_id, x.no IS NOT NULL
  FROM dispatches d LEFT JOIN retired_dispatches x ON (x.tenant_id, x.rid, x.no) = (d.tenant_id, d.rid, d.no)
  WHERE d.tenant_id = $1 AND d.rid = $2 ORDER BY d.no`

const loadAttemptsSQL = `SELECT a.no, a.dispatch_no, a.kind, a.epoch, a.generation, a.contract_version, a.started_at, a.not_after, a.answered_at,
    a.answer, a.evidence->>'code', (a.evidence->>'retryAfterMs')::bigint
  FROM attempts a WHERE a.tenant_id = $1 AND a.rid = $2 ORDER BY a.no`

// loadEffectsSQL: the refund's own effects, and the payment's lines that belong to no refund. Only standing effects have an index by
// refund, so the returned ones are looked for only where the journal tells of something that can return an effect.
const loadEffectsSQL = `SELECT e.effect_id, e.rid IS NOT NULL, e.dispatch_no, e.channel_refund_id, e.amount, e.currency, e.counted, e.status, e.source, e.at, e.reversed_at
  FROM (
    SELECT * FROM effects WHERE tenant_id = $1 AND rid = $2 AND status = 'MOVED'
    UNION ALL
    SELECT * FROM effects WHERE tenant_id = $1 AND rid = $2 AND status = 'REVERSED'
      AND EXISTS (SELECT FROM journal WHERE tenant_id = $1 AND rid = $2 AND (to_state = 'REVERSED' OR kind IN ('reversed', 'failed_final', 'revoke-confirmation')))
    UNION ALL
    SELECT * FROM effects WHERE tenant_id = $1 AND payment_id = (SELECT payment_id FROM refunds WHERE tenant_id = $1 AND rid = $2) AND rid IS NULL
  ) e ORDER BY e.effect_id`

const loadPaymentSQL = `SELECT ` + pg.PaymentColumns + ` FROM payments p
  WHERE p.tenant_id = $1 AND p.payment_id = (SELECT payment_id FROM refunds WHERE tenant_id = $1 AND rid = $2)`

const loadFactsSQL = `SELECT fact_key FROM journal WHERE tenant_id = $1 AND rid = $2 AND fact_key IS NOT NULL`

const (
	beginSnapshotSQL = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	endSnapshotSQL   = `COMMIT`
)

// Load reads everything durable about a refund from one snapshot, in one round trip. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Load(ctx context.Context, k refund.RefundRef) (refund.Record, error) {
	var rec refund.Record
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return rec, pg.Translate(err)
	}
	defer conn.Release() // a connection that an error left inside the transaction is thrown away by the pool
	b := &pgx.Batch{}
	b.Queue(beginSnapshotSQL)
	s.queueRecord(b, k, loadPaymentSQL, &rec)
	b.Queue(endSnapshotSQL)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return refund.Record{}, pg.Translate(err)
	}
	return rec, nil
}

// queueRecord queues the reads that fill rec. The payment's statement is given: a writer's takes the row lock.
func (s *Store) queueRecord(b *pgx.Batch, k refund.RefundRef, paymentSQL string, rec *refund.Record) {
	tenant, rid := int64(k.Tenant), [16]byte(k.RID)
	b.Queue(paymentSQL, tenant, rid).QueryRow(func(row pgx.Row) (err error) {
		rec.Payment, err = pg.ScanPayment(row)
		return err
	})
	b.Queue(loadRefundSQL, tenant, rid).QueryRow(func(row pgx.Row) (err error) {
		rec.Refund, err = pg.ScanRefund(row, &rec.TenantCode, &rec.SendingHeld, &rec.Now)
		return err
	})
	b.Queue(loadDispatchesSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		rec.Dispatches, err = pgx.CollectRows(rows, pg.ScanDispatch)
		return err
	})
	b.Queue(loadAttemptsSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		rec.Attempts, err = pgx.CollectRows(rows, pg.ScanAttempt)
		return err
	})
	b.Queue(loadEffectsSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		rec.Effects, err = pgx.CollectRows(rows, pg.ScanEffect)
		return err
	})
	b.Queue(loadFactsSQL, tenant, rid).Query(func(rows pgx.Rows) error {
		return scanFacts(rows, rec)
	})
	rec.Installation = s.identity.installation
}

func scanFacts(rows pgx.Rows, rec *refund.Record) error {
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return err
	}
	rec.Facts = make(map[[32]byte]bool, len(keys))
	for _, k := range keys {
		var key [32]byte
		copy(key[:], k) // 32 bytes by constraint
		rec.Facts[key] = true
	}
	return nil
}
