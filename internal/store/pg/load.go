package pg

import (
	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// proposalOpen is true while a proposal that stops sends (refund.Action.StopsSends) is open: it is made for the present version of
// refunds r, and neither judged nor expired, or approved and not applied yet.
const proposalOpen = `EXISTS (SELECT FROM decisions x WHERE x.tenant_id = r.tenant_id AND x.case_id = r.case_id AND x.action <> 'wait'
        AND x.journal_seq = r.journal_seq AND ((x.verdict IS NULL AND x.expires_at > clock_timestamp()) OR (x.verdict = 'APPROVED' AND x.applied_at IS NULL)))`

// SendsStopped is true for refunds r with a case that stops sends: one with another reason than waiting, or with a proposal that
// stops sends. It is refund.Decide's condition, checked again where a send is claimed.
const SendsStopped = proposalOpen + ` OR EXISTS (SELECT FROM cases y WHERE y.tenant_id = r.tenant_id AND y.case_id = r.case_id
        AND NOT y.reasons <@ ARRAY['deadline','no-automatic-step'])`

// LoadRefundSQL reads a refund's row with the tenant's code, whether sending is held (for all refunds, or for this one because a
// restore may have lost it and no epoch has marked it), whether a proposal stops sends, and the database's clock. $1 tenant, $2 rid, as in all statements of this file.
var LoadRefundSQL = `SELECT ` + RefundColumns + `,
    (SELECT t.code FROM tenants t WHERE t.tenant_id = r.tenant_id),
    (SELECT i.sending_held_since IS NOT NULL OR coalesce(r.created_at < i.mark_new_until AND r.final_at IS NULL AND NOT EXISTS (
        SELECT FROM dispatches m WHERE m.tenant_id = r.tenant_id AND m.rid = r.rid AND m.marked_epoch = i.epoch), false) FROM installation i),
    ` + proposalOpen + `,
    clock_timestamp()
  FROM refunds r` + RefundSides + ` WHERE r.tenant_id = $1 AND r.rid = $2`

// LoadDispatchesSQL reads a refund's dispatches for ScanDispatch.
var LoadDispatchesSQL = `SELECT ` + DispatchColumns + ` FROM ` + DispatchTables + `
  WHERE d.tenant_id = $1 AND d.rid = $2 ORDER BY d.no`

// LoadAttemptsSQL reads a refund's attempts for ScanAttempt.
var LoadAttemptsSQL = `SELECT ` + AttemptColumns + `
  FROM attempts a WHERE a.tenant_id = $1 AND a.rid = $2 ORDER BY a.no`

// LoadEffectsSQL reads the refund's own effects, and the payment's lines that belong to no refund. Only standing effects have an index
// by refund, so returned ones are read only if the journal has a row that can return an effect.
var LoadEffectsSQL = `SELECT ` + EffectColumns + `
  FROM (
    SELECT * FROM effects WHERE tenant_id = $1 AND rid = $2 AND status = 'MOVED'
    UNION ALL
    SELECT * FROM effects WHERE tenant_id = $1 AND rid = $2 AND status = 'REVERSED'
      AND EXISTS (SELECT FROM journal WHERE tenant_id = $1 AND rid = $2 AND (to_state = 'REVERSED' OR kind IN ('reversed', 'failed_final',
      'revoke-confirmation')))
    UNION ALL
    SELECT * FROM effects WHERE tenant_id = $1 AND payment_id = (SELECT payment_id FROM refunds WHERE tenant_id = $1 AND rid = $2) AND rid IS NULL
  ) e ORDER BY e.effect_id`

// LoadPaymentSQL reads a refund's payment for ScanPayment.
var LoadPaymentSQL = `SELECT ` + PaymentColumns + ` FROM payments p
  WHERE p.tenant_id = $1 AND p.payment_id = (SELECT payment_id FROM refunds WHERE tenant_id = $1 AND rid = $2)`

// LoadFactsSQL reads the keys of the facts that a refund's journal knows.
const LoadFactsSQL = `SELECT fact_key FROM journal WHERE tenant_id = $1 AND rid = $2 AND fact_key IS NOT NULL`

// QueueRecord queues the reads that fill rec, except for rec.Installation, which is the caller's. paymentSQL is LoadPaymentSQL; a writer
// appends the row lock to it.
func QueueRecord(b *pgx.Batch, k refund.RefundRef, paymentSQL string, rec *refund.Record) {
	tenant, rid := int64(k.Tenant), [16]byte(k.RID)
	b.Queue(paymentSQL, tenant, rid).QueryRow(func(row pgx.Row) (err error) {
		rec.Payment, err = ScanPayment(row)
		return err
	})
	b.Queue(LoadRefundSQL, tenant, rid).QueryRow(func(row pgx.Row) (err error) {
		rec.Refund, err = ScanRefund(row, &rec.TenantCode, &rec.SendingHeld, &rec.ProposalOpen, &rec.Now)
		return err
	})
	b.Queue(LoadDispatchesSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		rec.Dispatches, err = pgx.CollectRows(rows, ScanDispatch)
		return err
	})
	b.Queue(LoadAttemptsSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		rec.Attempts, err = pgx.CollectRows(rows, ScanAttempt)
		return err
	})
	b.Queue(LoadEffectsSQL, tenant, rid).Query(func(rows pgx.Rows) (err error) {
		rec.Effects, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (refund.Effect, error) {
			return scanEffectOf(row, k.RID, &rec.NotOurs)
		})
		return err
	})
	b.Queue(LoadFactsSQL, tenant, rid).Query(func(rows pgx.Rows) error {
		return scanFacts(rows, rec)
	})
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
