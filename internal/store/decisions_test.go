package store

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

func TestDecideNotDone(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	c.stuck(t, k)
	d := c.propose(t, k, refund.ActionConfirmNotDone)
	_, err := c.judge(t, d, true, "ann")
	wantProblem(t, "her own proposal", err, refund.CodeApproverIsMaker)
	_, err = c.judge(t, d, false, "ann")
	wantProblem(t, "not even rejected by herself", err, refund.CodeApproverIsMaker)
	got, err := c.judge(t, d, true, "bob")
	if err != nil || got.AppliedAt.IsZero() || got.Checker != "bob" {
		t.Fatalf("%+v %v", got, err)
	}
	r := c.wantState(t, k, refund.StateFailed)
	c.wantReasons(t, r)
	if r.Exposed || !r.NextActionAt.IsZero() || !r.Dispatches[0].Overridden || r.Payment.Reserved != 0 {
		t.Errorf("%+v, numbers %+v", r.Refund, r.Dispatches)
	}
	if again, err := c.judge(t, d, true, "bob"); err != nil || again.AppliedAt.IsZero() {
		t.Errorf("the same approval again: %+v %v", again, err)
	}
	_, err = c.judge(t, d, true, "cid")
	wantProblem(t, "judged already", err, refund.CodeDecisionJudged)
	_, err = c.judge(t, d, false, "bob")
	wantProblem(t, "judged already, the other way", err, refund.CodeDecisionJudged)
	if again, created, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: d.CaseID, Action: d.Action, Evidence: d.Evidence,
		Actor: "ann"}); err != nil || created || again.ID != d.ID {
		t.Errorf("the same proposal again: created=%v %+v %v", created, again, err)
	}
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: d.CaseID, Action: refund.ActionWait, Evidence: "ticket 4711", Actor: "ann"})
	wantProblem(t, "another one for a closed case", err, refund.CodeCaseClosed)
	c.wantConsistent(t)
}

func TestDecideSuccessAndRevoke(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Notices = true; c.Waits.Unknown = 1 })
	k := c.refund(t, "rf")
	c.stuck(t, k)
	r := c.decide(t, k, refund.ActionConfirmSuccess)
	if r.State != refund.StateSuccess || len(r.Effects) != 1 || !r.Effects[0].ByPerson || r.Payment.Refunded != 100 || len(r.Facts) != 0 {
		t.Fatalf("%s %+v %+v", r.State, r.Effects, r.Payment)
	}
	c.notice(t, k, refund.FailedFinal, 1, "")
	c.wantReasons(t, c.wantState(t, k, refund.StateSuccess), refund.CaseContradiction)
	r = c.decide(t, k, refund.ActionRevokeConfirmation)
	if r.State != refund.StateReversed || r.Payment.Refunded != 0 || !r.Dispatches[0].Overridden || len(r.Effects) != 1 ||
		r.Effects[0].Status != refund.EffectReversed {
		t.Errorf("%s %+v %+v", r.State, r.Effects, r.Payment)
	}
	c.wantConsistent(t)
}

