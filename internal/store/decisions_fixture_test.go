package store

import (
	"errors"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// testDecisions is a testWorkflow with actors: ann proposes, bob and others approve. Its contract waits for moments where others wait for hours.
type testDecisions struct{ *testWorkflow }

func newDecisions(t *testing.T, change func(*refund.Contract)) *testDecisions {
	t.Helper()
	f := newWorkflow(t)
	f.contract.Horizon = refund.Duration(20 * time.Millisecond)
	f.contract.Query = refund.QueryTerms{}
	if change != nil {
		change(&f.contract)
	}
	f.cfg.Accounts = anyAccount{f.contract}
	text, err := f.contract.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.pool.Exec(t.Context(), `WITH a AS (INSERT INTO accounts (account, adapter) VALUES ('demo', 'plain') ON CONFLICT DO NOTHING)
		INSERT INTO contracts (account, version, contract, digest) VALUES ('demo', $1, $2::text::json, sha256(convert_to($2, 'UTF8')))`, f.contract.Version, string(text)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob", "cid", "dan", "eve", "fay", "gil", "hal"} {
		if _, err := f.pool.Exec(t.Context(), sqlAddActor, int64(f.tenant.ID), name, "person"); err != nil {
			t.Fatal(err)
		}
	}
	return &testDecisions{f}
}

func listing(c *refund.Contract) {
	c.List = refund.QueryTerms{Exists: true, Readings: 1}
	c.Codes.LateFailure = true
}

// pair accepts two refunds on one payment.
func (c *testDecisions) pair(t *testing.T, payment string, captured, first, second int64) (a, b refund.RefundRef) {
	t.Helper()
	out := c.accept(t, c.request("e_"+payment+"_1", payment+"_1", payment, first, inlinePayment(captured)),
		c.request("e_"+payment+"_2", payment+"_2", payment, second, inlinePayment(captured)))
	wantVerdicts(t, out, intake.Taken, intake.Taken)
	c.jobs.take()
	return out[0].Refund.RefundRef, out[1].Refund.RefundRef
}

// send claims a send and gives it an answer; "" leaves it open.
func (c *testDecisions) send(t *testing.T, k refund.RefundRef, answer refund.FactKind, id string) refund.Claimed {
	t.Helper()
	claimed := c.claim(t, k, refund.AttemptSend, 50*time.Millisecond)
	if answer != "" {
		c.enter(t, k, refund.FactOf(claimed.Attempt, refund.Answer{Kind: answer, ChannelRefundID: id, Rule: "test"}))
	}
	return claimed
}

// stuck brings a refund to UNKNOWN under a case, its send past everything it can do.
func (c *testDecisions) stuck(t *testing.T, k refund.RefundRef) refund.Record {
	t.Helper()
	claimed := c.send(t, k, refund.Unknown, "")
	r := c.load(t, k)
	c.enter(t, k, refund.Fact{Kind: refund.Deadline, Reason: refund.Decide(r, c.contract, r.Now).Reason, Generation: r.Generation, Source: "worker",
		Actor: "system:worker"})
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	return c.load(t, k)
}

func (c *testDecisions) notice(t *testing.T, k refund.RefundRef, kind refund.FactKind, dispatch int, id string) refund.Change {
	t.Helper()
	return c.enter(t, k, refund.Fact{Kind: kind, Dispatch: dispatch, ChannelRefundID: id, Source: "notice", Actor: "system:notices"})
}

func (c *testDecisions) propose(t *testing.T, k refund.RefundRef, a refund.Action) refund.Decision {
	t.Helper()
	r := c.load(t, k)
	if r.Case == nil {
		t.Fatalf("no case is open on %s", r.State)
	}
	d, created, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: a, Evidence: "ticket 4711", Actor: "ann"})
	if err != nil || !created {
		t.Fatalf("propose %s in %s: created=%v %v", a, r.State, created, err)
	}
	return d
}

