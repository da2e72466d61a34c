package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	acceptExcessSQL    = `UPDATE payments SET excess_accepted = greatest(excess_accepted, excess) WHERE tenant_id = $1 AND payment_id = $2`
	expireDecisionsSQL = `UPDATE decisions SET verdict = 'EXPIRED', checked_at = now() WHERE (tenant_id, decision_id) IN (
      SELECT d.tenant_id, d.decision_id FROM decisions d WHERE d.verdict IS NULL AND d.expires_at <= now() FOR NO KEY UPDATE SKIP LOCKED)`
	// settledPaymentsSQL closes cases of payments whose excess a capture or a snapshot has removed.
	settledPaymentsSQL = `UPDATE cases c SET reasons = '{}', closed_at = now(), closed_how = 'fact:captured' FROM payments p
    WHERE (p.tenant_id, p.payment_id) = (c.tenant_id, c.payment_id) AND (c.tenant_id, c.case_id) IN (
      SELECT c.tenant_id, c.case_id FROM cases c JOIN payments p USING (tenant_id, payment_id)
      WHERE c.closed_at IS NULL AND c.rid IS NULL AND p.excess <= p.excess_accepted FOR NO KEY UPDATE OF c SKIP LOCKED)`
	// orphansSQL voids proposals whose case was closed otherwise.
	orphansSQL = `UPDATE decisions SET verdict = 'VOID', checked_at = now() WHERE (tenant_id, decision_id) IN (
      SELECT d.tenant_id, d.decision_id FROM decisions d JOIN cases c USING (tenant_id, case_id)
      WHERE d.verdict IS NULL AND c.closed_at IS NOT NULL FOR NO KEY UPDATE OF d SKIP LOCKED)`
	// approvedSQL finds approved decisions whose refund has no send that may still leave. The horizon is checked under the lock.
	approvedSQL = `SELECT d.tenant_id, d.case_id, d.decision_id FROM decisions d JOIN cases c ON (c.tenant_id, c.case_id) = (d.tenant_id, d.case_id)
    WHERE d.verdict = 'APPROVED' AND d.action <> 'wait' AND d.applied_at IS NULL
      AND NOT EXISTS (SELECT FROM attempts a WHERE (a.tenant_id, a.rid) = (c.tenant_id, c.rid) AND a.kind = 'SEND' AND a.not_after > clock_timestamp())
    ORDER BY d.checked_at LIMIT $1`
)

// apply makes an approved decision take effect. no is a refusal whose transaction commits all the same.
func (c *decidedCase) apply(ctx context.Context, d refund.Decision) (out refund.Decision, no, err error) {
	if c.ofPayment() {
		err = c.applyToPayment(ctx, d)
	} else {
		err = c.applyToRefund(ctx, d)
	}
	var problem *refund.Problem
	var refused *refund.NotAllowed
	if errors.As(err, &problem) || errors.As(err, &refused) {
		return d, &refund.Problem{Code: refund.CodeDecisionVoid}, c.end(ctx, d, refund.DecisionVoid)
	}
	if err != nil {
		return d, nil, err
	}
	d.AppliedAt = c.record.Now
	tag, err := c.tx.Exec(ctx, applyDecisionSQL, int64(c.tenant), [16]byte(d.ID), d.AppliedAt)
	if err != nil {
		return d, nil, err
	}
	return d, nil, pg.OneRow(tag.RowsAffected(), "applied decision")
}

func (c *decidedCase) applyToRefund(ctx context.Context, d refund.Decision) error {
	r := c.record
	ch, err := refund.ApplyDecision(r, d, c.contract)
	if err != nil || len(ch.Steps) == 0 {
		return err
	}
	f := refund.Fact{Kind: refund.FactKind(d.Action), Source: sourceDecision, Actor: "actor:" + d.Checker}
	if err := c.s.writeChange(ctx, c.u, c.tx, &ch, f); err != nil {
		return err
	}
	if ch.LineDecided {
		if _, err := c.tx.Exec(ctx, voidPaymentDecisionsSQL, int64(c.tenant), r.PaymentID, r.Now, [16]byte(d.ID)); err != nil {
			return err
		}
	}
	var due []refund.Wakeup
	if ch.After.Payment.ExcessAccepted > r.Payment.ExcessAccepted { // other refunds may have a case about the same excess
		due = append(due, refund.Wakeup{RefundRef: refund.RefundRef{Tenant: r.Tenant}, PaymentID: r.PaymentID})
	}
	if ch.WakeNow {
		due = append(due, refund.Wakeup{RefundRef: r.RefundRef, Generation: r.Generation})
	}
	return c.s.enqueue(ctx, c.tx, due...)
}

