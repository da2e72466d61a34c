package store

import (
	"errors"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// accounts says for each account whether the tenants may use it. An absent one is not configured in this process.
type accounts map[string]bool

func (a accounts) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	allowed, known := a[name]
	return testContract(), known, allowed
}

// During a rolling deployment, a process may not know an account that another one has. It decides nothing and binds nothing.
func TestAnAccountThatThisProcessDoesNotKnowIsNoRefusal(t *testing.T) {
	b := newTestStore(t)
	wantVerdicts(t, b.accept(t, b.request("e1", "rf_1", "pay_1", 10, inlinePayment(100))), intake.Taken)
	b.cfg.Accounts = accounts{}
	for name, in := range map[string]intake.Intake{
		"a refund of a known payment":    b.request("e2", "rf_2", "pay_1", 10, nil),
		"a refund with its payment":      b.request("e3", "rf_3", "pay_3", 10, inlinePayment(100)),
		"a capture of an unknown one":    b.captured("e4", "pay_4", "cap_1", 100),
		"an event of a known payment":    b.event("e5", "rf_5", "pay_1", 10, nil),
		"an event that brings its own":   b.event("e6", "rf_6", "pay_6", 10, inlinePayment(100)),
		"a refused event, tried by hand": func() intake.Intake { in := b.event("e7", "rf_7", "pay_1", 10, nil); in.Redrive = true; return in }(),
	} {
		if out := b.accept(t, in)[0]; out.Verdict != intake.Busy || out.Code != refund.CodeAccountNotConfigured {
			t.Errorf("%s: %s %s, want BUSY account-not-configured", name, out.Verdict, out.Code)
		}
	}
	_, _, err := b.PutPayment(t.Context(), b.tenant, "pay_8", *inlinePayment(100), "actor:test")
	var p *refund.Problem
	if !errors.As(err, &p) || p.Code != refund.CodeAccountNotConfigured {
		t.Errorf("PUT: %v, want account-not-configured", err)
	}
	if n := b.count(t, `SELECT count(*) FROM receipts WHERE event_id <> 'e1'`) + b.count(t, `SELECT count(*) FROM parked`); n != 0 {
		t.Errorf("%d rows bind what was not decided", n)
	}
	b.cfg.Accounts = accounts{"demo": true}
	wantVerdicts(t, b.accept(t, b.request("e2", "rf_2", "pay_1", 10, nil)), intake.Taken)
	b.wantNoViolations(t)
}

// A known account that the tenant may not use is a refusal, as before.
func TestAnAccountOfOtherTenantsIsARefusal(t *testing.T) {
	b := newTestStore(t)
	b.cfg.Accounts = accounts{"demo": false}
	out := b.accept(t, b.request("e1", "rf_1", "pay_1", 10, inlinePayment(100)))
	wantVerdicts(t, out, intake.Refused)
	if out[0].Code != refund.CodeAccountNotAllowed || b.count(t, `SELECT count(*) FROM receipts`) != 1 {
		t.Errorf("%s, want account-not-allowed with a receipt", out[0].Code)
	}
}
