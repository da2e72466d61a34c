package refund

import (
	"slices"
	"testing"
)

// paymentScenario drives a payment of 1,000 captured with refunds of 400 and 300, and lines of its list.
type paymentScenario struct {
	t   *testing.T
	f   PaymentSet
	ids byte
}

func newPaymentScenario(t *testing.T) *paymentScenario {
	t.Helper()
	a, b := newRecord(), newRecord()
	a.Amount = 400
	b.Amount, b.RefundID, b.RID = 300, "rf_2", RID{15: 8}
	b.Dispatches = []Dispatch{{Ordinal: 1, Number: DispatchNumber(b.Installation, b.TenantCode, b.RefundID, 1)}}
	pay := Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: 1000, Reserved: 700}
	a.Payment, b.Payment = pay, pay
	return &paymentScenario{t: t, f: PaymentSet{Payment: pay, Records: []Record{a, b}, Contract: classes(t)["listing"], Source: "list", Now: day0}}
}

// change applies facts to one refund as if its payment had no other one, and adds the difference to the shared balances.
func (k *paymentScenario) change(i int, do func(s *scenario)) {
	k.t.Helper()
	r := k.f.full(i)
	r.Payment = Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: k.f.Payment.Captured, Held: underFinal(r.Refund)}
	if !r.State.Final() {
		r.Payment.Reserved = r.Amount
	}
	for _, e := range r.Effects {
		switch e.Status {
		case EffectMoved:
			r.Payment.Refunded += e.Counted
		case EffectHeld:
			if e.CoveredBy.IsZero() {
				r.Payment.Held += e.Counted
			}
		}
	}
	s := &scenario{t: k.t, r: r, c: k.f.Contract}
	do(s)
	k.f.Now = later(k.f.Now, s.r.Now)
	after, was, is := s.r, r.Payment, s.r.Payment
	after.Payment = k.f.Payment
	after.Payment.Reserved += is.Reserved - was.Reserved
	after.Payment.Refunded += is.Refunded - was.Refunded
	after.Payment.Held += is.Held - was.Held
	after.Payment = after.Payment.WithExcess()
	k.f.Absorb(Change{Before: r, After: k.nameRows(after)})
}

// nameRows gives ids to new effects, as the store does.
func (k *paymentScenario) nameRows(r Record) Record {
	for i := range r.Effects {
		if r.Effects[i].ID.IsZero() {
			k.ids++
			r.Effects[i].ID = RID{0: 1, 15: k.ids}
		}
	}
	return r
}

func (k *paymentScenario) loseAnswer(i int) {
	k.change(i, func(s *scenario) { s.answerWith(s.send(), Unknown) })
}

func (k *paymentScenario) confirmNotDone(i int) {
	k.change(i, func(s *scenario) {
		s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
		s.applyDecision(ActionConfirmNotDone)
	})
}

func (k *paymentScenario) confirmSuccess(i int) {
	k.change(i, func(s *scenario) {
		s.r.Case = &Case{Reasons: []CaseReason{CaseDeadline}}
		s.applyDecision(ActionConfirmSuccess)
	})
}

// line enters a line and everything that follows from it.
func (k *paymentScenario) line(id string, amount int64, complete bool) bool {
	k.t.Helper()
	ch, changed, err := k.f.DecideLine(ListedEffect{ChannelRefundID: id, Status: Succeeded, Amount: amount, Currency: "USD"}, complete)
	if err != nil {
		k.t.Fatal(err)
	}
	if changed {
		k.absorb(ch)
	}
	return changed
}

func (k *paymentScenario) settle() {
	k.t.Helper()
	for range 20 {
		ch, more, err := k.f.Settle()
		if err != nil {
			k.t.Fatal(err)
		}
		if !more {
			return
		}
		k.absorb(ch)
	}
	k.t.Fatal("the held lines are never settled")
}

func (k *paymentScenario) absorb(ch Change) {
	k.t.Helper()
	ch.After = k.nameRows(ch.After)
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
			if e.CoveredBy.IsZero() {
				held += e.Counted
			}
		}
		if e.ChannelRefundID != "" && e.Status != EffectDropped {
			if ids[e.ChannelRefundID] {
				k.t.Errorf("id %s is booked twice", e.ChannelRefundID)
			}
			ids[e.ChannelRefundID] = true
		}
	}
	if p := k.f.Payment; p.Refunded != refunded || p.Held != held || p != p.WithExcess() {
		k.t.Errorf("payment %+v, effects say refunded %d, held %d", p, refunded, held)
	}
}

func (k *paymentScenario) expect(why string, line EffectStatus, refunded, held int64, cases ...int) {
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
