package refund

import (
	"slices"
	"testing"
	"time"
)

// The fixed order of rule R19 of docs/rules.md.
func TestLinesInTheirOrder(t *testing.T) {
	t.Parallel()
	t.Run("1 the id is known", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		k.change(0, func(s *scenario) { s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "re_1"}) })
		if k.line("re_1", 400, true) {
			t.Error("a known id changes nothing")
		}
		k.change(1, func(s *scenario) { s.answer(s.send(), Answer{Kind: Acknowledged, ChannelRefundID: "re_2"}) })
		if k.line("re_2", 300, true) {
			t.Error("nor does an id that the channel only acknowledged")
		}
	})
	t.Run("2 the amount of something exposed", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		k.loseAnswer(1)
		k.line("re_9", 300, true)
		k.expect("held, and a case opens", EffectHeld, 0, 0, 1)
	})
	t.Run("3 an effect without an id", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		k.loseAnswer(0)
		k.confirmSuccess(0)
		k.line("re_9", 400, true)
		if e := k.f.Records[0].Effects[0]; e.ChannelRefundID != "re_9" || k.f.Payment.Refunded != 400 || len(k.f.Lines) != 0 {
			t.Errorf("paired: %+v, payment %+v", e, k.f.Payment)
		}
		if facts := k.f.Records[0].Facts; len(facts) != 0 {
			t.Errorf("a line has no fact key: %d", len(facts))
		}
		if k.line("re_9", 400, true) {
			t.Error("known from now on")
		}
	})
	t.Run("4 closed by a decision only", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		k.loseAnswer(0)
		k.confirmNotDone(0)
		k.line("re_9", 400, true)
		k.expect("held, and a case opens on the ended refund", EffectHeld, 0, 400, 0)
	})
	t.Run("5 another amount while something is exposed", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		k.loseAnswer(0)
		k.line("re_9", 111, true)
		k.expect("held without a case", EffectHeld, 0, 111)
	})
	t.Run("6 nobody's", func(t *testing.T) {
		t.Parallel()
		k := newPaymentScenario(t)
		if k.line("re_9", 400, false) {
			t.Error("an incomplete list adopts nothing")
		}
		k.line("re_9", 400, true)
		k.expect("adopted", EffectMoved, 400, 0)
		if k.f.Payment.Excess != 100 {
			t.Errorf("excess %d, want 100", k.f.Payment.Excess)
		}
	})
}

// A held line comes to its end when the reason to hold it ends.
func TestHeldLinesAreSettled(t *testing.T) {
	t.Parallel()
	heldAt := func(t *testing.T) *paymentScenario {
		k := newPaymentScenario(t)
		k.loseAnswer(0)
		k.line("re_9", 400, true)
		k.expect("held", EffectHeld, 0, 0, 0)
		return k
	}
	t.Run("the same id is ours: dropped", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.change(0, func(s *scenario) { s.notice(Succeeded, 1, "re_9") })
		k.settle()
		k.expect("counted once", EffectDropped, 400, 0)
	})
	t.Run("another id is ours: adopted", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.change(0, func(s *scenario) { s.notice(Succeeded, 1, "re_1") })
		k.settle()
		k.expect("somebody else's", EffectMoved, 800, 0)
	})
	t.Run("ours ended negative: adopted", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.f.Now = k.f.Now.Add(time.Minute)
		k.change(0, func(s *scenario) { s.notice(FailedFinal, 1, "") })
		k.settle()
		k.expect("somebody else's", EffectMoved, 400, 0)
	})
	t.Run("a person confirms without an id: paired", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.change(0, func(s *scenario) { s.applyDecision(ActionConfirmSuccess) })
		k.settle()
		k.expect("one effect", EffectDropped, 400, 0)
		if e := k.f.Records[0].Effects[0]; e.ChannelRefundID != "re_9" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("a person attaches it", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.f.Lines[0].ID = RID{15: 42}
		k.change(0, func(s *scenario) {
			s.r.Now = s.r.TakesEffectFrom(s.c)
			d := s.decision(ActionConfirmSuccess)
			d.EffectID = RID{15: 42}
			ch, err := ApplyDecision(s.r, d, s.c)
			if err != nil {
				t.Error(err)
			}
			s.r = ch.After
		})
		k.settle()
		if e := k.f.Records[0].Effects; len(e) != 1 || e[0].ID != (RID{15: 42}) || k.f.Payment.Refunded != 400 || k.f.Payment.Held != 0 ||
			k.f.Records[0].Case != nil {
			t.Errorf("effects %+v, payment %+v", e, k.f.Payment)
		}
	})
	t.Run("a person says not done: adopted", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.change(0, func(s *scenario) { s.applyDecision(ActionConfirmNotDone) })
		k.expect("by the decision itself", EffectMoved, 400, 0)
		k.settle()
		k.expect("and it stays so", EffectMoved, 400, 0)
	})
	t.Run("never adopted while another refund of the payment may pay", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.loseAnswer(1)
		k.change(0, func(s *scenario) { s.applyDecision(ActionConfirmNotDone) })
		k.expect("still held", EffectHeld, 0, 400)
		k.settle()
		k.expect("a person has answered for the refund: no case again", EffectHeld, 0, 400)
	})
}

