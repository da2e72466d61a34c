package store

import (
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// More was refunded outside than was captured: the payment gets a case of its own, which a person accepts.
func TestExcessOfAPayment(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	_, open := c.pair(t, "pay", 150, 50, 60)
	c.lines(t, "pay", true, foreign("re_out", 120))
	rows, err := c.reader().ListCases(t.Context(), c.tenant.ID, refund.CaseFilter{Limit: 10})
	if err != nil || len(rows) != 1 || !rows[0].RID.IsZero() || rows[0].PaymentID != "pay" || rows[0].Amount != 80 {
		t.Fatalf("%+v %v", rows, err)
	}
	c.lines(t, "pay", true, foreign("re_out", 120))
	c.wantConsistent(t)
	propose := func(a refund.Action) (refund.Decision, error) {
		d, _, err := c.Propose(t.Context(), refund.Proposal{Tenant: c.tenant.ID, CaseID: rows[0].ID, Action: a, Evidence: "ticket 4711", Actor: "ann"})
		return d, err
	}
	if _, err := propose(refund.ActionConfirmNotDone); err == nil {
		t.Error("a payment's case is no refund's")
	}
	d, err := propose(refund.ActionAcceptAsIs)
	if err != nil || d.Excess != 80 {
		t.Fatalf("%+v %v", d, err)
	}
	if _, err := c.Cancel(t.Context(), open, "actor:ann"); err != nil { // the excess is another one now
		t.Fatal(err)
	}
	_, err = c.judge(t, d, true, "bob")
	wantProblem(t, "made on another excess", err, refund.CodeDecisionVoid)
	if d, err = propose(refund.ActionAcceptAsIs); err != nil || d.Excess != 20 {
		t.Fatalf("%+v %v", d, err)
	}
	if d, err = c.judge(t, d, true, "bob"); err != nil || d.AppliedAt.IsZero() {
		t.Fatalf("%+v %v", d, err)
	}
	v, err := c.reader().FindPayment(t.Context(), c.tenant.ID, "pay")
	if err != nil || v.Payment.Excess != 20 || v.Payment.ExcessAccepted != 20 {
		t.Errorf("%+v %v", v.Payment, err)
	}
	if n := c.count(t, `SELECT count(*) FROM cases WHERE closed_at IS NULL`); n != 0 {
		t.Errorf("%d cases are open", n)
	}
	c.lines(t, "pay", true, foreign("re_more", 5))
	if n := c.count(t, `SELECT count(*) FROM cases WHERE closed_at IS NULL AND rid IS NULL`); n != 1 {
		t.Errorf("%d cases for more excess than was accepted", n)
	}
	c.lines(t, "pay", true, refund.ListedEffect{ChannelRefundID: "re_more", Status: refund.Reversed, Amount: 5, Currency: "USD"})
	if n := c.count(t, `SELECT count(*) FROM cases WHERE closed_at IS NULL`); n != 0 {
		t.Errorf("%d cases although the excess went back", n)
	}
	c.wantConsistent(t)

	c.lines(t, "pay", true, foreign("re_again", 9))
	if d, err = proposeToAccept(t, c); err != nil {
		t.Fatal(err)
	}
	spec := *inlinePayment(200) // more was captured than we knew
	spec.Version = 1
	if _, _, err := c.PutPayment(t.Context(), c.tenant, "pay", spec, "actor:ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sweep(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if v := c.text(t, `SELECT d.verdict || ' ' || c.closed_how FROM decisions d JOIN cases c USING (tenant_id, case_id) WHERE d.decision_id = $1`,
		[16]byte(d.ID)); v != "VOID fact:captured" {
		t.Errorf("%s, want the case closed by the capture", v)
	}
	c.wantConsistent(t)
}

// proposeToAccept proposes to accept the excess of the one payment that has an open case.
func proposeToAccept(t *testing.T, c *testDecisions) (refund.Decision, error) {
	t.Helper()
	rows, err := c.reader().ListCases(t.Context(), c.tenant.ID, refund.CaseFilter{Limit: 10})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v %v", rows, err)
	}
	d, _, err := c.Propose(t.Context(), refund.Proposal{Tenant: c.tenant.ID, CaseID: rows[0].ID, Action: refund.ActionAcceptAsIs, Evidence: "ticket 4711",
		Actor: "ann"})
	return d, err
}

// A line voids what was proposed before anybody knew of it.
func TestLineVoidsProposals(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	c.stuck(t, k)
	d := c.propose(t, k, refund.ActionConfirmNotDone)
	c.lines(t, "pay", true, foreign("re_1", 77))
	_, err := c.judge(t, d, true, "bob")
	wantProblem(t, "a line came", err, refund.CodeDecisionVoid)
	c.wantConsistent(t)
}
