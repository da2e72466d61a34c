package store

import (
	"errors"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// sharedAccount is an account of several tenants, each with a prefix of its own.
type sharedAccount map[refund.TenantID]string

func (a sharedAccount) Account(_ string, t refund.TenantID) (refund.Contract, bool, bool) {
	return SyncedAccount{Contract: testContract(), Prefixes: a}.ContractOf(t), true, true
}

// C29: a reference of another tenant is refused, and the answer does not tell whether it is known.
func TestAReferenceOutsideTheTenantsPrefixIsRefusedWhoeverHasIt(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	rival := b.addTenant(t, "rival")
	b.cfg.Accounts = sharedAccount{b.tenant.ID: "demo:", rival.ID: "rv-"}
	// The default reference, the tenant's code and the payment id, has the prefix.
	wantVerdicts(t, b.accept(t, b.request("e1", "rf_1", "pay_1", 60, inlinePayment(100))), intake.Taken)

	for _, reference := range []string{"demo:pay_1", "demo:pay_nobody_has", "other", "rv", "RV-1"} {
		inline := *inlinePayment(100)
		inline.Reference = reference
		asRefund := b.request("e-"+reference, "rf-"+reference, "pay-"+reference, 1, &inline)
		asCapture := b.captured("c-"+reference, "pay-"+reference, "cap", 100)
		asCapture.Capture.Reference = reference
		asRefund.Tenant, asCapture.Tenant = rival, rival
		out := b.accept(t, asRefund, asCapture)
		wantVerdicts(t, out, intake.Refused, intake.Refused)
		_, _, err := b.PutPayment(t.Context(), rival, "pay-"+reference, inline, "actor:test")
		var problem *refund.Problem
		if out[0].Code != refund.CodeReferenceOutside || out[1].Code != refund.CodeReferenceOutside ||
			!errors.As(err, &problem) || problem.Code != refund.CodeReferenceOutside {
			t.Errorf("%s: %s, %s, %v, want %s for all", reference, out[0].Code, out[1].Code, err, refund.CodeReferenceOutside)
		}
	}
	inline := *inlinePayment(100)
	inline.Reference = "rv-1"
	own := b.request("e2", "rf_2", "pay_1", 60, &inline)
	own.Tenant = rival
	wantVerdicts(t, b.accept(t, own), intake.Taken)
	if n := b.count(t, `SELECT count(*) FROM payments`); n != 2 {
		t.Errorf("%d payments, want the one of each tenant", n)
	}
}

func TestSyncedAccountsHaveAPrefixForEachTenant(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	rival := b.addTenant(t, "rival")
	synced, err := b.SyncAccounts(t.Context(), []AccountConfig{{Name: "demo", Adapter: "plain", Tenants: []string{"demo", "rival"}, Contract: testContract(),
		Prefixes: map[string]string{"demo": "demo:", "rival": "rv-"}}})
	if err != nil {
		t.Fatal(err)
	}
	a := synced["demo"]
	if got := a.ContractOf(b.tenant.ID).ReferencePrefix + " " + a.ContractOf(rival.ID).ReferencePrefix; got != "demo: rv-" || a.Contract.ReferencePrefix != "" {
		t.Errorf("prefixes %q, and %q in the stored contract", got, a.Contract.ReferencePrefix)
	}
}
