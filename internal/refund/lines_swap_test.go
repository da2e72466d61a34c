package refund

import (
	"slices"
	"testing"
)

// crossed returns two paid refunds of one amount. Each has the channel refund id of the other one: the channel gave no ids, and the lines
// of its list were given to the wrong refunds, by the machine or by people.
func crossed(t *testing.T, byPeople bool) *paymentScenario {
	k := newPaymentScenario(t)
	k.equalAmounts(2000)
	k.f.Contract.Codes.LateFailure = false
	if byPeople {
		k.loseAnswer(0)
		k.loseAnswer(1)
		k.line("re_a", 400, true)
		k.line("re_b", 400, true)
		k.settle()
		k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_b")})
		k.mustDecide(1, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_a")})
	} else {
		for i := range k.f.Records {
			k.change(i, func(s *scenario) { s.answerWith(s.send(), Succeeded) })
		}
		k.line("re_b", 400, true)
		k.line("re_a", 400, true)
	}
	for i, id := range []string{"re_b", "re_a"} {
		if e := k.f.Records[i].Effects; len(e) != 1 || e[0].ChannelRefundID != id {
			t.Fatalf("refund %d: effects %+v, want one with %s", i, e, id)
		}
	}
	if p := k.f.Payment; p.Refunded != 800 || p.Held != 0 {
		t.Fatalf("payment %+v", p)
	}
	return k
}

// proves enters the channel's own word that a number of refund i has an id, as the store does: an effect of another refund that has the
// id from a line loses it first.
func (k *paymentScenario) proves(i int, id string) {
	k.t.Helper()
	for n := range k.f.Records {
		ch, ok, err := Unpair(k.f.full(n), id, k.f.Contract)
		if err != nil {
			k.t.Fatal(err)
		}
		if ok && n != i {
			k.absorb(ch)
		}
	}
	ch, err := Apply(k.f.full(i), Fact{Kind: Succeeded, Dispatch: 1, ChannelRefundID: id, Amount: 400, Currency: "USD", Source: "notice"}, k.f.Contract)
	if err != nil {
		k.t.Fatal(err)
	}
	k.absorb(ch)
	k.settle()
}

// Two refunds of one amount, both paid, and each has the other's line. Once the channel says which id the one has, they swap: each has its
// own, and nothing is counted twice.
func TestCrossedPairsSwap(t *testing.T) {
	t.Parallel()
	for name, byPeople := range map[string]bool{"paired by the machine": false, "named by people": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := crossed(t, byPeople)
			k.proves(0, "re_a")
			for i, id := range []string{"re_a", "re_b"} {
				if r := k.f.Records[i]; r.State != StateSuccess || len(r.Effects) != 1 || r.Effects[0].ChannelRefundID != id {
					t.Errorf("refund %d: %s, effects %+v, want %s", i, r.State, r.Effects, id)
				}
			}
			if p := k.f.Payment; p.Refunded != 800 || p.Held != 0 || p.Excess != 0 {
				t.Errorf("payment %+v", p)
			}
			k.expectCase("it had another one's id", 1, CaseContradiction)
			if byPeople {
				k.expectCase("people had named another line", 0, CaseMultipleEffects)
			} else {
				k.expectCase("one effect, its own", 0)
			}
			was := slices.Clone(k.f.Records)
			k.proves(1, "re_b")
			for i := range was {
				if r := k.f.Records[i]; len(r.Effects) != 1 || r.Effects[0].ChannelRefundID != was[i].Effects[0].ChannelRefundID {
					t.Errorf("the second proof says the same: refund %d has %+v", i, r.Effects)
				}
			}
		})
	}
}

// Whatever the order of proofs and lists, and whoever has paired the lines, straight or crossed: in the end each refund has its own id, and
// each movement of money is counted once.
func TestPairsEndWithTheirOwnRefunds(t *testing.T) {
	t.Parallel()
	steps := []func(k *paymentScenario){
		func(k *paymentScenario) { k.proves(0, "re_a") },
		func(k *paymentScenario) { k.proves(1, "re_b") },
		func(k *paymentScenario) { k.line("re_a", 400, true) },
		func(k *paymentScenario) { k.line("re_b", 400, false) },
		func(k *paymentScenario) { k.settle() },
	}
	var orders [][]int
	var permute func(order []int)
	permute = func(order []int) {
		if len(order) == len(steps) {
			orders = append(orders, slices.Clone(order))
		}
		for n := range steps {
			if !slices.Contains(order, n) {
				permute(append(slices.Clone(order), n))
			}
		}
	}
	permute(nil)
	for _, byPeople := range []bool{false, true} {
		for _, order := range orders {
			k := crossed(t, byPeople)
			for _, n := range order {
				steps[n](k)
			}
			k.settle()
			stands := slices.ContainsFunc(k.f.Lines, func(e Effect) bool { return e.Status != EffectDropped })
			a, b := k.f.Records[0].Effects, k.f.Records[1].Effects
			if len(a) != 1 || len(b) != 1 || a[0].ChannelRefundID != "re_a" || b[0].ChannelRefundID != "re_b" || stands || k.f.Payment.Refunded != 800 {
				t.Errorf("order %v, by people %v: effects %+v and %+v, lines %+v, payment %+v", order, byPeople, a, b, k.f.Lines, k.f.Payment)
			}
		}
	}
}