// A foreign line that proves to be ours is attributed to the refund: the balance includes it already, and a case opens.
func TestAdoptedLineProvesToBeOurs(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.line("re_9", 400, true)
	k.change(0, func(s *scenario) { s.applyDecision(ActionConfirmNotDone) })
	k.change(0, func(s *scenario) { s.notice(Succeeded, 1, "re_9") })
	if r := k.f.Records[0]; r.State != StateSuccess || !r.Case.Has(CaseContradiction) || k.f.Payment.Refunded != 400 || len(k.f.Lines) != 0 {
		t.Errorf("%s %v, payment %+v, lines %+v", r.State, reasonsOf(r.Case), k.f.Payment, k.f.Lines)
	}
}

// A paired id that the channel then gives to another number moves there, and the effect can be paired again.
func TestPairedIDMoves(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "listing")
	s.answerWith(s.send(), Unknown)
	s.wait(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.applyDecision(ActionConfirmSuccess)
	f := PaymentSet{Payment: s.r.Payment, Records: []Record{s.r}, Contract: s.c, Source: "list", Now: s.now()}
	ch, ok, err := f.DecideLine(ListedEffect{ChannelRefundID: "re_9", Status: Succeeded, Amount: 1000, Currency: "USD"}, true)
	if err != nil || !ok || ch.After.Effects[0].ChannelRefundID != "re_9" {
		t.Fatalf("%v %v %+v", ok, err, ch.After.Effects)
	}
	free, ok, err := Unpair(ch.After, "re_9", s.c)
	if err != nil || !ok || free.After.Effects[0].ChannelRefundID != "" || free.After.Payment != ch.After.Payment {
		t.Fatalf("%v %v %+v", ok, err, free.After.Effects)
	}
	if _, ok, _ := Unpair(free.After, "re_9", s.c); ok {
		t.Error("nothing has the id any more")
	}
	f.Absorb(free)
	if ch, ok, err = f.DecideLine(ListedEffect{ChannelRefundID: "re_10", Status: Succeeded, Amount: 1000, Currency: "USD"}, true); err != nil || !ok ||
		ch.After.Effects[0].ChannelRefundID != "re_10" {
		t.Errorf("paired again: %v %v %+v", ok, err, ch.After.Effects)
	}
	told := ch.After
	told.Dispatches = slices.Clone(told.Dispatches)
	told.Dispatches[0].ChannelRefundID = "re_10"
	if _, ok, _ := Unpair(told, "re_10", s.c); ok {
		t.Error("an id from the channel itself stays")
	}
}

// Lines that cannot be identified, or that report no standing money, change nothing; the end of a foreign line does.
func TestLinesThatChangeNothing(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	for _, l := range []ListedEffect{{Status: Succeeded, Amount: 10, Currency: "USD"}, {ChannelRefundID: "a", Status: Succeeded, Amount: 0},
		{ChannelRefundID: "b", Status: Succeeded, Amount: -1},
		{ChannelRefundID: "c", Status: Acknowledged, Amount: 10}, {ChannelRefundID: "d", Status: FailedFinal, Amount: 10}, {ChannelRefundID: "e",
			Status: Reversed, Amount: 10}} {
		if _, changed, err := k.f.DecideLine(l, true); changed || err != nil {
			t.Errorf("%+v: changed=%v %v", l, changed, err)
		}
	}
	k.line("re_9", 100, true)
	ch, changed, err := k.f.DecideLine(ListedEffect{ChannelRefundID: "re_9", Status: Reversed, Amount: 100}, true)
	if err != nil || !changed || ch.After.Payment.Refunded != 0 || ch.After.Effects[0].Status != EffectReversed {
		t.Errorf("%v %v %+v", changed, err, ch.After.Effects)
	}
}
