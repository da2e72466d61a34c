package store

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func (f *testWorkflow) wantContradiction(t *testing.T, k refund.RefundRef, state refund.State) {
	t.Helper()
	r := f.wantState(t, k, state)
	if !r.Case.Has(refund.CaseContradiction) {
		t.Errorf("refund %s has the case %+v, want a contradiction", r.RefundID, r.Case)
	}
	if len(r.Effects) != 0 || r.Payment.Refunded != 0 {
		t.Errorf("refund %s: effects %+v, refunded %d, want that nothing moved", r.RefundID, r.Effects, r.Payment.Refunded)
	}
}

// Two refunds are accepted. A notice has the number of the second and every other id of the first: it is about neither.
func TestANoticeThatNamesTwoRefundsMovesNeither(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(n *refund.KeptNotice, first refund.Record){
		"channel refund id": func(n *refund.KeptNotice, _ refund.Record) { n.ChannelRefundID = "ch_first" },
		"refund id":         func(n *refund.KeptNotice, first refund.Record) { n.Names.RefundID = first.RefundID },
		"all": func(n *refund.KeptNotice, first refund.Record) {
			n.ChannelRefundID, n.Names = "ch_first", refund.Names{RefundID: first.RefundID, PaymentReference: "ch_elsewhere"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newWorkflow(t)
			keys := f.refunds(t, "rf", 2)
			f.acked(t, keys[0], "ch_first")
			f.acked(t, keys[1], "ch_second")
			n := notice("mixed", f.number(t, keys[1]), "ch_second", refund.Succeeded)
			spoil(&n, f.load(t, keys[0]))
			f.receive(t, n, refund.NoticeContradicts)
			f.receive(t, n, refund.NoticeKnown)
			f.wantContradiction(t, keys[0], refund.StateAccepted)
			f.wantContradiction(t, keys[1], refund.StateAccepted)
			f.wantNotice(t, "mixed", 2, true)
			if n, err := f.MatchNotices(t.Context()); n != 0 || err != nil {
				t.Errorf("matched %d, %v", n, err)
			}
			f.wantSound(t)
		})
	}
}

func TestANoticeThatDoesNotFitItsRefundMovesNothing(t *testing.T) {
	t.Parallel()
	for name, names := range map[string]refund.Names{
		"payment reference":    {PaymentReference: "ch_elsewhere"},
		"refund id of nobody":  {RefundID: "rf_unheard_of"},
		"account of its owner": {Conflict: "account"},
	} {
		for by, id := range map[string]string{"number": "", "channel refund id": "ch_1"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				t.Parallel()
				f := newWorkflow(t)
				k := f.refund(t, "rf")
				f.acked(t, k, "ch_1")
				number := ""
				if id == "" {
					number = f.number(t, k)
				}
				n := notice("odd", number, id, refund.Succeeded)
				n.Names = names
				f.receive(t, n, refund.NoticeContradicts)
				f.wantContradiction(t, k, refund.StateAccepted)
				f.wantSound(t)
			})
		}
	}
}

func TestANoticeThatNamesItsRefundWhollyIsEntered(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	f.acked(t, k, "ch_1")
	r := f.load(t, k)
	n := notice("whole", f.number(t, k), "ch_1", refund.Succeeded)
	n.Names = refund.Names{RefundID: r.RefundID, PaymentReference: r.ChannelReference}
	f.receive(t, n, refund.NoticeEntered)
	f.wantState(t, k, refund.StateSuccess)
	f.wantSound(t)
}

// A number that is none of ours, with an id that the channel gave to ours: our refund gets the case. When the number becomes ours, both do.
func TestANoticeWithANumberOfNobodyAndAnIDOfOursMovesNothing(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	first := f.refund(t, "first")
	f.acked(t, first, "ch_same")
	number := refund.DispatchNumber(f.Installation(), "demo", "early_0", 1)
	f.receive(t, notice("mixed", number, "ch_same", refund.Succeeded), refund.NoticeContradicts)
	f.wantContradiction(t, first, refund.StateAccepted)
	k := f.refund(t, "early")
	f.wantState(t, k, refund.StatePending)
	if n, err := f.MatchNotices(t.Context()); n != 1 || err != nil {
		t.Errorf("matched %d, %v", n, err)
	}
	f.wantContradiction(t, k, refund.StatePending)
	f.wantNotice(t, "mixed", 1, true)
	f.wantSound(t)
}

