package refund

import (
	"slices"
	"testing"
	"time"
)

// kin drives a payment with two refunds of 400 and 300 of 1,000 captured, and lines of its list.
type kin struct {
	t *testing.T
	f PaymentSet
}

func newKin(t *testing.T) *kin {
	t.Helper()
	a, b := born(), born()
	a.Amount = 400
	b.Amount, b.RefundID, b.RID = 300, "rf_2", RID{15: 8}
	b.Dispatches = []Dispatch{{Ordinal: 1, Number: DispatchNumber(b.Installation, b.TenantCode, b.RefundID, 1)}}
	pay := Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: 1000, Reserved: 700}
	a.Payment, b.Payment = pay, pay
	return &kin{t: t, f: PaymentSet{Payment: pay, Records: []Record{a, b}, Contract: classes(t)["listing"], Source: "list", Now: day0}}
}

// on changes one refund as its own facts do it, on a payment without the other one; what it did to the balances is added to theirs.
func (k *kin) on(i int, do func(s *story)) {
	k.t.Helper()
	r := k.f.Records[i]
	r.Effects = append(slices.Clone(r.Effects), k.f.Lines...)
	r.Now = k.f.Now
	r.Payment = Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: k.f.Payment.Captured, Held: underFinal(r.Refund)}
	if !r.State.Final() {
		r.Payment.Reserved = r.Amount
	}
	for _, e := range r.Effects {
		switch e.Status {
		case EffectMoved:
			r.Payment.Refunded += e.Counted
		case EffectHeld:
			r.Payment.Held += e.Counted
		}
	}
	s := &story{t: k.t, r: r, c: k.f.Contract}
	do(s)
	k.f.Now = later(k.f.Now, s.r.Now)
	after, was, is := s.r, r.Payment, s.r.Payment
	after.Payment = k.f.Payment
	after.Payment.Reserved += is.Reserved - was.Reserved
	after.Payment.Refunded += is.Refunded - was.Refunded
	after.Payment.Held += is.Held - was.Held
	after.Payment = after.Payment.WithExcess()
	k.f.Absorb(Change{Before: r, After: after})
}

func (k *kin) unsure(i int) { k.on(i, func(s *story) { s.says(s.send(), Unknown) }) }

func (k *kin) notDone(i int) {
	k.on(i, func(s *story) {
		s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
		s.decides(ActionConfirmNotDone)
	})
}

func (k *kin) confirmed(i int) {
	k.on(i, func(s *story) {
		s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
		s.decides(ActionConfirmSuccess)
	})
}

// line tells a line and everything that follows from it.
func (k *kin) line(id string, amount int64, complete bool) bool {
	k.t.Helper()
	ch, changed, err := k.f.Line(ListedEffect{ChannelRefundID: id, Status: Succeeded, Amount: amount, Currency: "USD"}, complete)
	if err != nil {
		k.t.Fatal(err)
	}
	if changed {
		k.take(ch)
	}
	return changed
}

func (k *kin) settle() {
	k.t.Helper()
	for range 20 {
		ch, more, err := k.f.Settle()
		if err != nil {
			k.t.Fatal(err)
		}
		if !more {
			return
		}
		k.take(ch)
	}
	k.t.Fatal("the held lines never come to rest")
}

func (k *kin) take(ch Change) {
	k.t.Helper()
	k.f.Absorb(ch)
	var refunded, held int64
	all := slices.Clone(k.f.Lines)
	ids := map[string]bool{}
	for _, r := range k.f.Records {
		all = append(all, r.Effects...)
	}
	for _, e := range all {
		switch e.Status {
		case EffectMoved:
			refunded += e.Counted
		case EffectHeld:
			held += e.Counted
		}
		if e.ChannelRefundID != "" && e.Status != EffectDropped {
			if ids[e.ChannelRefundID] {
				k.t.Errorf("id %s is in the books twice", e.ChannelRefundID)
			}
			ids[e.ChannelRefundID] = true
		}
	}
	if p := k.f.Payment; p.Refunded != refunded || p.Held != held || p != p.WithExcess() {
		k.t.Errorf("payment %+v, effects say refunded %d, held %d", p, refunded, held)
	}
}

func (k *kin) wants(why string, line EffectStatus, refunded, held int64, cases ...int) {
	k.t.Helper()
	if len(k.f.Lines) == 0 || k.f.Lines[len(k.f.Lines)-1].Status != line {
		k.t.Errorf("%s: lines %+v, want the last %s", why, k.f.Lines, line)
	}
	if p := k.f.Payment; p.Refunded != refunded || p.Held != held {
		k.t.Errorf("%s: refunded %d, held %d, want %d and %d", why, p.Refunded, p.Held, refunded, held)
	}
	for i, r := range k.f.Records {
		if r.Case.Has(CaseUnmatchedLine) != slices.Contains(cases, i) {
			k.t.Errorf("%s: refund %d has case %v", why, i, reasonsOf(r.Case))
		}
	}
}

