package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// The lines of one list enter in one transaction, however many they are, and the same list again writes nothing.
func TestFiveThousandLinesOfAListEnterTogether(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	r := f.load(t, k)
	if _, err := f.pool.Exec(t.Context(), `UPDATE payments SET captured = 1000000`); err != nil {
		t.Fatal(err)
	}
	f.enter(t, k, succeeded(f.claim(t, k, refund.AttemptSend, 10*time.Second), "ch_1"))
	lines := make([]refund.ListedEffect, 5000)
	for i := range lines {
		lines[i] = foreign(fmt.Sprint("re_", i), 7)
	}
	for range 2 {
		began := time.Now()
		if err := f.EnterLines(t.Context(), k.Tenant, r.PaymentID, "list", lines, true, f.contract); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d lines in %s", len(lines), time.Since(began))
	}
	if got := f.text(t, `SELECT count(*) || ' ' || count(DISTINCT at) || ' ' || sum(amount) FROM effects WHERE rid IS NULL`); got != "5000 1 35000" {
		t.Errorf("lines, transactions and sum are %s, want 5000 lines of one transaction", got)
	}
	if r := f.load(t, k); r.Payment.Refunded != 35100 {
		t.Errorf("refunded %d", r.Payment.Refunded)
	}
	f.wantSound(t)
}

// Lines with the numbers of other refunds of the payment enter in the transaction of their list.
func TestLinesWithOurNumbersEnterWithTheirList(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	var keys []refund.RefundRef
	var lines []refund.ListedEffect
	for i := range 5 {
		id := fmt.Sprint("rf_", i)
		out := f.accept(t, f.request("e_"+id, id, "pay_1", 100, inlinePayment(1000)))
		k := out[0].Refund.RefundRef
		f.enter(t, k, answered(f.claim(t, k, refund.AttemptSend, 50*time.Millisecond), refund.Unknown))
		keys = append(keys, k)
		lines = append(lines, refund.ListedEffect{Number: f.number(t, k), ChannelRefundID: "re_" + id, Status: refund.Succeeded, Amount: 100, Currency: "USD"})
	}
	f.receive(t, notice("returned", "", "re_rf_2", refund.Reversed), refund.NoticeKept)
	lines = append(lines, foreign("re_other", 33))
	for range 2 {
		if err := f.EnterLines(t.Context(), keys[0].Tenant, "pay_1", "list", lines, true, f.contract); err != nil {
			t.Fatal(err)
		}
	}
	for i, k := range keys {
		want := refund.StateSuccess
		if i == 2 { // a notice waited for the id
			want = refund.StateReversed
		}
		r := f.wantState(t, k, want)
		if !slices.ContainsFunc(r.Effects, func(e refund.Effect) bool { return e.Ours && e.ChannelRefundID == lines[i].ChannelRefundID }) {
			t.Errorf("rf_%d: effects %+v", i, r.Effects)
		}
	}
	if got := f.text(t, `SELECT count(DISTINCT at)::text FROM effects`); got != "1" { // at is the time of the transaction
		t.Errorf("booked in %s transactions, want one", got)
	}
	f.wantSound(t)
}

// A line that this transaction cannot write does not stop the others: Enter has the answer to it.
func TestOneBadLineDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	var keys []refund.RefundRef
	var lines []refund.ListedEffect
	f.refuse(t, "effects", "effects_of_the_test_ck", "amount <> 7777")
	for i, amount := range []int64{100, 7777, 100} {
		id := fmt.Sprint("rf_", i)
		out := f.accept(t, f.request("e_"+id, id, "pay_1", 100, inlinePayment(1000)))
		k := out[0].Refund.RefundRef
		f.enter(t, k, answered(f.claim(t, k, refund.AttemptSend, 50*time.Millisecond), refund.Unknown))
		keys = append(keys, k)
		lines = append(lines, refund.ListedEffect{Number: f.number(t, k), ChannelRefundID: "re_" + id, Status: refund.Succeeded, Amount: amount, Currency: "USD"})
	}
	if err := f.EnterLines(t.Context(), keys[0].Tenant, "pay_1", "list", lines, true, f.contract); err != nil {
		t.Fatal(err)
	}
	f.wantState(t, keys[0], refund.StateSuccess)
	if r := f.wantState(t, keys[1], refund.StateUnknown); !r.Case.Has(refund.CaseContradiction) || r.Payment.Refunded != 200 {
		t.Errorf("case %+v, refunded %d, want a contradiction and the two others", r.Case, r.Payment.Refunded)
	}
	f.wantState(t, keys[2], refund.StateSuccess)
	f.wantSound(t)
}
