package read

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

var (
	sqlFindPayment = `SELECT ` + pg.PaymentColumns + ` FROM payments p WHERE p.tenant_id = $1 AND p.payment_id = $2`
	sqlPayEffects  = `SELECT ` + effectColumns + `, coalesce(r.refund_id, '')
FROM effects e LEFT JOIN refunds r ON r.tenant_id = e.tenant_id AND r.rid = e.rid WHERE e.tenant_id = $1 AND e.payment_id = $2 ORDER BY e.at DESC LIMIT $3`
)

// FindPayment reads a payment with its effects, the newest timelineRows of them, the oldest first. Errors: refund.ErrNotFound,
// refund.ErrUnavailable.
func (r *Reader) FindPayment(ctx context.Context, tenant refund.TenantID, paymentID string) (refund.PaymentView, error) {
	var v refund.PaymentView
	err := pg.Snapshot(ctx, r.pool, func(b *pgx.Batch) {
		b.Queue(sqlFindPayment, int64(tenant), paymentID).QueryRow(func(row pgx.Row) (err error) {
			v.Payment, err = pg.ScanPayment(row)
			return err
		})
		b.Queue(sqlPayEffects, int64(tenant), paymentID, timelineRows+1).Query(func(rows pgx.Rows) (err error) {
			v.Effects, err = pgx.CollectRows(rows, scanPaymentEffect)
			return err
		})
	})
	if err != nil {
		return refund.PaymentView{}, err
	}
	v.Effects = newest(v.Effects, &v.Truncated)
	return v, nil
}

func scanPaymentEffect(row pgx.CollectableRow) (refund.EffectRow, error) {
	var refundID string
	e, err := scanEffect(row, &refundID)
	e.RefundID = refundID
	return e, err
}
