package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

var (
	sqlMutex       = `SELECT pg_advisory_xact_lock($1)` // waits no longer than lock_timeout
	sqlLockPayment = `SELECT ` + pg.PaymentColumns + ` FROM payments p WHERE p.tenant_id = $1 AND p.payment_id = $2 FOR NO KEY UPDATE`
	sqlSnapshot    = `UPDATE payments SET captured = $3, refunded_elsewhere = $4, excess = $5, version = $6 WHERE tenant_id = $1 AND payment_id = $2`
)

// PutPayment stores a payment's snapshot: unknown = created; an older version, or the same with the same content = no-op;
// the same version with other content, or other immutable fields = payment-parameters-conflict; below what is already
// reserved or refunded = payment-below-refunded. Errors: *refund.Problem with one of these codes, account-not-allowed,
// reference-not-allowed or amount-not-expressible; refund.ErrBusy, refund.ErrUnavailable.
func (s *Store) PutPayment(ctx context.Context, tenant refund.Tenant, paymentID string, spec intake.PaymentSpec, actor string) (p refund.Payment,
	created bool, err error) {
	err = s.inTx(ctx, "snapshot of payment "+paymentID, func(ctx context.Context, tx pgx.Tx) error {
		stored, isNew, err := s.putPayment(ctx, tx, tenant, paymentID, spec)
		p, created = stored, created || isNew // a rerun changes nothing if an earlier run went through
		fault.Point(fault.PaymentWritten)
		return err
	})
	fault.Point(fault.PaymentCommitted)
	if code, name := pg.Constraint(err); code == "23505" && name == "payments_reference_uq" {
		err = &refund.Problem{Code: refund.CodePaymentConflict, Fields: []string{"channelReference"}}
	}
	return p, created, err
}

func (s *Store) putPayment(ctx context.Context, tx pgx.Tx, tenant refund.Tenant, paymentID string, spec intake.PaymentSpec) (refund.Payment, bool, error) {
	if _, err := tx.Exec(ctx, sqlMutex, s.advisory(lockPayment, tenant.ID, paymentID)); err != nil {
		return refund.Payment{}, false, err
	}
	now, err := txNow(ctx, tx)
	if err != nil {
		return refund.Payment{}, false, err
	}
	p, err := pg.ScanPayment(tx.QueryRow(ctx, sqlLockPayment, int64(tenant.ID), paymentID))
	if errors.Is(err, pgx.ErrNoRows) {
		return s.newPayment(ctx, tx, tenant, paymentID, spec, now)
	}
	if err != nil {
		return p, false, err
	}
	next, err := intake.ApplySnapshot(p, tenant, spec)
	if err != nil || next == p {
		return p, false, err
	}
	ct, err := tx.Exec(ctx, sqlSnapshot, int64(tenant.ID), paymentID, next.Captured, next.RefundedElsewhere, next.Excess, next.Version)
	if err != nil {
		return p, false, err
	}
	if err := pg.OneRow(ct.RowsAffected(), "snapshot"); err != nil || next.PaidAt.Equal(p.PaidAt) {
		return next, false, err
	}
	if ct, err = tx.Exec(ctx, sqlPaid, int64(tenant.ID), paymentID, pg.Null(next.PaidAt), pg.Null(next.WindowEndsAt)); err != nil {
		return p, false, err
	}
	return next, false, pg.OneRow(ct.RowsAffected(), "time of paying")
}

func (s *Store) newPayment(ctx context.Context, tx pgx.Tx, tenant refund.Tenant, paymentID string, spec intake.PaymentSpec, now time.Time) (refund.Payment,
	bool, error) {
	ref := intake.PaymentRef{Tenant: tenant.ID, PaymentID: paymentID}
	p, code := intake.NewPayment(ref, tenant, spec, refund.BySnapshot, intake.View{Now: now, Account: s.account})
	if code != "" {
		return p, false, &refund.Problem{Code: code}
	}
	b := &pgx.Batch{}
	b.Queue(sqlMutex, s.reference(intake.ReferenceRef{Account: p.Account, Reference: p.Reference}))
	queuePayments(b, intake.Plan{Payments: []refund.Payment{p}})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return p, false, err
	}
	return p, true, s.enqueue(ctx, tx, refund.Wakeup{RefundRef: refund.RefundRef{Tenant: tenant.ID}, PaymentID: paymentID})
}

func txNow(ctx context.Context, tx pgx.Tx) (now time.Time, err error) {
	err = tx.QueryRow(ctx, sqlNow).Scan(&now)
	return now, err
}
