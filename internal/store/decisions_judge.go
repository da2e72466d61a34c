package store

import (
	"context"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// judge returns the decision as it is afterwards. no is a refusal whose transaction commits all the same, because it stores that the
// decision is void or expired.
func (c *decidedCase) judge(ctx context.Context, a refund.Approval) (d refund.Decision, no, err error) {
	d, err = c.find(a.DecisionID)
	if err != nil {
		return d, nil, err
	}
	void := &refund.Problem{Code: refund.CodeDecisionVoid}
	switch {
	case d.Maker == a.Actor:
		return d, &refund.Problem{Code: refund.CodeApproverIsMaker}, nil
	case d.Verdict == refund.DecisionVoid || d.Verdict == refund.DecisionExpired:
		return d, void, nil
	case d.Verdict != "" && d.Checker == a.Actor && (d.Verdict == refund.DecisionApproved) == a.Approve:
		return d, nil, nil
	case d.Verdict != "":
		return d, &refund.Problem{Code: refund.CodeDecisionJudged}, nil
	case !d.ExpiresAt.After(c.record.Now):
		return d, void, c.end(ctx, d, refund.DecisionExpired)
	case !a.Approve:
		d.Verdict, d.Checker, d.CheckedAt = refund.DecisionRejected, a.Actor, c.record.Now
		if err := c.verdict(ctx, d); err != nil {
			return d, nil, err
		}
		return d, nil, c.resume(ctx, d)
	case c.closed || c.stale(d) || c.obstructed(d) != nil:
		if !c.known {
			return d, nil, refund.ErrNoChannel
		}
		return d, void, c.end(ctx, d, refund.DecisionVoid)
	}
	d.Verdict, d.Checker, d.CheckedAt = refund.DecisionApproved, a.Actor, c.record.Now
	if err := c.verdict(ctx, d); err != nil {
		return d, nil, err
	}
	if !c.ofPayment() && d.Action != refund.ActionWait && !d.MayTakeEffect(c.record, c.contract, c.record.Now) {
		return d, nil, nil
	}
	return c.apply(ctx, d)
}

func (c *decidedCase) find(id refund.RID) (refund.Decision, error) {
	for _, d := range c.past {
		if d.ID == id {
			return d, nil
		}
	}
	return refund.Decision{}, refund.ErrNotFound
}

func (c *decidedCase) stale(d refund.Decision) bool {
	if c.ofPayment() {
		return d.Excess != c.record.Payment.Excess
	}
	return d.Stale(c.record)
}

func (c *decidedCase) obstructed(d refund.Decision) error {
	switch {
	case c.ofPayment():
		for _, choice := range refund.AllowedForPayment() {
			if choice.Action == d.Action && !choice.Allowed {
				return &refund.NotAllowed{Action: d.Action, Why: choice.Why}
			}
		}
		return nil
	case !c.known:
		return refund.ErrNoChannel
	}
	return refund.Obstructed(c.record, d, c.contract)
}

func (c *decidedCase) verdict(ctx context.Context, d refund.Decision) error {
	tag, err := c.tx.Exec(ctx, judgeDecisionSQL, int64(c.tenant), [16]byte(d.ID), string(d.Verdict), c.actor, d.CheckedAt)
	if err != nil {
		return err
	}
	return pg.OneRow(tag.RowsAffected(), "verdict")
}

// end closes an open decision with a verdict that no person gave.
func (c *decidedCase) end(ctx context.Context, d refund.Decision, v refund.DecisionVerdict) error {
	if _, err := c.tx.Exec(ctx, endDecisionSQL, int64(c.tenant), [16]byte(d.ID), string(v), c.record.Now); err != nil {
		return err
	}
	return c.resume(ctx, d)
}

// resume makes the refund due at once when a proposal that stopped its sends has ended without effect.
func (c *decidedCase) resume(ctx context.Context, d refund.Decision) error {
	if c.ofPayment() || !d.Action.StopsSends() {
		return nil
	}
	_, err := c.tx.Exec(ctx, resumeSendsSQL, int64(c.tenant), [16]byte(c.record.RID))
	return err
}

func (c *decidedCase) propose(ctx context.Context, p refund.Proposal, made refund.RID) (refund.Decision, bool, error) {
	for _, d := range c.past {
		lives := d.Verdict == "" && d.ExpiresAt.After(c.record.Now) && !c.stale(d)
		if d.Same(p) && (lives || (d.Verdict == refund.DecisionApproved && d.Action != refund.ActionWait)) {
			return d, false, nil
		}
	}
	if c.closed {
		return refund.Decision{}, false, &refund.Problem{Code: refund.CodeCaseClosed}
	}
	for _, d := range c.past {
		if !d.Open() {
			continue
		}
		verdict := refund.DecisionVoid
		switch {
		case c.stale(d) || (d.Verdict == "" && d.Maker == p.Actor):
		case d.Verdict == "" && !d.ExpiresAt.After(c.record.Now):
			verdict = refund.DecisionExpired
		default:
			return refund.Decision{}, false, &refund.Problem{Code: refund.CodeDecisionPending}
		}
		if err := c.end(ctx, d, verdict); err != nil {
			return refund.Decision{}, false, err
		}
	}
	if p.Version != 0 && p.Version != c.record.JournalSeq {
		return refund.Decision{}, false, &refund.Problem{Code: refund.CodeDecisionVoid}
	}
	d := refund.Decision{ID: made, CaseID: c.id, Action: p.Action, JournalSeq: c.record.JournalSeq, EffectID: p.EffectID, BothHappened: p.BothHappened,
		Evidence: p.Evidence, Maker: p.Actor, MadeAt: c.record.Now, ExpiresAt: c.record.Now.Add(refund.ApprovalTime)}
	if err := c.obstructed(d); err != nil {
		return refund.Decision{}, false, err
	}
	if c.ofPayment() || p.Action == refund.ActionAcceptAsIs {
		d.Excess = c.record.Payment.Excess
	}
	_, err := c.tx.Exec(ctx, insertDecisionSQL.SQL, insertDecisionSQL.Args(&decisionArgs{
		Tenant: int64(c.tenant), ID: d.ID, CaseID: c.id, Action: string(d.Action), JournalSeq: pg.Null(d.JournalSeq), Excess: d.Excess,
		EffectID: pg.NullRID(d.EffectID), BothHappened: d.BothHappened, Evidence: d.Evidence, Maker: c.actor, MadeAt: d.MadeAt, ExpiresAt: d.ExpiresAt,
	})...)
	return d, true, err
}
