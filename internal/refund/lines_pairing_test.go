package refund

import "testing"

// paidTwice is a payment with one refund that succeeded, two moved effects of it without a channel refund id, and two held lines
// of their amount.
func paidTwice() PaymentSet {
	r := newRecord()
	r.State, r.PendingReason = StateSuccess, ""
	r.Effects = []Effect{
		{Ours: true, DispatchNo: 1, Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectMoved},
		{Ours: true, DispatchNo: 1, Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectMoved},
	}
	r.Payment = Payment{Tenant: 1, PaymentID: "pay_1", Currency: "USD", Captured: 5000, Refunded: 2000, Held: 2000, Refunds: 1}
	lines := []Effect{{ChannelRefundID: "re_8", Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectHeld},
		{ChannelRefundID: "re_9", Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectHeld}}
	return PaymentSet{Payment: r.Payment, Records: []Record{r}, Lines: lines, Contract: boundTerms(), Source: "list", Now: day0}
}

func countOf[T any](list []T, is func(T) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// Pairing gives the line's id to one effect and drops the line that it explains: a second effect and a second line stay.
func TestPairingNamesOneEffectAndDropsOneLine(t *testing.T) {
	t.Parallel()
	set := paidTwice()
	ch, ok, err := set.Settle()
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	named := func(id string) int {
		return countOf(ch.After.Effects, func(e Effect) bool { return e.Ours && e.ChannelRefundID == id && e.Status == EffectMoved })
	}
	if named("re_8") != 1 || named("") != 1 {
		t.Errorf("%d effects have the id and %d none, want one each: %+v", named("re_8"), named(""), ch.After.Effects)
	}
	for id, want := range map[string]EffectStatus{"re_8": EffectDropped, "re_9": EffectHeld} {
		if n := countOf(ch.After.Effects, func(e Effect) bool { return !e.Ours && e.ChannelRefundID == id && e.Status == want }); n != 1 {
			t.Errorf("line %s is not %s: %+v", id, want, ch.After.Effects)
		}
	}
	if p := ch.After.Payment; p.Held != 1000 || p.Refunded != 2000 {
		t.Errorf("held %d, refunded %d, want 1000 and 2000", p.Held, p.Refunded)
	}
}

// An id goes to an effect of the line's amount only.
func TestPairingNamesNoEffectOfAnotherAmount(t *testing.T) {
	t.Parallel()
	set := paidTwice()
	set.Records[0].Effects[0].Amount = 400
	ch, ok, err := set.Settle()
	if err != nil || !ok || ch.After.Effects[0].ChannelRefundID != "" || ch.After.Effects[1].ChannelRefundID != "re_8" {
		t.Errorf("%v %v %+v", ok, err, ch.After.Effects)
	}
}

// Unpair takes the id from the effect that has it from a line. Another effect keeps its own id, and a line of the payment keeps this one.
func TestUnpairFreesOnlyTheEffectWithTheID(t *testing.T) {
	t.Parallel()
	r := paidTwice().Records[0]
	r.Effects[0].ChannelRefundID, r.Effects[1].ChannelRefundID = "re_8", "re_9"
	r.Effects = append(r.Effects, Effect{ChannelRefundID: "re_9", Amount: 1000, Currency: "USD", Counted: 1000, Status: EffectDropped})
	ch, ok, err := Unpair(r, "re_9", boundTerms())
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	for i, want := range []string{"re_8", "", "re_9"} {
		if got := ch.After.Effects[i].ChannelRefundID; got != want {
			t.Errorf("effect %d has id %q, want %q", i, got, want)
		}
	}
	if ch.After.Payment != r.Payment {
		t.Errorf("the payment changed: %+v", ch.After.Payment)
	}
}
