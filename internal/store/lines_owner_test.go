package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// proposeLine proposes and approves a decision, which names a line if id is not "".
func (c *testDecisions) decideLine(t *testing.T, k refund.RefundRef, a refund.Action, id string) refund.Record {
	t.Helper()
	r := c.load(t, k)
	if r.Case == nil {
		t.Fatalf("no case is open on %s", r.State)
	}
	p := refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: a, Evidence: "ticket 4711", Actor: "ann"}
	for _, e := range r.Effects {
		if !e.Ours && e.ChannelRefundID == id && e.Status != refund.EffectDropped {
			p.EffectID = e.ID
		}
	}
	d, _, err := c.Propose(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = c.judge(t, d, true, "bob"); err != nil || d.AppliedAt.IsZero() {
		t.Fatalf("%s: %+v %v", a, d, err)
	}
	return c.load(t, k)
}

// A list shows a line of the refund's amount beside the absence of its number: nothing is sent again by itself, and the line is not
// adopted. Once a person has said that the line is somebody else's, the absence counts and the refund continues.
func TestAListWithAnUnexplainedLineProvesNoAbsence(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	claimed := c.send(t, k, refund.Unknown, "")
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	asked := c.claim(t, k, refund.AttemptList, time.Second)
	c.lines(t, "pay", true, foreign("re_1", 100))
	c.enter(t, k, answered(asked, refund.NotFound))
	c.settle(t)
	c.wantReasons(t, c.wantState(t, k, refund.StateUnknown), refund.CaseUnmatchedLine)
	c.wantLine(t, "held, and covered by the refund's reservation", "pay", "re_1", refund.EffectHeld, 0, 0)
	if p := c.load(t, k).Payment; p.Refundable() != 850 {
		t.Errorf("refundable %d of 1000, want 850: 100 and 50 are reserved, and the line is covered", p.Refundable())
	}

	c.decideLine(t, k, refund.ActionAcceptAsIs, "")
	c.wantReasons(t, c.wantState(t, k, refund.StatePending))
	c.settle(t)
	c.wantLine(t, "somebody else's", "pay", "re_1", refund.EffectMoved, 100, 0)
	r := c.load(t, k)
	if step := refund.Decide(r, c.contract, r.Now.Add(2*time.Second)); step.Kind != refund.StepSend {
		t.Errorf("next step %+v, want a send", step)
	}
	if got := c.count(t, `SELECT count(*) FROM effects WHERE channel_refund_id = 're_1' AND not_of = ARRAY[$1::uuid]`, [16]byte(k.RID)); got != 1 {
		t.Error("the person's answer is not stored with the line and the refund")
	}
	c.wantConsistent(t)
}

// A settlement line comes after the absence was proven and before the next send: the send waits for a person, and the line can be named
// as the refund's own although nothing of it is exposed.
func TestALineStopsTheSendAfterAProvenAbsence(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	claimed := c.send(t, k, refund.Unknown, "")
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	c.enter(t, k, answered(c.claim(t, k, refund.AttemptList, time.Second), refund.NotFound))
	c.wantReasons(t, c.wantState(t, k, refund.StatePending))
	c.lines(t, "pay", false, foreign("re_1", 100))
	r := c.wantState(t, k, refund.StatePending)
	c.wantReasons(t, r, refund.CaseUnmatchedLine)
	if step := refund.Decide(r, c.contract, r.Now); step.Kind == refund.StepSend {
		t.Error("it is sent again although a line may be its first send")
	}
	if r = c.decideLine(t, k, refund.ActionConfirmSuccess, "re_1"); r.State != refund.StateSuccess || len(r.Effects) != 1 || r.Effects[0].DispatchNo != 1 {
		t.Errorf("%s, effects %+v", r.State, r.Effects)
	}
	c.wantConsistent(t)
}

// Two refunds of one amount may own a line: each is asked, an answer for one voids what was proposed for the other, and the line belongs
// to the one that is left.
func TestEveryRefundThatMayOwnALineIsAsked(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, b := c.pair(t, "pay", 1000, 100, 100)
	c.send(t, a, refund.Unknown, "")
	claimed := c.send(t, b, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_1", 100))
	for _, k := range []refund.RefundRef{a, b} {
		c.wantReasons(t, c.load(t, k), refund.CaseUnmatchedLine)
	}
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	other := c.propose(t, b, refund.ActionConfirmNotDone)
	c.decideLine(t, a, refund.ActionAcceptAsIs, "")
	_, err := c.judge(t, other, true, "bob")
	wantProblem(t, "somebody has decided about the line", err, refund.CodeDecisionVoid)
	c.settle(t)
	c.wantReasons(t, c.load(t, a))
	c.wantReasons(t, c.load(t, b), refund.CaseUnmatchedLine)
	c.wantLine(t, "b may own it", "pay", "re_1", refund.EffectHeld, 0, 0)
	c.decideLine(t, b, refund.ActionConfirmNotDone, "")
	c.settle(t)
	c.wantLine(t, "a is exposed, so that nothing is adopted yet", "pay", "re_1", refund.EffectHeld, 0, 100)
	c.enter(t, a, refund.Fact{Kind: refund.Succeeded, Dispatch: 1, ChannelRefundID: "re_a", Amount: 100, Currency: "USD", Source: "notice"})
	c.settle(t)
	c.wantLine(t, "nobody's", "pay", "re_1", refund.EffectMoved, 200, 0)
	c.wantConsistent(t)
}

// A line that was recorded before the first send explains nothing of it.
func TestALineFromBeforeTheFirstSendExplainsNothing(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, b := c.pair(t, "pay", 1000, 50, 100)
	c.send(t, a, refund.Unknown, "") // keeps the line from being adopted
	c.lines(t, "pay", true, foreign("re_old", 100))
	claimed := c.send(t, b, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_old", 100))
	c.wantReasons(t, c.load(t, b))
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	c.enter(t, b, answered(c.claim(t, b, refund.AttemptList, time.Second), refund.NotFound))
	c.wantReasons(t, c.wantState(t, b, refund.StatePending))
	c.wantLine(t, "older than b", "pay", "re_old", refund.EffectHeld, 0, 100)
}

// A line that was booked although its account is unknown to this process is judged by the newest stored contract.
func TestLinesOfAnUnknownAccountUseTheStoredContract(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	claimed := c.send(t, k, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_1", 100))
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	c.cfg.Accounts = nil
	if err := c.SettleLines(t.Context(), c.tenant.ID, "pay"); err != nil {
		t.Fatal(err)
	}
	c.wantReasons(t, c.wantState(t, k, refund.StateUnknown), refund.CaseUnmatchedLine)
	c.wantLine(t, "still held", "pay", "re_1", refund.EffectHeld, 0, 0)
}
