package store

import (
	"errors"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// crossed returns two paid refunds of one amount, of which people have given each the other's line.
func (c *testDecisions) crossed(t *testing.T) (a, b refund.RefundRef) {
	t.Helper()
	a, b = c.pair(t, "pay", 1000, 100, 100)
	c.send(t, a, refund.Unknown, "")
	claimed := c.send(t, b, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_a", 100), foreign("re_b", 100))
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	c.decideLine(t, a, refund.ActionConfirmSuccess, "re_b")
	c.settle(t)
	c.decideLine(t, b, refund.ActionConfirmSuccess, "re_a")
	c.settle(t)
	return a, b
}

func (c *testDecisions) wantEffect(t *testing.T, why string, k refund.RefundRef, id string) {
	t.Helper()
	if got := c.text(t, `SELECT coalesce(string_agg(coalesce(channel_refund_id, '-'), ','), 'none') FROM effects WHERE rid = $1 AND status = 'MOVED'`,
		[16]byte(k.RID)); got != id {
		t.Errorf("%s: effects %s, want %s", why, got, id)
	}
}

func (c *testDecisions) wantBalances(t *testing.T, why string, refunded, held int64) {
	t.Helper()
	v, err := c.reader().FindPayment(t.Context(), c.tenant.ID, "pay")
	if err != nil || v.Payment.Refunded != refunded || v.Payment.Held != held {
		t.Errorf("%s: refunded %d, held %d, %v, want %d and %d", why, v.Payment.Refunded, v.Payment.Held, err, refunded, held)
	}
	c.wantConsistent(t)
}

func (c *testDecisions) proves(t *testing.T, k refund.RefundRef, id string) {
	t.Helper()
	c.enter(t, k, refund.Fact{Kind: refund.Succeeded, Dispatch: 1, ChannelRefundID: id, Amount: 100, Currency: "USD", Source: "notice", Actor: "system:notices"})
	c.settle(t)
}

// Two refunds of one amount, both paid, and each has the other's line. Once the channel says which id the one has, they swap: each has its
// own, and nothing is counted twice.
func TestCrossedPairsSwap(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, b := c.crossed(t)
	c.wantEffect(t, "as people said", a, "re_b")
	c.wantEffect(t, "as people said", b, "re_a")
	c.wantBalances(t, "both once", 200, 0)

	c.proves(t, a, "re_a")
	c.wantEffect(t, "its own", a, "re_a")
	c.wantEffect(t, "the id that the other one had", b, "re_b")
	c.wantBalances(t, "both once", 200, 0)
	c.wantReasons(t, c.load(t, a), refund.CaseMultipleEffects)
	c.wantReasons(t, c.load(t, b), refund.CaseContradiction)

	c.proves(t, b, "re_b")
	c.wantEffect(t, "the same again", b, "re_b")
	c.wantBalances(t, "both once", 200, 0)
}

// People name a line, and the channel then gives the number another id: the channel's is booked, the line is decided again, and a person
// must review the refund.
func TestAnotherIDThanPeopleNamedOpensACase(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	claimed := c.send(t, k, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_9", 100))
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	c.decideLine(t, k, refund.ActionConfirmSuccess, "re_9")
	c.settle(t)
	c.wantEffect(t, "the line", k, "re_9")
	c.proves(t, k, "re_1")
	c.wantEffect(t, "the channel's", k, "re_1")
	c.wantLine(t, "somebody else's", "pay", "re_9", refund.EffectMoved, 200, 0)
	c.wantReasons(t, c.load(t, k), refund.CaseMultipleEffects)
}

// A pairing by a person gives way to the channel's word, and only a person's confirmation is left, which can be revoked.
func TestARefundThatLosesItsLineCanBeReviewed(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, b := c.pair(t, "pay", 1000, 100, 100)
	c.send(t, a, refund.Unknown, "")
	claimed := c.send(t, b, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_a", 100))
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	c.decideLine(t, b, refund.ActionConfirmSuccess, "re_a")
	c.settle(t)
	c.proves(t, a, "re_a")
	c.wantEffect(t, "without id", b, "-")
	c.wantReasons(t, c.load(t, b), refund.CaseContradiction)
	if r := c.decide(t, b, refund.ActionRevokeConfirmation); r.State != refund.StateReversed {
		t.Errorf("%s, want REVERSED", r.State)
	}
	c.wantBalances(t, "one movement", 100, 0)
}

// Known excess that nobody has accepted stops the sends of the payment, in the claim itself. The excess is accepted on the payment's case,
// and then sends go on.
func TestKnownExcessStopsSends(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, b := c.pair(t, "pay", 150, 50, 60)
	before := c.load(t, b)
	c.lines(t, "pay", true, foreign("re_out", 120))
	r := c.load(t, a)
	if step := refund.Decide(r, c.contract, r.Now); step.Kind != refund.StepWait || step.Why != refund.PendingExcess {
		t.Errorf("next step %+v, want a wait because of excess", step)
	}
	for _, seen := range []refund.Record{r, before} { // also a worker that has read the refund before
		if _, err := c.Claim(t.Context(), c.claimOf(seen, refund.AttemptSend, time.Second)); !errors.Is(err, refund.ErrNotOwner) {
			t.Errorf("claim: %v, want %v", err, refund.ErrNotOwner)
		}
	}
	d, err := proposeToAccept(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = c.judge(t, d, true, "bob"); err != nil || d.AppliedAt.IsZero() {
		t.Fatalf("%+v %v", d, err)
	}
	c.send(t, a, refund.Succeeded, "re_1")
	c.wantState(t, a, refund.StateSuccess)
	c.wantConsistent(t)
}

// A person accepts the excess in the same decision by which a line becomes somebody else's, on an open refund. Its own case ends, and so
// does the reason on the payment's other refund.
func TestExcessIsAcceptedOnAnOpenRefund(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, other := c.pair(t, "pay", 150, 100, 50)
	claimed := c.send(t, k, refund.Unknown, "")
	c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
	asked := c.claim(t, k, refund.AttemptList, time.Second)
	c.lines(t, "pay", true, foreign("re_9", 100))
	c.enter(t, k, answered(asked, refund.NotFound))
	c.decideLine(t, k, refund.ActionAcceptAsIs, "")
	c.settle(t)
	r := c.wantState(t, k, refund.StatePending)
	c.wantReasons(t, r)
	if p := r.Payment; p.Refunded != 100 || p.Excess != 100 || p.ExcessAccepted != 100 {
		t.Errorf("payment %+v", p)
	}
	for _, k := range []refund.RefundRef{k, other} {
		if r := c.load(t, k); refund.Decide(r, c.contract, r.Now.Add(2*time.Second)).Kind != refund.StepSend {
			t.Errorf("next step %+v", refund.Decide(r, c.contract, r.Now))
		}
	}
	c.wantConsistent(t)
}

// A line that names the known channel refund id of a number is about that number.
func TestALineWithTheKnownIDIsAboutTheNumber(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	c.send(t, k, refund.Acknowledged, "re_1")
	c.wantState(t, k, refund.StateAccepted)
	c.lines(t, "pay", false, foreign("re_1", 100))
	c.wantState(t, k, refund.StateSuccess)
	seq := c.load(t, k).JournalSeq
	c.lines(t, "pay", false, foreign("re_1", 100))
	if r := c.load(t, k); r.JournalSeq != seq {
		t.Errorf("the known line wrote %d journal rows", r.JournalSeq-seq)
	}
	c.wantBalances(t, "booked once", 100, 0)
	c.lines(t, "pay", false, refund.ListedEffect{ChannelRefundID: "re_1", Status: refund.Reversed, Amount: 100, Currency: "USD"})
	c.wantState(t, k, refund.StateReversed)
	c.wantBalances(t, "came back", 0, 0)
}

// A number that a decision has closed and the channel has ended owns no line: the line is somebody else's.
func TestALineOfANumberThatTheChannelEndedIsAdopted(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	k, _ := c.pair(t, "pay", 1000, 100, 50)
	c.stuck(t, k)
	c.decide(t, k, refund.ActionConfirmNotDone)
	c.notice(t, k, refund.FailedFinal, 1, "")
	c.lines(t, "pay", true, foreign("re_9", 100))
	c.wantReasons(t, c.load(t, k))
	c.wantLine(t, "adopted", "pay", "re_9", refund.EffectMoved, 100, 0)
}

// confirm-success offers an equal adopted line first. Booking money beside it needs the explicit answer that both happened.
func TestConfirmSuccessBesideAnAdoptedLine(t *testing.T) {
	t.Parallel()
	adopted := func(t *testing.T) (*testDecisions, refund.Proposal) {
		c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
		k, _ := c.pair(t, "pay", 1000, 100, 50)
		claimed := c.send(t, k, refund.NotSent, "")
		c.lines(t, "pay", true, foreign("re_9", 100))
		c.wantLine(t, "nobody's", "pay", "re_9", refund.EffectMoved, 100, 0)
		c.waitUntil(t, claimed.NotAfter)
		r := c.stuck(t, k)
		return c, refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmSuccess, Evidence: "ticket 4711", Actor: "ann"}
	}
	apply := func(t *testing.T, c *testDecisions, p refund.Proposal) {
		t.Helper()
		d, _, err := c.Propose(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if d, err = c.judge(t, d, true, "bob"); err != nil || d.AppliedAt.IsZero() || d.BothHappened != p.BothHappened {
			t.Fatalf("%+v %v", d, err)
		}
		c.settle(t)
	}
	t.Run("named", func(t *testing.T) {
		t.Parallel()
		c, p := adopted(t)
		v, err := c.reader().FindCase(t.Context(), c.tenant.ID, p.CaseID)
		if err != nil || v.Choices[0].Action != refund.ActionConfirmSuccess || len(v.Choices[0].Lines) != 1 {
			t.Fatalf("choices %+v, %v", v.Choices, err)
		}
		p.EffectID = v.Choices[0].Lines[0]
		apply(t, c, p)
		c.wantBalances(t, "re-attributed", 100, 0)
		if got := c.text(t, `SELECT source FROM effects WHERE channel_refund_id = 're_9' AND rid IS NOT NULL`); got != "person" {
			t.Errorf("the line's source is %s: nobody sees that a person has named it", got)
		}
	})
	t.Run("beside it", func(t *testing.T) {
		t.Parallel()
		c, p := adopted(t)
		_, _, err := c.Propose(t.Context(), p)
		var no *refund.NotAllowed
		if !errors.As(err, &no) || no.Why != refund.ObstacleEqualLine {
			t.Fatalf("%v, want %s", err, refund.ObstacleEqualLine)
		}
		p.BothHappened = true
		apply(t, c, p)
		c.wantBalances(t, "both", 200, 0)
	})
}

// The acceptance of new refunds counts a held line only where no open refund covers it.
func TestAcceptanceCountsAHeldLineOnce(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	k, _ := c.pair(t, "pay", 300, 100, 50)
	c.send(t, k, refund.Unknown, "")
	c.lines(t, "pay", true, foreign("re_1", 100))
	ask := func(id string, amount int64) intake.Intake { return c.request("e_"+id, id, "pay", amount, nil) }
	wantVerdicts(t, c.accept(t, ask("rf_151", 151)), intake.Refused)
	wantVerdicts(t, c.accept(t, ask("rf_50", 50)), intake.Taken)
	c.lines(t, "pay", true, foreign("re_2", 100)) // the second line has no refund that covers it
	wantVerdicts(t, c.accept(t, ask("rf_1", 1)), intake.Refused)
	c.lines(t, "pay", true, refund.ListedEffect{ChannelRefundID: "re_2", Status: refund.FailedFinal, Amount: 100, Currency: "USD"})
	wantVerdicts(t, c.accept(t, ask("rf_100", 100)), intake.Taken)
	c.wantConsistent(t)
}

// A process that does not know an account frees an id by the newest stored contract of the account, and waits where there is none.
func TestUnpairingWithAnUnknownAccount(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	a, b := c.pair(t, "pay", 1000, 100, 100)
	c.stuck(t, a)
	c.decide(t, a, refund.ActionConfirmSuccess)
	c.lines(t, "pay", true, foreign("re_1", 100))
	claimed := c.send(t, b, refund.Unknown, "")
	c.cfg.Accounts = nil
	c.enter(t, b, refund.Fact{Kind: refund.Succeeded, Dispatch: claimed.DispatchNo, ChannelRefundID: "re_1", Amount: 100, Currency: "USD", Source: "notice"})
	c.wantEffect(t, "freed", a, "-")
	c.wantEffect(t, "its own", b, "re_1")
	c.wantReasons(t, c.load(t, a), refund.CaseContradiction)
	if _, err := c.pool.Exec(t.Context(), `ALTER TABLE contracts DISABLE TRIGGER ALL; DELETE FROM contracts; ALTER TABLE contracts ENABLE TRIGGER ALL`); err != nil {
		t.Fatal(err)
	}
	if err := c.EnterLines(t.Context(), c.tenant.ID, "pay", "settlement", []refund.ListedEffect{foreign("re_2", 100)}, false,
		refund.Contract{}); !errors.Is(err, refund.ErrNoChannel) {
		t.Errorf("%v, want %v", err, refund.ErrNoChannel)
	}
}
