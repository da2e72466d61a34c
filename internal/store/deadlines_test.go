package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Every state that waits has a contract's end of patience, and the end is a case; asking goes on where something can be asked.
func TestDeadlinesEndInACase(t *testing.T) {
	t.Parallel()
	soon := refund.Duration(time.Nanosecond)
	query := func(c *refund.Contract) {
		c.Query = refund.QueryTerms{Exists: true, Readings: 1, FirstDelay: refund.Duration(time.Hour)}
	}
	for name, w := range map[string]struct {
		contract func(*refund.Contract)
		reach    func(*testing.T, *testDecisions, refund.RefundRef)
		state    refund.State
		reason   refund.CaseReason
		then     refund.StepKind
	}{
		"PENDING, may be sent again": {func(c *refund.Contract) { c.Waits.Pending = soon },
			func(t *testing.T, c *testDecisions, k refund.RefundRef) { c.send(t, k, refund.Retryable, "") }, refund.StatePending, refund.CaseDeadline, refund.StepWait},
		"UNKNOWN, can be asked": {func(c *refund.Contract) { query(c); c.Waits.Unknown = soon },
			func(t *testing.T, c *testDecisions, k refund.RefundRef) { c.send(t, k, refund.Unknown, "") }, refund.StateUnknown, refund.CaseDeadline, refund.StepWait},
		"UNKNOWN, only notices": {func(c *refund.Contract) { c.Notices = true; c.Waits.Unknown = soon },
			func(t *testing.T, c *testDecisions, k refund.RefundRef) { c.send(t, k, refund.Unknown, "") }, refund.StateUnknown, refund.CaseDeadline, refund.StepWait},
		"UNKNOWN, nothing to wait for": {nil,
			func(t *testing.T, c *testDecisions, k refund.RefundRef) { c.send(t, k, refund.Unknown, "") }, refund.StateUnknown, refund.CaseNoStep, refund.StepWait},
		"UNKNOWN, the lease ended": {nil, func(t *testing.T, c *testDecisions, k refund.RefundRef) {
			claimed := c.send(t, k, "", "")
			c.waitUntil(t, c.load(t, k).LeaseEndsAt)
			c.enter(t, k, refund.Fact{Kind: refund.LeaseEnd, Generation: claimed.Generation, Source: "sweeper"})
		}, refund.StateUnknown, refund.CaseNoStep, refund.StepWait},
		"ACCEPTED": {func(c *refund.Contract) { c.Notices = true; c.Waits.Accepted = soon },
			func(t *testing.T, c *testDecisions, k refund.RefundRef) { c.send(t, k, refund.Acknowledged, "ch_1") }, refund.StateAccepted, refund.CaseDeadline,
			refund.StepWait},
		"ACCEPTED, nothing to wait for": {nil,
			func(t *testing.T, c *testDecisions, k refund.RefundRef) { c.send(t, k, refund.Acknowledged, "ch_1") }, refund.StateAccepted, refund.CaseNoStep,
			refund.StepWait},
		"PENDING, the ask is not answered": {func(c *refund.Contract) { listing(c); c.Waits.Unknown, c.Waits.Pending = soon, soon },
			func(t *testing.T, c *testDecisions, k refund.RefundRef) {
				c.stuck(t, k)
				c.decide(t, k, refund.ActionResend)
			}, refund.StatePending, refund.CaseDeadline, refund.StepList},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newDecisions(t, w.contract)
			k := c.refund(t, "rf")
			w.reach(t, c, k)
			r := c.wantState(t, k, w.state)
			step := refund.Decide(r, c.contract, r.Now)
			if step.Kind != refund.StepOpenCase || step.Reason != w.reason {
				t.Fatalf("next %+v, want a case because of %s", step, w.reason)
			}
			due := refund.Fact{Kind: refund.Deadline, Reason: step.Reason, Generation: r.Generation, Source: "worker", Actor: "system:worker"}
			c.enter(t, k, due)
			r = c.wantState(t, k, w.state)
			c.wantReasons(t, r, w.reason)
			if r.NextActionAt.IsZero() {
				t.Error("what waits for a person keeps its timer")
			}
			if next := refund.Decide(r, c.contract, r.Now); next.Kind != w.then {
				t.Errorf("then %+v, want %s", next, w.then)
			}
			if _, err := c.Enter(t.Context(), k, due, c.contract); err == nil {
				t.Error("one case, opened once")
			}
			if n := c.count(t, `SELECT count(*) FROM cases WHERE closed_at IS NULL`); n != 1 {
				t.Errorf("%d open cases", n)
			}
			c.wantConsistent(t)
		})
	}
}

// P4: an overdue timer is found, counted and moved on; a timer that is a little late does not count.
func TestSweepCountsAndRepairsWhatIsOverdue(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 3)
	for i, late := range []time.Duration{overdueAfter + time.Minute, overdueAfter / 2, -time.Minute} {
		if _, err := f.pool.Exec(t.Context(), `UPDATE refunds SET next_action_at = now() - $2::interval WHERE rid = $1`, [16]byte(keys[i].RID), late); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Sweep(t.Context(), 10)
	if err != nil || s.Overdue != 1 || s.Enqueued != 2 {
		t.Errorf("%+v %v, want two due and one of them overdue", s, err)
	}
	if jobs := f.jobs.take(); len(jobs) != 2 {
		t.Errorf("jobs %v", jobs)
	}
	if r := f.load(t, keys[0]); !r.NextActionAt.After(r.Now) {
		t.Errorf("timer %s, want it running again", r.NextActionAt)
	}
	if s, err := f.Sweep(t.Context(), 10); err != nil || s.Overdue != 0 {
		t.Errorf("%+v %v", s, err)
	}
}
