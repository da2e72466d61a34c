package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

// The fixture of the verify tests has refunds of every kind, made by the code that makes them in production. Each is named by its end:
// success, unknown, failed, processing, pending, reversed, accepted, late, renumbered; decided and doubled, whose late and second effects
// two people have accepted; first and second share a payment; pay_cap is known by captures.

// verifyContracts are stored for account demo: version 1 dedupes and has a query, 2 has only a query, 3 has neither.
func verifyContracts() []refund.Contract {
	asked := testContract()
	asked.Version, asked.Key.Dedupes = 2, false
	blind := testContract()
	blind.Version, blind.Key.Dedupes, blind.Query = 3, false, refund.QueryTerms{}
	return []refund.Contract{testContract(), asked, blind}
}

// newVerifyFixture returns the fixture in a database of its own.
func newVerifyFixture(t *testing.T) *testWorkflow {
	t.Helper()
	return openWorkflow(t, dbtest.Template(t, "verify-world", func(url string) (err error) {
		if err := migrateTemplate(url); err != nil {
			return err
		}
		f := openWorkflow(t, url)
		defer f.Close()
		return f.fillVerifyFixture(t)
	}))
}

// openWorkflow opens a testWorkflow on a migrated database; a second Close does nothing.
func openWorkflow(t *testing.T, url string) *testWorkflow {
	t.Helper()
	jobs := &jobLog{}
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{testContract()}, Enqueuer: jobs, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	f := &testWorkflow{testStore: &testStore{Store: s, url: url}, jobs: jobs, contract: testContract()}
	var id int64
	if err := s.pool.QueryRow(t.Context(), `SELECT tenant_id FROM tenants WHERE code = 'demo'`).Scan(&id); err == nil {
		f.tenant = refund.Tenant{ID: refund.TenantID(id), Code: "demo"}
	}
	return f
}

func (f *testWorkflow) fillVerifyFixture(t *testing.T) error {
	f.tenant = f.addTenant(t, "demo")
	if _, err := f.pool.Exec(t.Context(), `INSERT INTO accounts (account, adapter) VALUES ('demo', 'plain')`); err != nil {
		return err
	}
	for _, c := range verifyContracts() {
		text, err := c.Encode()
		if err != nil {
			return err
		}
		if _, err := f.pool.Exec(t.Context(), `INSERT INTO contracts (account, version, contract, digest) VALUES ('demo', $1, $2::text::json, sha256(convert_to($2, 'UTF8')))`,
			c.Version, string(text)); err != nil {
			return err
		}
	}
	send := func(id string, kind refund.FactKind) (refund.RefundRef, refund.Claimed) {
		k := f.refund(t, id)
		c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
		if kind == refund.Succeeded {
			f.enter(t, k, succeeded(c, "ch_"+id))
		} else if kind != "" {
			f.enter(t, k, answered(c, kind))
		}
		return k, c
	}
	notice := func(k refund.RefundRef, kind refund.FactKind, id string) {
		f.enter(t, k, refund.Fact{Kind: kind, ChannelRefundID: id, Amount: 100, Currency: "USD", Source: "notice", Actor: "system:notices"})
	}
	send("success", refund.Succeeded)
	send("unknown", refund.Unknown)
	send("failed", refund.RefusedClean)
	send("processing", "")
	f.refund(t, "pending")
	k, _ := send("reversed", refund.Succeeded)
	notice(k, refund.Reversed, "ch_reversed")
	send("accepted", refund.Acknowledged)
	k, _ = send("late", refund.RefusedClean)
	notice(k, refund.Succeeded, "ch_late")
	send("renumbered", refund.RefusedNewNumber)
	f.makeJudged(t)
	capture := intake.Intake{Tenant: f.tenant, Event: intake.EventID{Consumer: "events", Source: "s", ID: "cap"}, Type: intake.TypePaymentCaptured,
		RID: pg.NewRID(), Actor: "actor:test",
		Capture: &intake.Capture{PaymentID: "pay_cap", CaptureID: "cap_1", OrderID: "ord_1", Amount: 500, Currency: "USD", Account: "demo"}}
	for i, o := range f.accept(t, f.request("first", "first", "pay_two", 100, inlinePayment(1000)), f.request("second", "second", "pay_two", 50, nil), capture) {
		if o.Verdict != intake.Taken {
			return errors.New("world: item " + string(rune('0'+i)) + ": " + string(o.Verdict) + " " + string(o.Code))
		}
	}
	return nil
}

// makeJudged makes refunds with decisions: money that moved late, and money that moved twice.
func (f *testWorkflow) makeJudged(t *testing.T) {
	c := &testDecisions{f}
	for _, name := range []string{"ann", "bob", "cid"} {
		if _, err := f.pool.Exec(t.Context(), sqlAddActor, int64(f.tenant.ID), name, "person"); err != nil {
			t.Fatal(err)
		}
	}
	decided, doubled := f.refund(t, "decided"), f.refund(t, "doubled")
	c.send(t, decided, refund.RefusedClean, "")
	c.notice(t, decided, refund.Succeeded, 1, "ch_decided")
	c.send(t, doubled, refund.Succeeded, "ch_doubled")
	last := c.notice(t, doubled, refund.Succeeded, 1, "ch_doubled_again").After
	f.waitUntil(t, last.TakesEffectFrom(f.contract))
	c.decide(t, decided, refund.ActionAcceptAsIs)
	c.decide(t, doubled, refund.ActionAcceptAsIs)
}

// verify runs all checks. Timers of the fixture are as old as its template, so they may be late.
func (f *testWorkflow) verify(t *testing.T, change ...func(*verify.Config)) verify.Report {
	t.Helper()
	cfg := verify.Config{URL: f.url, Overdue: 100 * time.Hour, Samples: 30, Page: 4}
	for _, c := range change {
		c(&cfg)
	}
	v, err := verify.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	r, err := v.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantFound checks that this check found a violation of the promise. Other promises may be broken by the same damage.
func wantFound(t *testing.T, r verify.Report, promise, check string) {
	t.Helper()
	if !slices.Contains(foundBy(r), promise+" "+check) || r.OK {
		t.Errorf("%s %s did not find it: %v", promise, check, foundBy(r))
	}
}

// foundBy lists the checks that found violations, as "P7 journal-gap".
func foundBy(r verify.Report) []string {
	var out []string
	for _, p := range r.Promises {
		for _, s := range p.Samples {
			if name := p.ID + " " + s.Check; !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// wantBroken checks that this promise alone is broken, and by this check among others; "" = none is broken.
func wantBroken(t *testing.T, r verify.Report, promise, check string) {
	t.Helper()
	found := false
	for _, p := range r.Promises {
		if (p.Violations > 0) != (p.ID == promise) {
			t.Errorf("%s has %d violations: %+v", p.ID, p.Violations, p.Samples)
		}
		for _, s := range p.Samples {
			found = found || (p.ID == promise && s.Check == check)
		}
	}
	if promise != "" && !found {
		t.Errorf("check %s did not find it", check)
	}
	if r.OK != (promise == "") {
		t.Errorf("ok is %t", r.OK)
	}
}
