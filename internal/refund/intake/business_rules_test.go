package intake

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refundtest"
)

// ruleTime is the database time of the groups in this file.
var ruleTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// viewUnderRules is the view of one locked payment of 1000 minor units, of which 300 are reserved and 2 of 3 refunds are made, with a
// window that ends in an hour. Its account takes refunds of 10 to 900 minor units, in USD only.
func viewUnderRules() View {
	pay := refund.Payment{Tenant: 1, PaymentID: "p", OrderID: "o", Account: "a", Reference: "t:p", Currency: "USD", Exponent: 2,
		KnownBy: refund.BySnapshot, Captured: 1000, Reserved: 300, Refunds: 2, WindowEndsAt: ruleTime.Add(time.Hour)}
	account := func(string, refund.TenantID) (refund.Contract, bool, bool) {
		c := refundtest.Contract()
		c.Limits = refund.LimitTerms{MinAmount: 10, MaxAmount: 900, MaxRefunds: 3, Currencies: []refund.Currency{"USD"}}
		return c, true, true
	}
	return View{Now: ruleTime, Epoch: 1, Got: []bool{true}, Receipts: map[EventRef]Receipt{}, Refunds: map[RefundKey]refund.Refund{},
		Payments:   map[PaymentRef]SeenPayment{{Tenant: 1, PaymentID: "p"}: {Payment: pay, Locked: true}},
		References: map[ReferenceRef]PaymentRef{}, Captures: map[CaptureRef]int64{}, Waiters: map[PaymentRef]bool{}, Account: account}
}

func requestUnderRules() Intake {
	return Intake{Tenant: refund.Tenant{ID: 1, Code: "t"}, Event: EventID{"c", "s", "e"}, Type: TypeRefundRequested, RID: refund.RID{15: 1},
		OccurredAt: ruleTime,
		Refund:     &Request{Params: refund.Params{RefundID: "r", OrderID: "o", PaymentID: "p", Amount: 100, Currency: "USD"}}}
}

// paymentOf changes the payment of the view.
func paymentOf(v View, change func(*refund.Payment)) {
	ref := PaymentRef{Tenant: 1, PaymentID: "p"}
	seen := v.Payments[ref]
	change(&seen.Payment)
	v.Payments[ref] = seen
}

// Each business rule alone refuses a request that meets all others, and allows the last value before its bound.
func TestEachBusinessRuleRefusesByItself(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(View, *Intake)
		want   refund.Code
	}{
		"all rules are met":               {func(View, *Intake) {}, ""},
		"another order":                   {func(_ View, in *Intake) { in.Refund.OrderID = "o2" }, refund.CodeOrderMismatch},
		"another currency":                {func(_ View, in *Intake) { in.Refund.Currency = "EUR" }, refund.CodeCurrencyMismatch},
		"the smallest amount":             {func(_ View, in *Intake) { in.Refund.Amount = 10 }, ""},
		"below the smallest amount":       {func(_ View, in *Intake) { in.Refund.Amount = 9 }, refund.CodeNotExpressible},
		"the window ends in a nanosecond": {func(v View, _ *Intake) { paymentOf(v, func(p *refund.Payment) { p.WindowEndsAt = ruleTime.Add(1) }) }, ""},
		"the window ends now": {func(v View, _ *Intake) { paymentOf(v, func(p *refund.Payment) { p.WindowEndsAt = ruleTime }) },
			refund.CodeWindowClosed},
		"no window":                           {func(v View, _ *Intake) { paymentOf(v, func(p *refund.Payment) { p.WindowEndsAt = time.Time{} }) }, ""},
		"the last of 3 refunds":               {func(v View, _ *Intake) { paymentOf(v, func(p *refund.Payment) { p.Refunds = 2 }) }, ""},
		"a fourth refund":                     {func(v View, _ *Intake) { paymentOf(v, func(p *refund.Payment) { p.Refunds = 3 }) }, refund.CodeCountExceeded},
		"an event as old as a receipt may be": {func(_ View, in *Intake) { in.OccurredAt = ruleTime.Add(-ReceiptWindow) }, ""},
		"an event older than any receipt":     {func(_ View, in *Intake) { in.OccurredAt = ruleTime.Add(-ReceiptWindow - 1) }, refund.CodeEventExpired},
		"an event without a time":             {func(_ View, in *Intake) { in.OccurredAt = time.Time{} }, ""},
		"the whole rest":                      {func(_ View, in *Intake) { in.Refund.Amount = 700 }, ""},
		"more than the rest":                  {func(_ View, in *Intake) { in.Refund.Amount = 701 }, refund.CodeAmountExceeds},
	} {
		v, in := viewUnderRules(), requestUnderRules()
		x.change(v, &in)
		plan := DecideGroup(v, []Intake{in})
		got := plan.Outcomes[0]
		if got.Code != x.want || (got.Verdict == Taken) != (x.want == "") {
			t.Errorf("%s: %s %q, want code %q", name, got.Verdict, got.Code, x.want)
		}
		if created := len(plan.Refunds) == 1; created != (x.want == "") {
			t.Errorf("%s: %d refunds are created", name, len(plan.Refunds))
		}
	}
}