// Two numbers of one refund: a line has given the second number's effect the id of the first one. When the channel says so, the first one's
// effect is booked beside it, and the second one's gets its own id later.
func TestALineOfTheOtherNumberMoves(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.answerWith(s.send(), RefusedNewNumber)
	s.answerWith(s.send(), Succeeded)
	s.r.Effects[0].ChannelRefundID = "re_1"
	s.noticeOf1000(Succeeded, "re_1")
	s.enter(Fact{Kind: Succeeded, Dispatch: 2, ChannelRefundID: "re_2", Amount: 1000, Currency: "USD", Source: "notice", Actor: "system:notices"})
	if e := s.r.Effects; len(e) != 2 || e[0].ChannelRefundID != "re_2" || e[0].DispatchNo != 2 || e[1].ChannelRefundID != "re_1" || e[1].DispatchNo != 1 {
		t.Errorf("effects %+v", e)
	}
	s.expect("two movements", StateSuccess, false, CaseExcess, CaseMultipleEffects)
}

// A person confirms the second number and names a line. The channel says that the first number made it: the one effect belongs to that.
func TestANamedLineOfTheOtherNumberIsNotBookedTwice(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "noticing")
	s.answerWith(s.send(), RefusedNewNumber)
	s.loseAnswer()
	s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
	s.applyDecision(ActionConfirmSuccess)
	s.r.Effects[0].ChannelRefundID = "re_1"
	s.noticeOf1000(Succeeded, "re_1")
	if e := s.r.Effects; len(e) != 1 || e[0].ChannelRefundID != "re_1" || e[0].DispatchNo != 1 {
		t.Errorf("effects %+v", e)
	}
	s.expect("reviewed", StateSuccess, false, CaseContradiction)
	s.noticeOf1000(Succeeded, "re_1")
	s.expect("known from now on", StateSuccess, false, CaseContradiction)
}

// People name a line, and the channel then gives the number another id: the channel's is booked, the line is decided again, and a person
// must review the refund.
func TestAnotherIDThanPeopleNamedOpensACase(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.line("re_9", 400, true)
	k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_9")})
	k.proves(0, "re_1")
	if r := k.f.Records[0]; len(r.Effects) != 1 || r.Effects[0].ChannelRefundID != "re_1" {
		t.Errorf("effects %+v", r.Effects)
	}
	k.expect("the line is somebody else's", EffectMoved, 800, 0)
	k.expectCase("a person reviews it", 0, CaseExcess, CaseMultipleEffects)
}

// A pairing by a person gives way to the channel's word. The refund that loses the id has nothing but a person's confirmation left, which
// can be revoked.
func TestARefundThatLosesItsLineCanBeReviewed(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.equalAmounts(2000)
	k.loseAnswer(0)
	k.loseAnswer(1)
	k.line("re_a", 400, true)
	k.settle()
	k.mustDecide(1, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_a")})
	k.proves(0, "re_a")
	if e := k.f.Records[1].Effects; len(e) != 1 || e[0].ChannelRefundID != "" || !e[0].ByPersonOnly() {
		t.Errorf("effects %+v", e)
	}
	k.expectCase("its line was another refund's", 1, CaseContradiction)
	k.mustDecide(1, Decision{Action: ActionRevokeConfirmation})
	if r := k.f.Records[1]; r.State != StateReversed || k.f.Payment.Refunded != 400 {
		t.Errorf("%s, payment %+v", r.State, k.f.Payment)
	}
}

// A number whose booked line only people have named has ended negatively by the channel's word: a person must review it.
func TestTheChannelContradictsANamedLine(t *testing.T) {
	t.Parallel()
	k := newPaymentScenario(t)
	k.loseAnswer(0)
	k.line("re_9", 400, true)
	k.mustDecide(0, Decision{Action: ActionConfirmSuccess, EffectID: k.lineID("re_9")})
	k.change(0, func(s *scenario) { s.notice(FailedFinal, 1, "") })
	if r := k.f.Records[0]; r.State != StateSuccess || !r.Case.Has(CaseContradiction) {
		t.Errorf("%s with case %v", r.State, reasonsOf(r.Case))
	}
}
