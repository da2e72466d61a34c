package store

import (
	"errors"
	"fmt"
	"strings"
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
	if again, created, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: d.CaseID, Action: d.Action, Evidence: d.Evidence, Actor: "ann"}); err != nil || created || again.ID != d.ID {
		t.Errorf("the same proposal again: created=%v %+v %v", created, again, err)
	}
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: d.CaseID, Action: refund.ActionWait, Evidence: "ticket 4711", Actor: "ann"})
	wantProblem(t, "another one for a closed case", err, refund.CodeCaseClosed)
	c.wantConsistent(t)
}

func TestDecideSuccessAndTakeBack(t *testing.T) {
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
	if r.State != refund.StateReversed || r.Payment.Refunded != 0 || !r.Dispatches[0].Overridden || len(r.Effects) != 1 || r.Effects[0].Status != refund.EffectReversed {
		t.Errorf("%s %+v %+v", r.State, r.Effects, r.Payment)
	}
	c.wantConsistent(t)
}

// A resend creates the next number with a death that names the decision, and asks before it sends.
func TestDecideResend(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	k := c.refund(t, "rf")
	c.stuck(t, k)
	c.jobs.take()
	r := c.decide(t, k, refund.ActionResend)
	if r.State != refund.StatePending || r.AskNo != 1 || r.DispatchNo != 2 || r.Case != nil || !r.Dispatches[0].Retired || !r.Dispatches[0].Overridden || r.Exposed {
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
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: d.CaseID, Action: refund.ActionConfirmSuccess, Evidence: "ticket 4712", Actor: "ann"})
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
				if _, err = c.Judge(t.Context(), refund.Approval{Tenant: c.tenant.ID, CaseID: d.CaseID, DecisionID: d.ID, Approve: true, Actor: who}); !errors.Is(err, refund.ErrBusy) {
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
		t.Errorf("approved by %v, told %d others", approved, others)
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

func TestProposalsReplaceExpireAndRefuse(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	k := c.refund(t, "rf")
	r := c.stuck(t, k)
	first := c.propose(t, k, refund.ActionConfirmSuccess)
	second, created, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmNotDone, Evidence: "ticket 4712", Actor: "ann"})
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
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionRevokeConfirmation, Evidence: "ticket 4714", Actor: "ann"})
	if !errors.As(err, &no) || no.Why != refund.ObstacleNotByPerson {
		t.Errorf("%v", err)
	}
	_, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4715", Actor: "ann", Version: r.JournalSeq - 1})
	wantProblem(t, "made on an older version", err, refund.CodeDecisionVoid)
	if _, _, err = c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant + 99, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4716", Actor: "ann"}); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
	old := pg.NewRID() // a day ago
	if _, err := c.pool.Exec(t.Context(), insertDecisionSQL.SQL, int64(k.Tenant), [16]byte(old), [16]byte(r.Case.ID), "confirm-not-done", r.JournalSeq, nil, nil, "ticket 4717", 1,
		r.Now.Add(-25*time.Hour), r.Now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err = c.judge(t, refund.Decision{ID: old, CaseID: r.Case.ID}, true, "bob")
	wantProblem(t, "after a day", err, refund.CodeDecisionVoid)
	if v := c.text(t, `SELECT verdict FROM decisions WHERE decision_id = $1`, [16]byte(old)); v != "EXPIRED" {
		t.Errorf("verdict %s", v)
	}
	older := pg.NewRID()
	if _, err := c.pool.Exec(t.Context(), insertDecisionSQL.SQL, int64(k.Tenant), [16]byte(older), [16]byte(r.Case.ID), "wait", r.JournalSeq, nil, nil, "ticket 4718", 1,
		r.Now.Add(-25*time.Hour), r.Now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Sweep(t.Context(), 10); err != nil || s.Expired != 1 {
		t.Errorf("%+v %v", s, err)
	}
	c.wantConsistent(t)
}

// The COMMIT of a proposal and of an approval is lost, before and after it happened: the same call again tells.
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
			d, _, err := behind.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmNotDone, Evidence: "ticket 4711", Actor: "ann"})
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

func TestCasesAreListedAndShown(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	keys := c.refunds(t, "rf", 5)
	for _, k := range keys {
		c.stuck(t, k)
	}
	var seen []string
	q := refund.CaseFilter{Limit: 2}
	for {
		rows, err := c.reader().ListCases(t.Context(), c.tenant.ID, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			seen = append(seen, row.RefundID)
		}
		q.After = rows[len(rows)-1].CaseRef
	}
	if got := strings.Join(seen, " "); got != "rf_0 rf_1 rf_2 rf_3 rf_4" {
		t.Errorf("open cases %q, want the oldest first and each once", got)
	}
	d := c.propose(t, keys[0], refund.ActionConfirmNotDone)
	v, err := c.reader().FindCase(t.Context(), c.tenant.ID, d.CaseID)
	if err != nil || !v.Proposed || v.State != refund.StateUnknown || len(v.Choices) != 6 || !v.Choices[0].Allowed || v.Choices[2].Why != refund.ObstacleCannotAsk || len(v.Evidence) == 0 {
		t.Errorf("%+v %v", v, err)
	}
	if got, ok := v.Proposal(); !ok || got.ID != d.ID || got.Maker != "ann" {
		t.Errorf("proposal %+v", got)
	}
	if _, err := c.judge(t, d, true, "bob"); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]struct {
		q    refund.CaseFilter
		want int
	}{
		"open":            {refund.CaseFilter{}, 4},
		"closed":          {refund.CaseFilter{Closed: true}, 1},
		"by refund":       {refund.CaseFilter{RefundID: "rf_3"}, 1},
		"by payment":      {refund.CaseFilter{PaymentID: "pay_rf_3"}, 1},
		"by reason":       {refund.CaseFilter{Reason: refund.CaseNoStep}, 4},
		"by other reason": {refund.CaseFilter{Reason: refund.CaseExcess}, 0},
	} {
		w.q.Limit = 10
		if rows, err := c.reader().ListCases(t.Context(), c.tenant.ID, w.q); err != nil || len(rows) != w.want {
			t.Errorf("%s: %d rows %v, want %d", name, len(rows), err, w.want)
		}
	}
	v, err = c.reader().FindCase(t.Context(), c.tenant.ID, d.CaseID)
	if err != nil || v.ClosedHow != "decision:confirm-not-done" || v.Choices[0].Why != refund.ObstacleNoCase {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := c.reader().FindCase(t.Context(), c.tenant.ID+1, d.CaseID); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
}