func (c *testDecisions) judge(t *testing.T, d refund.Decision, approve bool, actor string) (refund.Decision, error) {
	t.Helper()
	return c.Judge(t.Context(), refund.Approval{Tenant: c.tenant.ID, CaseID: d.CaseID, DecisionID: d.ID, Approve: approve, Actor: actor})
}

// decide proposes and approves, and expects that it takes effect at once.
func (c *testDecisions) decide(t *testing.T, k refund.RefundRef, a refund.Action) refund.Record {
	t.Helper()
	d, err := c.judge(t, c.propose(t, k, a), true, "bob")
	if err != nil || d.AppliedAt.IsZero() {
		t.Fatalf("%s: %+v %v", a, d, err)
	}
	return c.load(t, k)
}

func wantProblem(t *testing.T, what string, err error, code refund.Code) {
	t.Helper()
	var p *refund.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func (c *testDecisions) wantReasons(t *testing.T, r refund.Record, want ...refund.CaseReason) {
	t.Helper()
	var got []refund.CaseReason
	if r.Case != nil {
		got = r.Case.Reasons
	}
	if len(got) != len(want) {
		t.Errorf("%s: case %v, want %v", r.State, got, want)
		return
	}
	for _, w := range want {
		if !r.Case.Has(w) {
			t.Errorf("%s: case %v, want %v", r.State, got, want)
		}
	}
}

// wantConsistent is wantSound, all promises, and what people and lines add to them.
func (c *testDecisions) wantConsistent(t *testing.T) {
	t.Helper()
	c.wantSound(t)
	wantBroken(t, c.verify(t), "", "")
	for name, sql := range map[string]string{
		"held is what is held": `SELECT count(*) FROM payments p WHERE p.held <>
			(SELECT coalesce(sum(e.counted), 0) FROM effects e WHERE (e.tenant_id, e.payment_id) = (p.tenant_id, p.payment_id) AND e.status = 'HELD'
			AND e.covered_by IS NULL)
			+ (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE (r.tenant_id, r.payment_id) = (p.tenant_id, p.payment_id) AND r.final_at IS NOT NULL AND r.exposed)`,
		"excess has a case": `SELECT count(*) FROM payments p WHERE p.excess > p.excess_accepted AND NOT EXISTS
			(SELECT FROM cases c WHERE c.tenant_id = p.tenant_id AND c.payment_id = p.payment_id AND c.closed_at IS NULL)`,
		"every line's history ends in its status": `SELECT count(*) FROM effects e WHERE e.rid IS NULL AND e.status IS DISTINCT FROM
			(SELECT v.to_status FROM effect_events v WHERE (v.tenant_id, v.effect_id) = (e.tenant_id, e.effect_id) ORDER BY v.n DESC LIMIT 1)`,
		"an applied decision was approved by another": `SELECT count(*) FROM decisions WHERE applied_at IS NOT NULL AND (verdict IS DISTINCT FROM 'APPROVED' OR checker = maker)`,
		"a decree has its decision":                   `SELECT count(*) FROM dispatches d WHERE d.overridden_by IS NOT NULL AND NOT EXISTS (SELECT FROM decisions x WHERE x.decision_id = d.overridden_by AND x.applied_at IS NOT NULL)`,
		"an applied decision is in the journal": `SELECT count(*) FROM decisions x JOIN cases c USING (tenant_id, case_id) WHERE x.applied_at IS NOT NULL AND x.action <> 'wait' AND c.rid IS NOT NULL
			AND 1 <> (SELECT count(*) FROM journal j WHERE (j.tenant_id, j.rid) = (c.tenant_id, c.rid) AND j.source = 'decision' AND j.data LIKE '%' || x.decision_id::text || '%')`,
		"a closed case waits for nobody": `SELECT count(*) FROM decisions x JOIN cases c USING (tenant_id, case_id) WHERE c.closed_at IS NOT NULL
			AND (x.verdict IS NULL OR (x.verdict = 'APPROVED' AND x.applied_at IS NULL))`,
	} {
		if n := c.count(t, sql); n != 0 {
			t.Errorf("%s: %d violations", name, n)
		}
	}
}
