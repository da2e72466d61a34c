package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// bypassed runs the store's own code past a guard: it takes the guard's condition away before and gives it back afterwards.
func (f *damageFixture) bypassed(t *testing.T, before string, do func(), after string) {
	t.Helper()
	f.plant(t, before)
	do()
	f.plant(t, after)
}

// claimed claims a call of a refund as a worker would.
func (f *damageFixture) claimed(t *testing.T, id string, kind refund.AttemptKind) {
	t.Helper()
	f.claim(t, f.find(t, id).RefundRef, kind, 10*time.Second)
}

func (f *damageFixture) find(t *testing.T, id string) refund.Refund {
	t.Helper()
	r, err := f.reader().FindRefund(t.Context(), f.tenant.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bypasses are claims past a guard of the store, by the check of promise P10 that sees each.
var bypasses = []struct {
	name, check   string
	before, after string
	do            func(*testing.T, *damageFixture)
}{
	{"a resend without its question", "send-before-answer", `UPDATE refunds SET ask_no = NULL` + ofRefund("asking_0"), ``,
		func(t *testing.T, f *damageFixture) { f.claimed(t, "asking_0", refund.AttemptSend) }},
	{"a send under a case that stops sends", "send-under-case", `UPDATE refunds SET case_id = NULL` + ofRefund("held_0"),
		`UPDATE refunds r SET case_id = (SELECT case_id FROM cases c WHERE c.rid = r.rid AND c.closed_at IS NULL)` + ofRefund("held_0"),
		func(t *testing.T, f *damageFixture) { f.claimed(t, "held_0", refund.AttemptSend) }},
	{"a retired number sent", "send-of-retired-number", `UPDATE refunds SET dispatch_no = 1` + ofRefund("renumbered_0"),
		`UPDATE refunds SET dispatch_no = 2` + ofRefund("renumbered_0"),
		func(t *testing.T, f *damageFixture) { f.claimed(t, "renumbered_0", refund.AttemptSend) }},
	{"a second owner inside the lease of the first", "claim-within-lease", ``, ``, func(t *testing.T, f *damageFixture) {
		f.claimed(t, "unknown_0", refund.AttemptQuery)
		f.plant(t, `UPDATE refunds SET lease_ends_at = now() - interval '1 s'`+ofRefund("unknown_0"))
		f.claimed(t, "unknown_0", refund.AttemptQuery)
	}},
}

func ofRefund(id string) string {
	return ` WHERE rid = (SELECT rid FROM refunds WHERE refund_id = '` + id + `')`
}

// Rows that the store's own code has written past its guards are seen by verify.
func TestVerifySeesGuardsThatWereBypassed(t *testing.T) {
	t.Parallel()
	f := newDamageFixture(t)
	wantBroken(t, f.verify(t), "", "")
	for _, b := range bypasses {
		f.bypassed(t, b.before, func() { b.do(t, f) }, b.after)
		t.Logf("%s: %v", b.name, foundBy(f.verify(t)))
		wantFound(t, f.verify(t), "P10", b.check)
	}
}

// The decision is applied by a process whose contract has a shorter horizon than every stored one.
func TestVerifySeesADecisionBeforeTheHorizon(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Horizon = refund.Duration(time.Hour) })
	c.contract.Horizon = refund.Duration(20 * time.Millisecond)
	c.cfg.Accounts = anyAccount{c.contract}
	k := c.refund(t, "early")
	c.stuck(t, k)
	c.decide(t, k, refund.ActionConfirmNotDone)
	wantFound(t, c.verify(t), "P8", "decision-too-early")
}