// The fixed order, rule by rule.
func TestLinesInTheirOrder(t *testing.T) {
	t.Parallel()
	t.Run("1 the id is known", func(t *testing.T) {
		t.Parallel()
		k := newKin(t)
		k.on(0, func(s *story) { s.answer(s.send(), Answer{Kind: Succeeded, ChannelRefundID: "re_1"}) })
		if k.line("re_1", 400, true) {
			t.Error("a known id is no news")
		}
		k.on(1, func(s *story) { s.answer(s.send(), Answer{Kind: Acknowledged, ChannelRefundID: "re_2"}) })
		if k.line("re_2", 300, true) {
			t.Error("nor is one that the channel only acknowledged")
		}
	})
	t.Run("2 the amount of something exposed", func(t *testing.T) {
		t.Parallel()
		k := newKin(t)
		k.unsure(1)
		k.line("re_9", 300, true)
		k.wants("held, and a person is called", EffectHeld, 0, 300, 1)
	})
	t.Run("3 an effect without an id", func(t *testing.T) {
		t.Parallel()
		k := newKin(t)
		k.unsure(0)
		k.confirmed(0)
		k.line("re_9", 400, true)
		if e := k.f.Records[0].Effects[0]; e.ChannelRefundID != "re_9" || k.f.Payment.Refunded != 400 || len(k.f.Lines) != 0 {
			t.Errorf("paired: %+v, payment %+v", e, k.f.Payment)
		}
		if facts := k.f.Records[0].Facts; len(facts) != 0 {
			t.Errorf("a line carries no fact key: %d", len(facts))
		}
		if k.line("re_9", 400, true) {
			t.Error("known from now on")
		}
	})
	t.Run("4 closed by a decree only", func(t *testing.T) {
		t.Parallel()
		k := newKin(t)
		k.unsure(0)
		k.notDone(0)
		k.line("re_9", 400, true)
		k.wants("held, and a person is called to the ended refund", EffectHeld, 0, 400, 0)
	})
	t.Run("5 another amount while something is exposed", func(t *testing.T) {
		t.Parallel()
		k := newKin(t)
		k.unsure(0)
		k.line("re_9", 111, true)
		k.wants("held without a case", EffectHeld, 0, 111)
	})
	t.Run("6 nobody's", func(t *testing.T) {
		t.Parallel()
		k := newKin(t)
		if k.line("re_9", 400, false) {
			t.Error("C34: an incomplete list adopts nothing")
		}
		k.line("re_9", 400, true)
		k.wants("adopted", EffectMoved, 400, 0)
		if k.f.Payment.Excess != 100 {
			t.Errorf("excess %d, want 100", k.f.Payment.Excess)
		}
	})
}

// What held a line comes to its end.
func TestHeldLinesComeToRest(t *testing.T) {
	t.Parallel()
	heldAt := func(t *testing.T) *kin {
		k := newKin(t)
		k.unsure(0)
		k.line("re_9", 400, true)
		k.wants("held", EffectHeld, 0, 400, 0)
		return k
	}
	t.Run("the same id is ours: dropped", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.on(0, func(s *story) { s.notice(Succeeded, 1, "re_9") })
		k.settle()
		k.wants("counted once", EffectDropped, 400, 0)
	})
	t.Run("another id is ours: adopted", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.on(0, func(s *story) { s.notice(Succeeded, 1, "re_1") })
		k.settle()
		k.wants("somebody else's", EffectMoved, 800, 0)
	})
	t.Run("ours ended negative: adopted", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.f.Now = k.f.Now.Add(time.Minute)
		k.on(0, func(s *story) { s.notice(FailedFinal, 1, "") })
		k.settle()
		k.wants("somebody else's", EffectMoved, 400, 0)
	})
	t.Run("a person confirms without an id: paired", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.on(0, func(s *story) { s.decides(ActionConfirmSuccess) })
		k.settle()
		k.wants("one effect", EffectDropped, 400, 0)
		if e := k.f.Records[0].Effects[0]; e.ChannelRefundID != "re_9" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("a person attaches it", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.f.Lines[0].ID = RID{15: 42}
		k.on(0, func(s *story) {
			s.r.Now = s.r.DecisionFrom(s.c)
			d := s.decision(ActionConfirmSuccess)
			d.EffectID = RID{15: 42}
			ch, err := ApplyDecision(s.r, d, s.c)
			if err != nil {
				t.Error(err)
			}
			s.r = ch.After
		})
		k.settle()
		if e := k.f.Records[0].Effects; len(e) != 1 || e[0].ID != (RID{15: 42}) || k.f.Payment.Refunded != 400 || k.f.Payment.Held != 0 || k.f.Records[0].Case != nil {
			t.Errorf("effects %+v, payment %+v", e, k.f.Payment)
		}
	})
	t.Run("a person says not done: adopted", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.on(0, func(s *story) { s.decides(ActionConfirmNotDone) })
		k.wants("by the decision itself", EffectMoved, 400, 0)
		k.settle()
		k.wants("and it stays so", EffectMoved, 400, 0)
	})
	t.Run("never adopted while a sibling may pay", func(t *testing.T) {
		t.Parallel()
		k := heldAt(t)
		k.unsure(1)
		k.on(0, func(s *story) { s.r.OthersMayPay = true; s.decides(ActionConfirmNotDone) })
		k.wants("still held", EffectHeld, 0, 400)
		k.settle()
		k.wants("by step 5 of rule R19 again", EffectHeld, 0, 400, 0)
	})
}

