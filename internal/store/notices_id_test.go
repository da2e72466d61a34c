package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// acked sends the refund and lets the channel answer that it has it, under this id.
func (f *testWorkflow) acked(t *testing.T, k refund.RefundRef, id string) {
	t.Helper()
	a := answered(f.claim(t, k, refund.AttemptSend, 10*time.Second), refund.Acknowledged)
	a.ChannelRefundID = id
	f.enter(t, k, a)
	f.wantState(t, k, refund.StateAccepted)
}

// The channel's id alone is enough once the channel has answered with it, also before any money is booked.
func TestNoticeFindsTheAcceptedID(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	f.acked(t, k, "ch_1")
	f.receive(t, notice("failed", "", "ch_1", refund.Unknown), refund.NoticeUnusable)
	f.receive(t, notice("done", "", "ch_1", refund.Succeeded), refund.NoticeEntered)
	f.receive(t, notice("done", "", "ch_1", refund.Succeeded), refund.NoticeKnown)
	f.receive(t, notice("done, said otherwise", "", "ch_1", refund.Succeeded), refund.NoticeKnown)
	r := f.wantState(t, k, refund.StateSuccess)
	if len(r.Effects) != 1 || r.Effects[0].ChannelRefundID != "ch_1" || r.Payment.Refunded != 100 {
		t.Errorf("effects %+v, refunded %d", r.Effects, r.Payment.Refunded)
	}
	f.wantNotice(t, "done", 2, true)
	f.wantSound(t)
}

// The id becomes known after the notice: each way matches it in its own transaction, and a second delivery finds it matched.
func TestNoticeWaitsForTheIDFromAnySource(t *testing.T) {
	t.Parallel()
	for name, learn := range map[string]func(t *testing.T, f *testWorkflow, k refund.RefundRef, id string){
		"an answer that accepts": func(t *testing.T, f *testWorkflow, k refund.RefundRef, id string) {
			a := answered(f.claim(t, k, refund.AttemptSend, 10*time.Second), refund.Acknowledged)
			a.ChannelRefundID = id
			f.enter(t, k, a)
		},
		"a query": func(t *testing.T, f *testWorkflow, k refund.RefundRef, id string) {
			f.enter(t, k, answered(f.claim(t, k, refund.AttemptSend, 50*time.Millisecond), refund.Unknown))
			a := answered(f.claim(t, k, refund.AttemptQuery, 10*time.Second), refund.Acknowledged)
			a.ChannelRefundID = id
			f.enter(t, k, a)
		},
		"a notice with number and id": func(t *testing.T, f *testWorkflow, k refund.RefundRef, id string) {
			f.claim(t, k, refund.AttemptSend, 10*time.Second)
			f.receive(t, notice("accepted "+id, f.number(t, k), id, refund.Acknowledged), refund.NoticeEntered)
		},
		"a line with our number": func(t *testing.T, f *testWorkflow, k refund.RefundRef, id string) {
			f.claim(t, k, refund.AttemptSend, 10*time.Second)
			r := f.load(t, k)
			line := refund.ListedEffect{Number: f.number(t, k), ChannelRefundID: id, Status: refund.Acknowledged, Amount: 100, Currency: "USD"}
			if err := f.EnterLines(t.Context(), k.Tenant, r.PaymentID, "list", []refund.ListedEffect{line}, true, f.contract); err != nil {
				t.Fatal(err)
			}
		},
		"a success under a second id": func(t *testing.T, f *testWorkflow, k refund.RefundRef, id string) {
			f.acked(t, k, "first_"+id)
			f.enter(t, k, refund.Fact{Kind: refund.Succeeded, ChannelRefundID: id, Amount: 100, Currency: "USD", Source: "settlement", Actor: "system:settlement"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newWorkflow(t)
			k := f.refund(t, "rf")
			f.receive(t, notice("returned", "", "ch_1", refund.Reversed), refund.NoticeKept)
			f.receive(t, notice("returned", "", "ch_1", refund.Reversed), refund.NoticeKept)
			learn(t, f, k, "ch_1")
			r := f.wantState(t, k, refund.StateReversed)
			if len(r.Effects) != 1 || r.Payment.Refunded != 0 {
				t.Errorf("effects %+v, refunded %d: booked and mirrored once", r.Effects, r.Payment.Refunded)
			}
			f.wantNotice(t, "returned", 2, true)
			f.receive(t, notice("returned", "", "ch_1", refund.Reversed), refund.NoticeKnown)
			if n, err := f.MatchNotices(t.Context()); n != 0 || err != nil {
				t.Errorf("%d were left, %v", n, err)
			}
			f.wantSound(t)
		})
	}
}

// A line whose money a person makes ours gives us its id; one that is paired gives it too, and the housekeeping sees that.
func TestNoticeWaitsForTheIDOfALine(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	for name, left := range map[string]int{"attached": 0, "paired": 1} {
		payment := "pay_" + name
		k, _ := c.pair(t, payment, 1000, 100, 50)
		c.receive(t, notice("returned "+name, "", "re_"+name, refund.Reversed), refund.NoticeKept)
		if name == "paired" {
			c.stuck(t, k)
			c.decide(t, k, refund.ActionConfirmSuccess)
			c.lines(t, payment, true, foreign("re_"+name, 100))
		} else {
			claimed := c.send(t, k, refund.Unknown, "")
			c.lines(t, payment, true, foreign("re_"+name, 100))
			c.waitUntil(t, claimed.NotAfter.Add(c.contract.Horizon.D()))
			r := c.load(t, k)
			d, _, err := c.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmSuccess, Evidence: "ticket 4711",
				EffectID: r.Effects[0].ID, Actor: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			if d, err = c.judge(t, d, true, "bob"); err != nil || d.AppliedAt.IsZero() {
				t.Fatalf("%+v %v", d, err)
			}
		}
		if n, err := c.MatchNotices(t.Context()); n != left || err != nil {
			t.Errorf("%s: %d were left, %v, want %d", name, n, err, left)
		}
		if r := c.wantState(t, k, refund.StateReversed); r.Payment.Refunded != 0 || len(r.Effects) != 1 {
			t.Errorf("%s: refunded %d, effects %+v", name, r.Payment.Refunded, r.Effects)
		}
		c.wantNotice(t, "returned "+name, 1, true)
		c.wantConsistent(t)
	}
}

// twoAccounts knows demo and elsewhere, under one contract.
type twoAccounts struct{ c refund.Contract }

func (a twoAccounts) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	known := name == "demo" || name == "elsewhere"
	return a.c, known, known
}