// A resend retires the dispatch by the decision, creates the next one, and queries before it sends.
func TestDecideResend(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	k := c.refund(t, "rf")
	c.stuck(t, k)
	c.jobs.take()
	r := c.decide(t, k, refund.ActionResend)
	if r.State != refund.StatePending || r.AskNo != 1 || r.DispatchNo != 2 || r.Case != nil || !r.Dispatches[0].Retired || !r.Dispatches[0].Overridden ||
		r.Exposed {
		t.Fatalf("%+v, numbers %+v", r.Refund, r.Dispatches)
	}
	if n := c.count(t, `SELECT count(*) FROM retired_dispatches WHERE decision_id IS NOT NULL AND proof_attempt IS NULL AND no = 1`); n != 1 {
		t.Errorf("%d deaths by decision", n)
	}
	if jobs := c.jobs.take(); len(jobs) != 1 || jobs[0].RefundRef != k {
		t.Errorf("the question is due at once: %v", jobs)
	}
	if _, err := c.Claim(t.Context(), c.claimOf(r, refund.AttemptSend, time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("a send before the ask is answered: %v", err)
	}
	if _, err := c.Cancel(t.Context(), k, "actor:ann"); !errors.Is(err, refund.ErrNotCancelable) {
		t.Errorf("cancel while the ask is open: %v", err)
	}
	step := refund.Decide(r, c.contract, r.Now)
	if step.Kind != refund.StepList || step.Dispatch != 1 {
		t.Fatalf("next step %+v, want a question about number 1", step)
	}
	claim := c.claimOf(r, refund.AttemptList, time.Second)
	claim.Dispatch = 1
	asked, err := c.Claim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	c.enter(t, k, answered(asked, refund.NotFound))
	r = c.wantState(t, k, refund.StatePending)
	if r.AskNo != 0 || refund.Decide(r, c.contract, r.Now).Kind != refund.StepSend {
		t.Errorf("ask %d, next %+v", r.AskNo, refund.Decide(r, c.contract, r.Now))
	}
	c.send(t, k, refund.Succeeded, "re_2")
	c.wantState(t, k, refund.StateSuccess)
	c.wantConsistent(t)
}

func TestDecideWait(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	before := c.stuck(t, k)
	after := c.decide(t, k, refund.ActionWait)
	if after.State != before.State || after.Case == nil || after.JournalSeq != before.JournalSeq {
		t.Errorf("wait changes nothing: %+v", after.Refund)
	}
	after = c.decide(t, k, refund.ActionConfirmNotDone) // and stands in nobody's way
	if after.State != refund.StateFailed {
		t.Errorf("%s", after.State)
	}
	c.wantConsistent(t)
}

// Before the horizon an approval is only an approval: the sweep makes it take effect.
func TestDecisionTakesEffectLater(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Horizon = refund.Duration(400 * time.Millisecond) })
	k := c.refund(t, "rf")
	claimed := c.send(t, k, refund.Unknown, "")
	r := c.load(t, k)
	c.enter(t, k, refund.Fact{Kind: refund.Deadline, Reason: refund.CaseNoStep, Generation: r.Generation, Source: "worker"})
	d, err := c.judge(t, c.propose(t, k, refund.ActionConfirmNotDone), true, "bob")
	if err != nil || !d.AppliedAt.IsZero() || d.Verdict != refund.DecisionApproved {
		t.Fatalf("%+v %v: the send may still act", d, err)
	}
	c.wantState(t, k, refund.StateUnknown)
	if s, err := c.Sweep(t.Context(), 100); err != nil || s.Decided != 0 {
		t.Errorf("%+v %v: too early", s, err)
	}
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: d.CaseID, Action: refund.ActionConfirmSuccess, Evidence: "ticket 4712",
		Actor: "ann"})
	wantProblem(t, "another one while an approved one waits", err, refund.CodeDecisionPending)
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	var mu sync.Mutex
	decided := 0
	var wg sync.WaitGroup
	for range 4 { // replicas at once
		wg.Go(func() {
			s, err := c.Sweep(t.Context(), 100)
			mu.Lock()
			defer mu.Unlock()
			decided += s.Decided
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c.wantState(t, k, refund.StateFailed)
	if decided != 1 {
		t.Errorf("took effect %d times", decided)
	}
	c.wantConsistent(t)
}

func TestProposalsReplaceExpireAndRefuse(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	r := c.stuck(t, k)
	first := c.propose(t, k, refund.ActionConfirmSuccess)
	second, created, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmNotDone,
		Evidence: "ticket 4712", Actor: "ann"})
	if err != nil || !created {
		t.Fatalf("her next one takes the place of the first: %v", err)
	}
	_, err = c.judge(t, first, true, "bob")
	wantProblem(t, "the replaced one", err, refund.CodeDecisionVoid)
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4713", Actor: "cid"})
	wantProblem(t, "somebody else's beside it", err, refund.CodeDecisionPending)
	if d, err := c.judge(t, second, false, "bob"); err != nil || d.Verdict != refund.DecisionRejected {
		t.Errorf("%+v %v", d, err)
	}
	if d, err := c.judge(t, second, false, "bob"); err != nil || d.Verdict != refund.DecisionRejected {
		t.Errorf("rejected again: %+v %v", d, err)
	}
	var no *refund.NotAllowed
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionRevokeConfirmation, Evidence: "ticket 4714",
		Actor: "ann"})
	if !errors.As(err, &no) || no.Why != refund.ObstacleNotByPerson {
		t.Errorf("%v", err)
	}
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4715", Actor: "ann",
		Version: r.JournalSeq - 1})
	wantProblem(t, "made on an older version", err, refund.CodeDecisionVoid)
	if _, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant + 99, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4716",
		Actor: "ann"}); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
	old := pg.NewRID() // its time is over
	if _, err := c.pool.Exec(t.Context(), insertDecisionSQL.SQL, int64(k.Tenant), [16]byte(old), [16]byte(r.Case.ID), "confirm-not-done", r.JournalSeq, nil,
		nil, false, "ticket 4717", 1,
		r.Now, r.Now.Add(time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	_, err = c.judge(t, refund.Decision{ID: old, CaseID: r.Case.ID}, true, "bob")
	wantProblem(t, "after its time", err, refund.CodeDecisionVoid)
	if v := c.text(t, `SELECT verdict FROM decisions WHERE decision_id = $1`, [16]byte(old)); v != "EXPIRED" {
		t.Errorf("verdict %s", v)
	}
	older := pg.NewRID()
	if _, err := c.pool.Exec(t.Context(), insertDecisionSQL.SQL, int64(k.Tenant), [16]byte(older), [16]byte(r.Case.ID), "wait", r.JournalSeq, nil, nil,
		false, "ticket 4718", 1,
		r.Now, r.Now.Add(time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Sweep(t.Context(), 10); err != nil || s.Expired != 1 {
		t.Errorf("%+v %v", s, err)
	}
	c.wantConsistent(t)
}
