package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	caseSubjectSQL   = `SELECT c.rid, c.payment_id, c.closed_at IS NOT NULL FROM cases c WHERE c.tenant_id = $1 AND c.case_id = $2`
	judgeDecisionSQL = `UPDATE decisions SET verdict = $3, checker = $4, checked_at = $5 WHERE tenant_id = $1 AND decision_id = $2 AND verdict IS NULL`
	endDecisionSQL   = `UPDATE decisions SET verdict = $3, checked_at = $4 WHERE tenant_id = $1 AND decision_id = $2
    AND (verdict IS NULL OR (verdict = 'APPROVED' AND applied_at IS NULL))`
	resumeSendsSQL   = `UPDATE refunds SET next_action_at = clock_timestamp() WHERE tenant_id = $1 AND rid = $2 AND next_action_at > clock_timestamp()`
	applyDecisionSQL = `UPDATE decisions SET applied_at = $3 WHERE tenant_id = $1 AND decision_id = $2 AND verdict = 'APPROVED' AND applied_at IS NULL`
)

var insertDecisionSQL = pg.Named[decisionArgs](`INSERT INTO decisions
    (tenant_id, decision_id, case_id, action, journal_seq, excess, effect_id, both_happened, evidence, maker, made_at, expires_at)
  VALUES (@tenant, @id, @case_id, @action, @journal_seq, @excess, @effect_id, @both_happened, @evidence, @maker, @made_at, @expires_at)`)

// decisionArgs are a new row of decisions.
type decisionArgs struct {
	Tenant       int64     `arg:"tenant"`
	ID           [16]byte  `arg:"id"`
	CaseID       [16]byte  `arg:"case_id"`
	Action       string    `arg:"action"`
	JournalSeq   *int      `arg:"journal_seq"`
	Excess       int64     `arg:"excess"`
	EffectID     *[16]byte `arg:"effect_id"`
	BothHappened bool      `arg:"both_happened"`
	Evidence     string    `arg:"evidence"`
	Maker        int64     `arg:"maker"`
	MadeAt       time.Time `arg:"made_at"`
	ExpiresAt    time.Time `arg:"expires_at"`
}

// Propose stores a person's proposal for a case, bound to the refund as it stands. The same proposal again returns the stored one with
// created = false. A newer proposal of the same maker replaces the older one.
//
// Errors: *refund.Problem (case-closed; decision-pending if another proposal is open; decision-void if the refund has moved past Version),
// *refund.NotAllowed, refund.ErrNotFound, ErrNoChannel, ErrBusy, ErrUnavailable.
func (s *Store) Propose(ctx context.Context, p refund.Proposal) (d refund.Decision, created bool, err error) {
	if !refund.ValidEvidence(p.Evidence) {
		return d, false, refund.ErrBadData
	}
	made := s.cfg.NewRID() // drawn once, so that a rerun after a lost COMMIT recognises its own row
	u := s.newUnit()
	err = u.run(ctx, "proposal for case "+p.CaseID.String(), func() error {
		return s.withCase(ctx, u, caseRef{p.Tenant, p.CaseID}, p.Actor, func(ctx context.Context, c *decidedCase) error {
			d, created, err = c.propose(ctx, p, made)
			if created {
				fault.Point(fault.ProposalWritten)
			}
			created = created || d.ID == made
			return err
		})
	})
	if created {
		fault.Point(fault.ProposalCommitted)
	}
	return d, created, err
}

// Judge approves or rejects a proposal. An approved decision takes effect at once, or through the sweep when no earlier request can still
// execute. The same verdict of the same actor again changes nothing.
//
// Errors: *refund.Problem (approver-is-maker, decision-void, decision-judged), refund.ErrNotFound, ErrNoChannel, ErrBusy, ErrUnavailable.
func (s *Store) Judge(ctx context.Context, a refund.Approval) (d refund.Decision, err error) {
	var no error
	var places []fault.Name
	u := s.newUnit()
	err = u.run(ctx, "verdict on decision "+a.DecisionID.String(), func() error {
		return s.withCase(ctx, u, caseRef{a.Tenant, a.CaseID}, a.Actor, func(ctx context.Context, c *decidedCase) error {
			d, no, err = c.judge(ctx, a)
			places = judgePoints(d, c.record.Now)
			pointsWritten(places)
			return err
		})
	})
	if err == nil {
		pointsCommitted(places)
		err = no
	}
	return d, err
}

// caseRef names a case.
type caseRef struct {
	tenant refund.TenantID
	id     refund.RID
}

// decidedCase is a case under the locks of its refund and payment, with the actor of a request. Its methods are in decisions.go,
// decisions_judge.go and decisions_apply.go.
type decidedCase struct {
	s        *Store
	u        *unit
	tx       pgx.Tx
	id       refund.RID
	tenant   refund.TenantID
	actor    int64
	record   refund.Record // only Payment and Now if the case belongs to a payment
	closed   bool
	contract refund.Contract
	known    bool // the contract is configured
	past     []refund.Decision
}

func (c *decidedCase) ofPayment() bool { return c.record.RID.IsZero() }

// withCase finds the refund or payment of a case and runs fn under its locks. actor "" means the sweep.
func (s *Store) withCase(ctx context.Context, u *unit, ref caseRef, actor string, fn func(context.Context, *decidedCase) error) error {
	tenant, id := ref.tenant, ref.id
	var rid *[16]byte
	var payment *string
	c := &decidedCase{s: s, u: u, id: id, tenant: tenant}
	if err := s.pool.QueryRow(ctx, caseSubjectSQL, int64(tenant), [16]byte(id)).Scan(&rid, &payment, &c.closed); err != nil {
		return pg.Translate(err)
	}
	run := func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
		c.tx, c.record, c.past = tx, r, nil
		c.contract, c.known = s.contractOf(r.Payment.Account, tenant)
		if err := c.read(ctx, actor); err != nil {
			return err
		}
		return fn(ctx, c)
	}
	if rid != nil {
		return s.withRecord(ctx, u, refund.RefundRef{Tenant: tenant, RID: *rid}, run)
	}
	return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
		var r refund.Record
		var err error
		if r.Payment, err = pg.ScanPayment(tx.QueryRow(ctx, sqlLockPayment, int64(tenant), pg.Deref(payment))); err != nil {
			return err
		}
		if r.Now, err = txNow(ctx, tx); err != nil {
			return err
		}
		return run(ctx, tx, r)
	})
}

// read reads under the locks: whether the case is still open, the actor, and earlier decisions.
func (c *decidedCase) read(ctx context.Context, actor string) error {
	var rid *[16]byte
	var payment *string
	if err := c.tx.QueryRow(ctx, caseSubjectSQL, int64(c.tenant), [16]byte(c.id)).Scan(&rid, &payment, &c.closed); err != nil {
		return err
	}
	if actor != "" {
		if err := c.tx.QueryRow(ctx, sqlActor, int64(c.tenant), actor).Scan(&c.actor); err != nil {
			return err
		}
	}
	rows, err := c.tx.Query(ctx, pg.DecisionsSQL, int64(c.tenant), [16]byte(c.id), pg.MostDecisions)
	if err != nil {
		return err
	}
	c.past, err = pgx.CollectRows(rows, pg.ScanDecision)
	return err
}