// A foreign line that proves to be ours is re-attributed: the balance has it already, and a person must look.
func TestAdoptedLineProvesToBeOurs(t *testing.T) {
	t.Parallel()
	k := newKin(t)
	k.unsure(0)
	k.line("re_9", 400, true)
	k.on(0, func(s *story) { s.decides(ActionConfirmNotDone) })
	k.on(0, func(s *story) { s.notice(Succeeded, 1, "re_9") })
	if r := k.f.Records[0]; r.State != StateSuccess || !r.Case.Has(CaseContradiction) || k.f.Payment.Refunded != 400 || len(k.f.Lines) != 0 {
		t.Errorf("%s %v, payment %+v, lines %+v", r.State, reasonsOf(r.Case), k.f.Payment, k.f.Lines)
	}
}

// A paired id that the channel then gives to another number moves there, and the freed effect can be paired again.
func TestPairedIDMoves(t *testing.T) {
	t.Parallel()
	s := tell(t, "listing")
	s.says(s.send(), Unknown)
	s.after(2 * time.Hour)
	s.conclude(Deadline, CaseDeadline)
	s.decides(ActionConfirmSuccess)
	f := PaymentSet{Payment: s.r.Payment, Records: []Record{s.r}, Contract: s.c, Source: "list", Now: s.now()}
	ch, ok, err := f.Line(ListedEffect{ChannelRefundID: "re_9", Status: Succeeded, Amount: 1000, Currency: "USD"}, true)
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
	if ch, ok, err = f.Line(ListedEffect{ChannelRefundID: "re_10", Status: Succeeded, Amount: 1000, Currency: "USD"}, true); err != nil || !ok || ch.After.Effects[0].ChannelRefundID != "re_10" {
		t.Errorf("paired again: %v %v %+v", ok, err, ch.After.Effects)
	}
	told := ch.After
	told.Dispatches = slices.Clone(told.Dispatches)
	told.Dispatches[0].ChannelRefundID = "re_10"
	if _, ok, _ := Unpair(told, "re_10", s.c); ok {
		t.Error("what the channel itself gave stays")
	}
}

// Lines that cannot be told apart, or that say nothing of money that stands, change nothing; the end of a foreign one does.
func TestLinesThatAreNoNewsAndEnds(t *testing.T) {
	t.Parallel()
	k := newKin(t)
	for _, l := range []ListedEffect{{Status: Succeeded, Amount: 10, Currency: "USD"}, {ChannelRefundID: "a", Status: Succeeded, Amount: 0}, {ChannelRefundID: "b", Status: Succeeded, Amount: -1},
		{ChannelRefundID: "c", Status: Acknowledged, Amount: 10}, {ChannelRefundID: "d", Status: FailedFinal, Amount: 10}, {ChannelRefundID: "e", Status: Reversed, Amount: 10}} {
		if _, changed, err := k.f.Line(l, true); changed || err != nil {
			t.Errorf("%+v: changed=%v %v", l, changed, err)
		}
	}
	k.line("re_9", 100, true)
	ch, changed, err := k.f.Line(ListedEffect{ChannelRefundID: "re_9", Status: Reversed, Amount: 100}, true)
	if err != nil || !changed || ch.After.Payment.Refunded != 0 || ch.After.Effects[0].Status != EffectReversed {
		t.Errorf("%v %v %+v", changed, err, ch.After.Effects)
	}
}
