package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// An approved decision that still waits is void once a fact comes.
func TestApprovedDecisionIsVoidedByAFact(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Horizon = refund.Duration(time.Hour) })
	k := c.refund(t, "rf")
	c.send(t, k, refund.Unknown, "")
	r := c.load(t, k)
	c.enter(t, k, refund.Fact{Kind: refund.Deadline, Reason: refund.CaseNoStep, Generation: r.Generation, Source: "worker"})
	d, err := c.judge(t, c.propose(t, k, refund.ActionConfirmNotDone), true, "bob")
	if err != nil {
		t.Fatal(err)
	}
	c.notice(t, k, refund.Acknowledged, 1, "")
	_, err = c.judge(t, d, true, "bob")
	wantProblem(t, "after a fact", err, refund.CodeDecisionVoid)
	if s, err := c.Sweep(t.Context(), 100); err != nil || s.Decided != 0 {
		t.Errorf("%+v %v", s, err)
	}
	c.wantState(t, k, refund.StateAccepted)
	c.wantConsistent(t)
}

// C36: a proposal "not done", then a success notice, then the approval: void, SUCCESS stays.
func TestStaleApprovalIsVoid(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Notices = true; c.Waits.Unknown = 1 })
	k := c.refund(t, "rf")
	c.stuck(t, k)
	d := c.propose(t, k, refund.ActionConfirmNotDone)
	c.notice(t, k, refund.Succeeded, 1, "ch_1")
	_, err := c.judge(t, d, true, "bob")
	wantProblem(t, "after a success", err, refund.CodeDecisionVoid)
	r := c.wantState(t, k, refund.StateSuccess)
	if len(r.Effects) != 1 || r.Payment.Refunded != 100 {
		t.Errorf("%+v", r.Effects)
	}
	c.wantConsistent(t)
}

// C26: confirmed "not done", then the money proves to have moved, and moved twice.
func TestMoneyThatMovedAfterADecisionIsRecorded(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Notices = true; c.Waits.Unknown = 1; c.Key.Dedupes = false })
	k, _ := c.pair(t, "pay", 150, 100, 50)
	c.stuck(t, k)
	c.decide(t, k, refund.ActionConfirmNotDone)
	c.notice(t, k, refund.Succeeded, 1, "ch_1")
	r := c.wantState(t, k, refund.StateSuccess)
	c.wantReasons(t, r, refund.CaseSuccessAfterEnd)
	if r.Dispatches[0].Overridden && r.Exposed {
		t.Errorf("numbers %+v", r.Dispatches)
	}
	c.notice(t, k, refund.Succeeded, 1, "ch_2")
	r = c.wantState(t, k, refund.StateSuccess)
	c.wantReasons(t, r, refund.CaseSuccessAfterEnd, refund.CaseMultipleEffects, refund.CaseExcess)
	if p := r.Payment; p.Refunded != 200 || p.Reserved != 50 || p.Excess != 100 || p.ExcessAccepted != 0 {
		t.Errorf("%+v", p)
	}
	c.wantConsistent(t)
	r = c.decide(t, k, refund.ActionAcceptAsIs)
	c.wantReasons(t, r)
	if p := r.Payment; p.Excess != 100 || p.ExcessAccepted != 100 || !r.NextActionAt.IsZero() {
		t.Errorf("%+v", p)
	}
	c.wantConsistent(t)
}

// C27: number 1 refused, number 2 paid, then number 1's late "failed": a no-op.
func TestRetiredNumberReversesNothing(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Notices = true; c.Codes.LateFailure = true })
	k := c.refund(t, "rf")
	c.send(t, k, refund.RefusedNewNumber, "")
	c.send(t, k, refund.Succeeded, "ch_2")
	before := c.wantState(t, k, refund.StateSuccess)
	c.notice(t, k, refund.FailedFinal, 1, "ch_1")
	r := c.wantState(t, k, refund.StateSuccess)
	c.wantReasons(t, r)
	if r.Payment != before.Payment || len(r.Effects) != 1 || r.Effects[0].Status != refund.EffectMoved || !r.NextActionAt.IsZero() {
		t.Errorf("%+v %+v", r.Payment, r.Effects)
	}
	c.wantConsistent(t)
}