// A currency that the payment has and the account's contract does not list is refused.
func TestACurrencyOutsideTheContractIsNotExpressible(t *testing.T) {
	t.Parallel()
	v, in := viewUnderRules(), requestUnderRules()
	paymentOf(v, func(p *refund.Payment) { p.Currency = "EUR" })
	in.Refund.Currency = "EUR"
	if got := DecideGroup(v, []Intake{in}).Outcomes[0]; got.Code != refund.CodeNotExpressible {
		t.Errorf("%+v, want %s", got, refund.CodeNotExpressible)
	}
}

// The redrive of a refusal decides the event anew and replaces its receipt; a repeat without a redrive gets the stored refusal,
// and a redrive with other parameters is a conflict.
func TestOnlyARedriveBindsARefusedEventAnew(t *testing.T) {
	t.Parallel()
	refused := requestUnderRules()
	stored := Receipt{Type: refused.Type, Digest: refused.Digest(), Params: refused.CanonicalParams(), Outcome: Refused, Code: refund.CodeWindowClosed}
	decide := func(r Receipt, change func(*Intake)) Plan {
		v, in := viewUnderRules(), requestUnderRules()
		v.Receipts[event(in)] = r
		change(&in)
		return DecideGroup(v, []Intake{in})
	}

	plan := decide(stored, func(in *Intake) { in.Redrive = true })
	if plan.Outcomes[0].Verdict != Taken || len(plan.Refunds) != 1 || len(plan.Receipts) != 0 {
		t.Errorf("redriven: %+v, %d refunds, %d new receipts", plan.Outcomes[0], len(plan.Refunds), len(plan.Receipts))
	}
	if len(plan.Rebound) != 1 || plan.Rebound[0].Outcome != Taken || plan.Rebound[0].RID != plan.Outcomes[0].Refund.RID {
		t.Errorf("the receipt is not replaced: %+v", plan.Rebound)
	}

	plan = decide(stored, func(*Intake) {})
	if got := plan.Outcomes[0]; got.Verdict != Refused || got.Code != refund.CodeWindowClosed || !got.Replayed || len(plan.Refunds)+len(plan.Rebound) != 0 {
		t.Errorf("repeated: %+v", got)
	}

	plan = decide(stored, func(in *Intake) { in.Redrive, in.Refund.Amount = true, 101 })
	if got := plan.Outcomes[0]; got.Code != refund.CodeKeyReused || len(plan.Refunds)+len(plan.Rebound) != 0 {
		t.Errorf("redriven with another amount: %+v", got)
	}

	conflict := stored
	conflict.Outcome, conflict.Code = Conflict, refund.CodePaymentConflict
	plan = decide(conflict, func(in *Intake) { in.Redrive = true })
	if got := plan.Outcomes[0]; got.Verdict != Conflict || len(plan.Refunds)+len(plan.Rebound) != 0 {
		t.Errorf("a conflict was decided anew: %+v", got)
	}
}