func TestAnAnswerThatNamesTwoRefundsMovesNeither(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(a *refund.Fact, first refund.Record, number string){
		"channel refund id": func(a *refund.Fact, _ refund.Record, _ string) { a.ChannelRefundID = "ch_first" },
		"refund id":         func(a *refund.Fact, first refund.Record, _ string) { a.Names.RefundID = first.RefundID },
		"another number, and this refund's id": func(a *refund.Fact, first refund.Record, number string) {
			a.Kind, a.ChannelRefundID = refund.Unknown, ""
			a.Names = refund.Names{Number: number, RefundID: "rf_1"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newWorkflow(t)
			keys := f.refunds(t, "rf", 2)
			f.acked(t, keys[0], "ch_first")
			a := succeeded(f.claim(t, keys[1], refund.AttemptSend, 10*time.Second), "ch_second")
			spoil(&a, f.load(t, keys[0]), f.number(t, keys[0]))
			f.enter(t, keys[1], a)
			f.wantContradiction(t, keys[0], refund.StateAccepted)
			f.wantContradiction(t, keys[1], refund.StateUnknown)
			if at := f.load(t, keys[1]).Attempts[0]; at.Answer != refund.Unknown {
				t.Errorf("the attempt is answered %q, want UNKNOWN", at.Answer)
			}
			f.wantSound(t)
		})
	}
}

// An answer about another refund altogether is no contradiction: it is no answer.
func TestAnAnswerAboutAnotherRefundIsNoContradiction(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 2)
	f.acked(t, keys[0], "ch_first")
	a := answered(f.claim(t, keys[1], refund.AttemptSend, 10*time.Second), refund.Unknown)
	a.Names = refund.Names{Number: f.number(t, keys[0]), RefundID: f.load(t, keys[0]).RefundID}
	f.enter(t, keys[1], a)
	for _, k := range keys {
		if r := f.load(t, k); r.Case != nil {
			t.Errorf("%s has a case: %+v", r.RefundID, r.Case)
		}
	}
	f.wantSound(t)
}

// A list of one payment shows the number of another payment's refund, a known id under another number, and a line of another account.
func TestALineThatNamesTwoRefundsMovesNothing(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, listing)
	a, _ := c.pair(t, "pay_a", 1000, 100, 50)
	b, _ := c.pair(t, "pay_b", 1000, 100, 50)
	c.acked(t, a, "re_a")
	c.acked(t, b, "re_b")
	wrong := foreign("re_9", 100)
	wrong.Number = c.number(t, b)
	c.lines(t, "pay_a", true, wrong)
	c.wantContradiction(t, b, refund.StateAccepted)
	if n := c.count(t, `SELECT count(*) FROM effects`); n != 0 {
		t.Errorf("%d effects: the line contradicts itself, so nothing is held or adopted", n)
	}
	known := foreign("re_a", 100)
	known.Number = "no-number-of-ours"
	c.lines(t, "pay_a", true, known)
	c.wantContradiction(t, a, refund.StateAccepted)
	c.wantConsistent(t)
}

// The refund that loses an id which only a line had given to it gets a case: what was concluded from the pairing is in doubt.
func TestARefundThatLosesAPairedIDGetsACase(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, func(c *refund.Contract) { listing(c); c.Waits.Unknown = 1 })
	a, b := c.pair(t, "pay", 1000, 100, 100)
	c.stuck(t, a)
	c.decide(t, a, refund.ActionConfirmSuccess)
	c.lines(t, "pay", true, foreign("re_1", 100))
	claimed := c.send(t, b, refund.Unknown, "")
	c.enter(t, b, refund.Fact{Kind: refund.Succeeded, Dispatch: claimed.DispatchNo, ChannelRefundID: "re_1", Amount: 100, Currency: "USD", Source: "notice"})
	c.wantState(t, b, refund.StateSuccess)
	c.wantReasons(t, c.load(t, a), refund.CaseContradiction)
	c.wantConsistent(t)
}
