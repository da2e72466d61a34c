package store

import (
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// review opens a case as ann.
func (c *testDecisions) review(t *testing.T, k refund.RefundRef) (id refund.RID, opened bool) {
	t.Helper()
	id, opened, err := c.OpenCase(t.Context(), k, "statement of 2 March", "ann")
	if err != nil {
		t.Fatal(err)
	}
	return id, opened
}

// Two people have confirmed a success, and it turns out wrong. A person opens a case on the final refund; then the confirmation is revoked.
func TestACaseMayBeOpenedOnARefundThatPeopleEnded(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	c.stuck(t, k)
	if r := c.decide(t, k, refund.ActionConfirmSuccess); r.State != refund.StateSuccess || r.Case != nil {
		t.Fatalf("%s with case %v", r.State, r.Case)
	}
	id, opened := c.review(t, k)
	again, openedAgain := c.review(t, k)
	if !opened || openedAgain || again != id {
		t.Errorf("opened %t then %t, case %s then %s: want one case", opened, openedAgain, id, again)
	}
	c.wantReasons(t, c.load(t, k), refund.CaseReview)
	if got := c.text(t, `SELECT concat_ws(' ', evidence->'review'->>'text', evidence->'review'->>'actor') FROM cases WHERE closed_at IS NULL`); got != "statement of 2 March ann" {
		t.Errorf("the case has the evidence %q", got)
	}
	if r := c.decide(t, k, refund.ActionRevokeConfirmation); r.State != refund.StateReversed || r.Case != nil || r.Payment.Refunded != 0 {
		t.Errorf("%s, case %v, refunded %d", r.State, r.Case, r.Payment.Refunded)
	}
	c.wantConsistent(t)
}

// Two people have confirmed that nothing was done, and a statement shows the payment.
func TestAPaymentThatAStatementShowsCanBeConfirmedAfterTheEnd(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	c.stuck(t, k)
	if r := c.decide(t, k, refund.ActionConfirmNotDone); r.State != refund.StateFailed {
		t.Fatal(r.State)
	}
	c.review(t, k)
	if r := c.decide(t, k, refund.ActionConfirmSuccess); r.State != refund.StateSuccess || r.Payment.Refunded != r.Amount {
		t.Errorf("%s, refunded %d", r.State, r.Payment.Refunded)
	}
	c.wantConsistent(t)
}

// A doubt that proves wrong is ended by accepting the end as it is, and the refund of an open case is not sent.
func TestAReviewEndsByADecisionAndHoldsTheRefundMeanwhile(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	done, open := c.refund(t, "done"), c.refund(t, "open")
	sent := c.send(t, done, refund.Succeeded, "re_1")
	c.waitUntil(t, sent.NotAfter.Add(c.contract.Horizon.D()))
	c.review(t, done)
	if r := c.decide(t, done, refund.ActionAcceptAsIs); r.State != refund.StateSuccess || r.Case != nil || !r.NextActionAt.IsZero() {
		t.Errorf("%s, case %v, timer %s", r.State, r.Case, r.NextActionAt)
	}
	c.review(t, open)
	if r := c.load(t, open); refund.Decide(r, c.contract, r.Now).Kind == refund.StepSend {
		t.Error("a refund under review is sent")
	}
	c.wantConsistent(t)
}