// applyToPayment accepts the payment's excess as it is.
func (c *decidedCase) applyToPayment(ctx context.Context, d refund.Decision) error {
	if d.Action != refund.ActionAcceptAsIs {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(acceptExcessSQL, int64(c.tenant), c.record.Payment.PaymentID)
	b.Queue(closeCaseSQL, int64(c.tenant), [16]byte(c.id), c.record.Now, sourceDecision+":"+string(d.Action))
	if err := c.tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	return c.s.enqueue(ctx, c.tx, refund.Wakeup{RefundRef: refund.RefundRef{Tenant: c.tenant}, PaymentID: c.record.Payment.PaymentID})
}

func anyHeld(effects []refund.Effect) bool {
	for _, e := range effects {
		if e.Status == refund.EffectHeld {
			return true
		}
	}
	return false
}

// sweepDecisions applies approved decisions that are due, and ends proposals that have expired or whose case is closed. Approved decisions
// are few, so every pass reads all of them. Each statement that ends something is a transaction of its own and skips rows that are locked:
// a verdict locks the decision, then its case, and a transaction that locked them in the other order could deadlock with it.
func (s *Store) sweepDecisions(ctx context.Context, limit int, out *refund.Swept) error {
	fault.Point(fault.SweepCasesBefore)
	for _, sql := range []string{settledPaymentsSQL, orphansSQL, expireDecisionsSQL} {
		b := &pgx.Batch{}
		b.Queue(sql).Exec(func(tag pgconn.CommandTag) error {
			if sql == expireDecisionsSQL {
				out.Expired = int(tag.RowsAffected())
			}
			return nil
		})
		if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
			return pg.Translate(err)
		}
	}
	fault.Point(fault.SweepCasesCommitted)
	rows, err := s.pool.Query(ctx, approvedSQL, limit)
	if err != nil {
		return pg.Translate(err)
	}
	type approved struct {
		caseRef
		decision refund.RID
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a approved, err error) {
		var tenant int64
		var id, decision [16]byte
		err = row.Scan(&tenant, &id, &decision)
		return approved{caseRef{refund.TenantID(tenant), id}, decision}, err
	})
	if err != nil {
		return pg.Translate(err)
	}
	for _, a := range due {
		done := false
		u := s.newUnit()
		err := u.run(ctx, "approved decision "+a.decision.String(), func() error {
			return s.withCase(ctx, u, a.caseRef, "", func(ctx context.Context, c *decidedCase) error {
				did, err := c.applyDue(ctx, a.decision)
				done = done || did // a rerun finds it applied if an earlier run went through
				return err
			})
		})
		switch {
		case err == nil && done:
			fault.Point(fault.AppliedLaterCommitted)
			out.Decided++
		case errors.Is(err, refund.ErrUnavailable):
			return err
		case err != nil && !errors.Is(err, refund.ErrBusy):
			s.log.ErrorContext(ctx, "an approved decision was not applied", "decision", a.decision.String(), "error", err)
		}
	}
	return nil
}

func (c *decidedCase) applyDue(ctx context.Context, id refund.RID) (done bool, err error) {
	d, err := c.find(id)
	if err != nil || !c.known || !d.MayTakeEffect(c.record, c.contract, c.record.Now) {
		return false, err // applied by another replica, or not due yet
	}
	d, no, err := c.apply(ctx, d)
	if !d.AppliedAt.IsZero() {
		fault.Point(fault.AppliedLaterWritten)
	}
	return err == nil && no == nil, err
}