// A channel refund id is valid in its own account only, for any tenant. A notice with an unknown id stays unmatched.
func TestNoticeIDsKeepToTheirAccount(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.cfg.Accounts = twoAccounts{f.contract}
	spec := inlinePayment(1000)
	spec.Account = "elsewhere"
	out := f.accept(t, f.request("e_1", "rf_1", "pay_1", 100, inlinePayment(1000)), f.request("e_2", "rf_2", "pay_2", 100, spec))
	wantVerdicts(t, out, intake.Taken, intake.Taken)
	here, there := out[0].Refund.RefundRef, out[1].Refund.RefundRef
	if r := f.load(t, there); r.Account != "elsewhere" {
		t.Fatalf("account %s", r.Account)
	}
	f.acked(t, there, "ch_1")
	n := notice("of this account", "", "ch_1", refund.Succeeded)
	f.receive(t, n, refund.NoticeKept)
	f.wantState(t, there, refund.StateAccepted)
	f.acked(t, f.refund(t, "third"), "ch_2") // another id of this account brings nothing along
	f.wantNotice(t, "of this account", 1, false)

	f.receive(t, notice("of nobody", "", "ch_never", refund.Succeeded), refund.NoticeKept)
	f.receive(t, notice("of nobody", "", "ch_never", refund.Succeeded), refund.NoticeKept)
	if n, err := f.MatchNotices(t.Context()); n != 0 || err != nil {
		t.Errorf("%d matched, %v", n, err)
	}
	f.wantNotice(t, "of nobody", 2, false)

	a := answered(f.claim(t, here, refund.AttemptSend, 10*time.Second), refund.Acknowledged)
	a.ChannelRefundID = "ch_1" // the same id, in its own account
	f.enter(t, here, a)
	f.wantState(t, here, refund.StateSuccess)
	f.wantState(t, there, refund.StateAccepted)
	f.wantNotice(t, "of this account", 1, true)
	if got, err := f.ReceiveNotice(t.Context(), "elsewhere", n); err != nil || got != refund.NoticeEntered {
		t.Errorf("the same words in the other account: %s, %v", got, err)
	}
	f.wantState(t, there, refund.StateSuccess)
	f.wantSound(t)
}

// An id that the channel gives to a second refund stays with the first: the second answer names both.
func TestAnIDThatTheChannelGivesTwiceStaysWithTheFirst(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 2)
	f.acked(t, keys[0], "ch_same")
	a := answered(f.claim(t, keys[1], refund.AttemptSend, 10*time.Second), refund.Acknowledged)
	a.ChannelRefundID = "ch_same"
	f.enter(t, keys[1], a)
	f.wantContradiction(t, keys[0], refund.StateAccepted)
	f.wantContradiction(t, keys[1], refund.StateUnknown)
	f.receive(t, notice("done", "", "ch_same", refund.Succeeded), refund.NoticeEntered)
	f.wantState(t, keys[0], refund.StateSuccess)
	f.wantState(t, keys[1], refund.StateUnknown)
	f.wantSound(t)
}

// An id that an effect has from a line is a guess: the dispatch that got the id from the channel takes precedence.
func TestNoticePrefersTheIDFromTheChannelToThatOfALine(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	a, b := c.pair(t, "pay", 1000, 100, 100)
	c.stuck(t, a)
	c.decide(t, a, refund.ActionConfirmSuccess)
	c.lines(t, "pay", true, foreign("re_1", 100)) // a's, as far as anybody can tell
	c.acked(t, b, "re_1")
	c.receive(t, notice("done", "", "re_1", refund.Succeeded), refund.NoticeEntered)
	c.wantState(t, b, refund.StateSuccess)
	if got := c.text(t, `SELECT coalesce(channel_refund_id, '-') FROM effects WHERE rid = $1`, [16]byte(a.RID)); got != "-" {
		t.Errorf("a keeps %s", got)
	}
	c.wantConsistent(t)
}

// A kept notice that cannot be entered holds up neither the refund that it waits for nor the other notices.
func TestNoticeThatCannotBeEnteredDelaysNoOther(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	first := f.refund(t, "first")
	f.enter(t, first, succeeded(f.claim(t, first, refund.AttemptSend, 10*time.Second), "ch_same"))
	f.receive(t, notice("taken", refund.DispatchNumber(f.Installation(), "demo", "early_0", 1), "ch_same", refund.Succeeded), refund.NoticeContradicts)
	k := f.refund(t, "early")
	f.wantState(t, k, refund.StatePending)
	f.wantNotice(t, "taken", 1, false)
	f.receive(t, notice("nobody's", "", "ch_never", refund.Succeeded), refund.NoticeKept)
	if n, err := f.MatchNotices(t.Context()); n != 1 || err != nil {
		t.Errorf("matched %d, %v", n, err)
	}
	f.wantContradiction(t, k, refund.StatePending)
	f.wantNotice(t, "taken", 1, true)
	f.wantSound(t)
}
