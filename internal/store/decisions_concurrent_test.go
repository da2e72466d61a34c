package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// A hundred approvals at once are one.
func TestConcurrentApprovalsAreOne(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	c.stuck(t, k)
	d := c.propose(t, k, refund.ActionConfirmNotDone)
	checkers := []string{"bob", "cid", "dan", "eve", "fay", "gil", "hal"}
	var mu sync.Mutex
	approved := map[string]int{}
	others := 0
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			who := checkers[i%len(checkers)]
			var err error
			for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
				if _, err = c.Judge(t.Context(), refund.Approval{Tenant: c.tenant.ID, CaseID: d.CaseID, DecisionID: d.ID, Approve: true, Actor: who}); !errors.Is(err,
					refund.ErrBusy) {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			var p *refund.Problem
			switch {
			case err == nil:
				approved[who]++
			case errors.As(err, &p) && p.Code == refund.CodeDecisionJudged:
				others++
			default:
				t.Errorf("%s: %v", who, err)
			}
		})
	}
	wg.Wait()
	if len(approved) != 1 || others == 0 {
		t.Errorf("approved by %v, %d others got the answer", approved, others)
	}
	c.wantState(t, k, refund.StateFailed)
	if n := c.count(t, `SELECT count(*) FROM journal WHERE source = 'decision'`); n != 1 {
		t.Errorf("%d journal rows of one decision", n)
	}
	c.wantConsistent(t)
}

// A hundred proposals at once leave one that waits.
func TestConcurrentProposalsLeaveOne(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	r := c.stuck(t, k)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			p := refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmNotDone, Evidence: "ticket 4711", Actor: []string{"ann", "bob"}[i%2]}
			_, _, err := c.Propose(t.Context(), p)
			var no *refund.Problem
			if err != nil && !errors.Is(err, refund.ErrBusy) && (!errors.As(err, &no) || no.Code != refund.CodeDecisionPending) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := c.count(t, `SELECT count(*) FROM decisions`); n != 1 {
		t.Errorf("%d proposals, want one", n)
	}
	c.wantConsistent(t)
}

// The COMMIT of a proposal and of an approval is lost, before and after it took effect: the call returns the stored result.
func TestDecisionsSurviveLostCommits(t *testing.T) {
	t.Parallel()
	for _, when := range []cut{cutBefore, cutAfter} {
		t.Run(fmt.Sprint(when), func(t *testing.T) {
			t.Parallel()
			c := newDecisions(t, nil)
			k := c.refund(t, "rf")
			r := c.stuck(t, k)
			behind, cutter := c.behindACutter(t)
			behind.cfg.Accounts = anyAccount{c.contract}
			cutter.arm(when)
			d, _, err := behind.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmNotDone,
				Evidence: "ticket 4711", Actor: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			cutter.arm(when)
			got, err := behind.Judge(t.Context(), refund.Approval{Tenant: k.Tenant, CaseID: d.CaseID, DecisionID: d.ID, Approve: true, Actor: "bob"})
			if err != nil || got.AppliedAt.IsZero() || cutter.cuts() != 2 {
				t.Fatalf("%+v %v after %d cuts", got, err, cutter.cuts())
			}
			c.wantState(t, k, refund.StateFailed)
			if n := c.count(t, `SELECT count(*) FROM decisions`); n != 1 {
				t.Errorf("%d decisions", n)
			}
			c.wantConsistent(t)
		})
	}
}

// A verdict locks its decision, then its case. While one is under way, the sweep skips both rows: it neither waits for the verdict nor keeps a
// row that the verdict needs.
func TestTheSweepDoesNotWaitForAVerdict(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	c.stuck(t, k)
	d := c.propose(t, k, refund.ActionConfirmNotDone)
	if _, err := c.pool.Exec(t.Context(), `INSERT INTO cases (tenant_id, case_id, payment_id, reasons, evidence) VALUES ($1, gen_random_uuid(), 'pay_rf_0',
		'{excess}', '{}')`, int64(c.tenant.ID)); err != nil { // the sweep ends it: there is no excess
		t.Fatal(err)
	}
	c.plant(t, `UPDATE decisions SET made_at = made_at - interval '2 d', expires_at = expires_at - interval '2 d'`) // the sweep ends it, too
	verdict, err := c.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = verdict.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := verdict.Exec(t.Context(), `SELECT FROM decisions WHERE decision_id = $1 FOR UPDATE`, [16]byte(d.ID)); err != nil {
		t.Fatal(err)
	}
	swept, err := c.Sweep(t.Context(), 10)
	if err != nil || swept.Expired != 0 {
		t.Errorf("%+v %v, want a pass that leaves the locked decision alone", swept, err)
	}
	if n := c.count(t, `SELECT count(*) FROM cases WHERE rid IS NULL AND closed_at IS NULL`); n != 0 {
		t.Error("the pass has not ended what nobody holds")
	}
	if _, err := verdict.Exec(t.Context(), `SELECT FROM cases FOR UPDATE NOWAIT`); err != nil {
		t.Errorf("the verdict cannot lock the cases: %v", err)
	}
	if err := verdict.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if swept, err := c.Sweep(t.Context(), 10); err != nil || swept.Expired != 1 {
		t.Errorf("%+v %v, want the next pass to end the proposal", swept, err)
	}
}
