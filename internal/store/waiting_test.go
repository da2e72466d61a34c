package store

import (
	"errors"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// replaying is a contract whose keys can be replayed, and whose deadlines are over at once.
func replaying(c *refund.Contract) {
	c.Key.Dedupes, c.Key.ReplaysState = true, true
	c.Waits.Unknown, c.Waits.Pending = refund.Duration(time.Nanosecond), refund.Duration(time.Nanosecond)
}

// maySend reports whether a send can be claimed, as the record says and as the statement does.
func (c *testDecisions) maySend(t *testing.T, k refund.RefundRef) bool {
	t.Helper()
	r := c.load(t, k)
	claimed, err := c.Claim(t.Context(), c.claimOf(r, refund.AttemptSend, 50*time.Millisecond))
	if err != nil && !errors.Is(err, refund.ErrNotOwner) {
		t.Fatal(err)
	}
	if err == nil {
		c.enter(t, k, refund.FactOf(claimed.Attempt, refund.Answer{Kind: refund.Unknown, Rule: "test"}))
		c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	}
	return err == nil
}

// A case of waiting stops no replay; an open proposal does until it is judged, and "wait" does not.
func TestACaseOfWaitingStopsNoSendAndAProposalDoes(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, replaying)
	k := c.refund(t, "rf")
	c.wantReasons(t, c.stuck(t, k), refund.CaseDeadline)
	if !c.maySend(t, k) {
		t.Error("the case of the deadline stops a replay")
	}
	c.propose(t, k, refund.ActionWait)
	if c.load(t, k).ProposalOpen || !c.maySend(t, k) {
		t.Error("a proposal to wait stops a replay")
	}
	d := c.propose(t, k, refund.ActionConfirmSuccess)
	if !c.load(t, k).ProposalOpen || c.maySend(t, k) {
		t.Error("an open proposal does not stop a replay")
	}
	if _, err := c.pool.Exec(t.Context(), `UPDATE refunds SET next_action_at = now() + interval '30 min'`); err != nil {
		t.Fatal(err)
	}
	if _, err := c.judge(t, d, false, "bob"); err != nil {
		t.Fatal(err)
	}
	if r := c.load(t, k); r.ProposalOpen || r.NextActionAt.After(r.Now) {
		t.Errorf("a rejected proposal leaves the timer at %s, it is %s", r.NextActionAt, r.Now)
	}
	if !c.maySend(t, k) {
		t.Error("a rejected proposal stops a replay")
	}
	c.wantConsistent(t)
	if _, err := c.pool.Exec(t.Context(), `UPDATE cases SET reasons = '{contradiction,deadline}'`); err != nil { // no journal row reports it
		t.Fatal(err)
	}
	if c.maySend(t, k) {
		t.Error("a case with another reason does not stop a replay")
	}
}

// The same from PENDING, where the database's guard repeats the check.
func TestASendFromPendingUnderACaseOfWaiting(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, replaying)
	k := c.refund(t, "rf")
	c.send(t, k, refund.Retryable, "")
	c.enter(t, k, refund.Fact{Kind: refund.Deadline, Reason: refund.CaseDeadline, Generation: c.load(t, k).Generation, Source: "worker", Actor: "system:worker"})
	c.propose(t, k, refund.ActionConfirmNotDone)
	if _, err := c.pool.Exec(t.Context(), `UPDATE refunds SET state = 'PROCESSING', exposed = true, generation = generation + 1, attempt_no = attempt_no + 1,
		journal_seq = journal_seq + 1, lease_ends_at = now() + interval '1 s'`); err == nil {
		t.Error("the guard takes a send under an open proposal")
	}
	if c.maySend(t, k) {
		t.Error("an open proposal does not stop a send")
	}
	if _, err := c.pool.Exec(t.Context(), `UPDATE decisions SET verdict = 'EXPIRED', checked_at = now()`); err != nil {
		t.Fatal(err)
	}
	if !c.maySend(t, k) {
		t.Error("the case of the deadline stops a send")
	}
	c.wantReasons(t, c.wantState(t, k, refund.StateUnknown), refund.CaseDeadline)
}

// A timer further away than the longest step of its state is due, and so is such a lease.
func TestTimersOfAClockThatRanAheadAreDue(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { c.Query = refund.QueryTerms{Exists: true, Readings: 1} })
	waiting, owned, poor := c.refund(t, "rf_1"), c.refund(t, "rf_2"), c.refund(t, "rf_3")
	c.send(t, waiting, refund.Unknown, "")
	c.send(t, owned, "", "")
	c.jobs.take()
	for _, sql := range []string{`ALTER TABLE refunds DISABLE TRIGGER USER`,
		`UPDATE refunds SET next_action_at = now() + interval '2 h', lease_ends_at = CASE WHEN state = 'PROCESSING' THEN now() + interval '2 h' END`,
		`UPDATE refunds SET next_action_at = now() + interval '5 h', pending_reason = 'low-balance' WHERE state = 'PENDING'`,
		`ALTER TABLE refunds ENABLE TRIGGER USER`} {
		if _, err := c.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	wantBroken(t, c.verify(t), "P4", "timer-far")
	s, err := c.Sweep(t.Context(), 20)
	if err != nil || s.TooFar != 2 || s.Enqueued != 1 || s.TakenOver != 1 {
		t.Errorf("%+v %v, want two timers that are too far, one job and one take-over", s, err)
	}
	c.wantState(t, owned, refund.StateUnknown)
	if r := c.load(t, poor); r.NextActionAt.Sub(r.Now) < 4*time.Hour {
		t.Errorf("a low balance is waited for until %s, it is %s", r.NextActionAt, r.Now)
	}
}
