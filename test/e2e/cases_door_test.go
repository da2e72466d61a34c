package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// doorCases are about accepting, refusing and repeating requests.
func doorCases() []oneCase {
	return []oneCase{
		{name: "a definite refusal releases the amount", run: refusalReleasesTheAmount, // C11
			rules: []harness.Rule{{Fault: "refused", RefundID: "c11-a"}}},
		{name: "one action under two keys is one refund", run: oneActionUnderTwoKeys},                    // C12
		{name: "a repeat without a key is refused, with the key it is a replay", run: repeatWithoutAKey}, // C14
		{name: "two partial refunds of one payment are two refunds", run: twoPartialRefunds},             // C15
		{name: "the amount of a refund that is not decided yet is not free", run: openAmountIsNotFree, // C17
			rules: []harness.Rule{{Fault: "pending", RefundID: "c17-a", DelayMS: 6000}}},
		{name: "nothing was sent: the amount comes back", run: nothingWasSent, // C22
			rules: []harness.Rule{{Fault: "low-balance", RefundID: "c22-b"}}},
		{name: "a refund that comes before its payment waits for it", run: refundBeforeItsPayment}, // C30
		{name: "a refused event is bound and parked together, once", run: refusedEventIsParked},    // C31
		{name: "a repeat of a refusal is the same refusal", run: refusalStaysARefusal},             // C32
	}
}

func refusalReleasesTheAmount(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, partial("c11-a", "pay-c11", 100, 100))
	r := s.api.UntilState(ctx, "c11-a", "FAILED", 30*time.Second)
	if r.Failure == nil || r.Failure.ChannelCode == nil || *r.Failure.ChannelCode != "not_refundable_window" {
		t.Errorf("failure %+v, want the channel's code", r.Failure)
	}
	s.payment(ctx, t, "pay-c11", 0, 0)
	s.api.Accept(ctx, partial("c11-b", "pay-c11", 100, 100))
	s.paidOnce(ctx, t, "c11-b", 1, 30*time.Second)
	if n := len(s.sim.EffectsOf(ctx, "c11-a")); n != 0 {
		t.Errorf("%d effects of the refused refund, want none", n)
	}
}

func oneActionUnderTwoKeys(ctx context.Context, t *testing.T, s site) {
	first := s.api.Accept(ctx, request("c12", 100, 200))
	res, _ := s.api.Post(ctx, "another-click", request("c12", 100, 200))
	if res.Status != http.StatusOK || !res.Replayed() {
		t.Fatalf("second click: status %d replayed %t, want 200 and true: %s", res.Status, res.Replayed(), res.Body)
	}
	var second harness.Refund
	res.Into(t, &second)
	if second.RefundID != first.RefundID || second.Digest != first.Digest || second.Version < first.Version {
		t.Errorf("second click got %+v, want the state of the first, %+v", second, first)
	}
	s.paidOnce(ctx, t, "c12", 1, 30*time.Second)
	s.payment(ctx, t, "pay-c12", 0, 100)
}

func repeatWithoutAKey(ctx context.Context, t *testing.T, s site) {
	r := request("c14", 40, 80)
	res, err := s.api.Once(ctx, http.MethodPost, "/v1/refunds", nil, r)
	if err != nil || res.Status != http.StatusBadRequest || res.Problem(t).Code != "idempotency-key-missing" {
		t.Fatalf("without a key: %v status %d: %s", err, res.Status, res.Body)
	}
	if n := s.dev.DB().Int(ctx, `SELECT count(*) FROM refunds WHERE refund_id = 'c14'`); n != 0 {
		t.Fatalf("%d refunds after a request without a key", n)
	}
	if res, _ := s.api.Post(ctx, "c14-key", r); res.Status != http.StatusAccepted || res.Replayed() {
		t.Errorf("with a key: status %d replayed %t, want 202 and false", res.Status, res.Replayed())
	}
	for _, form := range []string{"c14-key", `"c14-key"`} { // bare, and the quoted form of RFC 8941
		if res, _ := s.api.Post(ctx, form, r); res.Status != http.StatusOK || !res.Replayed() {
			t.Errorf("again with %s: status %d replayed %t, want 200 and true", form, res.Status, res.Replayed())
		}
	}
	s.paidOnce(ctx, t, "c14", 1, 30*time.Second)
	s.payment(ctx, t, "pay-c14", 0, 40)
}

func twoPartialRefunds(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, partial("c15-a", "pay-c15", 40, 100))
	s.api.Accept(ctx, partial("c15-b", "pay-c15", 40, 100))
	a, b := s.paidOnce(ctx, t, "c15-a", 1, 30*time.Second), s.paidOnce(ctx, t, "c15-b", 1, 30*time.Second)
	if a.Dispatches[0].Number == b.Dispatches[0].Number {
		t.Error("two refunds have one number at the channel")
	}
	s.payment(ctx, t, "pay-c15", 0, 80)
}

func openAmountIsNotFree(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, partial("c17-a", "pay-c17", 60, 100))
	s.api.UntilState(ctx, "c17-a", "ACCEPTED", 30*time.Second)
	s.payment(ctx, t, "pay-c17", 60, 0)
	res, _ := s.api.Post(ctx, "c17-b", partial("c17-b", "pay-c17", 41, 100))
	if res.Status != http.StatusUnprocessableEntity || res.Problem(t).Code != "amount-exceeds-refundable" {
		t.Errorf("41 of the remaining 40: status %d: %s", res.Status, res.Body)
	}
	s.api.Accept(ctx, partial("c17-c", "pay-c17", 40, 100))
	never(t, s.paidOnce(ctx, t, "c17-a", 1, time.Minute), "PENDING", "FAILED")
	s.paidOnce(ctx, t, "c17-c", 1, time.Minute)
	s.payment(ctx, t, "pay-c17", 0, 100)
}

// Refused by our own rules before anything is sent, and canceled by the caller while the channel answers "not now".
func nothingWasSent(ctx context.Context, t *testing.T, s site) {
	inEuros := request("c22-a", 100, 100)
	inEuros.Currency = "EUR"
	res, _ := s.api.Post(ctx, "c22-a", inEuros)
	if res.Status != http.StatusUnprocessableEntity || res.Problem(t).Code != "currency-mismatch" {
		t.Errorf("another currency than the payment's: status %d: %s", res.Status, res.Body)
	}
	db := s.dev.DB()
	if n := db.Int(ctx, `SELECT (SELECT count(*) FROM refunds WHERE refund_id = 'c22-a') + (SELECT count(*) FROM payments WHERE payment_id = 'pay-c22-a')`); n != 0 {
		t.Errorf("%d rows of a refused refund", n)
	}
	s.api.Accept(ctx, request("c22-b", 100, 100))
	s.api.Until(ctx, "c22-b", 30*time.Second, "waits for the balance at the channel", func(r harness.Refund) bool {
		return r.State == "PENDING" && r.PendingReason != nil && *r.PendingReason == "low-balance"
	})
	s.payment(ctx, t, "pay-c22-b", 100, 0)
	harness.Eventually(t, 30*time.Second, "the refund is canceled", func() (bool, string) { // a send under way ends first
		res, _ := s.api.Send(ctx, http.MethodPost, "/v1/refunds/c22-b/cancel", nil, nil)
		return res.Status == http.StatusOK, string(res.Body)
	})
	if r := s.api.Refund(ctx, "c22-b"); r.State != "CANCELED" {
		t.Errorf("state %s after a cancel, want CANCELED", r.State)
	}
	s.payment(ctx, t, "pay-c22-b", 0, 0)
	if n := len(s.sim.EffectsOf(ctx, "c22-b")); n != 0 {
		t.Errorf("%d effects of a canceled refund", n)
	}
}

func refundBeforeItsPayment(ctx context.Context, t *testing.T, s site) {
	r := request("c30", 100, 0)
	r.Payment = nil
	if v := s.api.Events(ctx, harness.NewEvent("c30-ask", "refund.requested", r))[0]; v.Outcome != "waiting" {
		t.Fatalf("verdict %+v before the payment is known, want waiting", v)
	}
	capture := harness.Capture{PaymentID: r.PaymentID, CaptureID: "c1", OrderID: r.OrderID, Amount: 100, Currency: "USD", ChannelAccount: "demo"}
	if v := s.api.Events(ctx, harness.NewEvent("c30-captured", "payment.captured", capture))[0]; v.Outcome != "accepted" {
		t.Fatalf("verdict %+v of the capture, want accepted", v)
	}
	harness.Eventually(t, 30*time.Second, "the waiting refund is accepted", func() (bool, string) {
		res, err := s.api.Once(ctx, http.MethodGet, "/v1/refunds/c30", nil, nil)
		return err == nil && res.Status == http.StatusOK, string(res.Body)
	})
	s.paidOnce(ctx, t, "c30", 1, 30*time.Second)
	if v := s.api.Events(ctx, harness.NewEvent("c30-ask", "refund.requested", r))[0]; v.Outcome != "replayed" {
		t.Errorf("verdict %+v of the same event later, want replayed", v)
	}
	if n := s.dev.DB().Int(ctx, `SELECT count(*) FROM parked WHERE event_id = 'c30-ask' AND done_at IS NULL`); n != 0 {
		t.Error("the message is still parked as open")
	}
}

func refusedEventIsParked(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, partial("c31-a", "pay-c31", 60, 100))
	r := partial("c31-b", "pay-c31", 60, 100)
	r.Payment = nil
	for try := range 3 {
		v := s.api.Events(ctx, harness.NewEvent("c31", "refund.requested", r))[0]
		if v.Outcome != "refused" || v.Problem == nil || v.Problem.Code != "amount-exceeds-refundable" {
			t.Errorf("delivery %d: verdict %+v, want the same refusal each time", try+1, v)
		}
	}
	db := s.dev.DB()
	receipts := db.Int(ctx, `SELECT count(*) FROM receipts WHERE event_id = 'c31' AND outcome = 'REFUSED'`)
	parked := db.Int(ctx, `SELECT count(*) FROM parked WHERE event_id = 'c31'`)
	if receipts != 1 || parked != 1 {
		t.Errorf("%d receipts and %d parked messages, want one of each", receipts, parked)
	}
	if n := db.Int(ctx, `SELECT count(*) FROM refund_keys WHERE refund_id = 'c31-b'`); n != 0 {
		t.Error("a refused event has used the refund id")
	}
}

func refusalStaysARefusal(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, partial("c32-a", "pay-c32", 60, 100))
	for _, c := range []struct {
		key    string
		r      harness.Request
		status int
		code   string
	}{
		{"c32-refused", partial("c32-b", "pay-c32", 41, 100), http.StatusUnprocessableEntity, "amount-exceeds-refundable"},
		{"c32-conflict", partial("c32-a", "pay-c32", 61, 100), http.StatusConflict, "refund-parameters-conflict"},
	} {
		first, _ := s.api.Post(ctx, c.key, c.r)
		if first.Status != c.status || first.Problem(t).Code != c.code || first.Replayed() {
			t.Fatalf("%s: status %d replayed %t, want a new %d %s: %s", c.key, first.Status, first.Replayed(), c.status, c.code, first.Body)
		}
		again, _ := s.api.Post(ctx, c.key, c.r)
		a, b := first.Problem(t), again.Problem(t)
		if again.Status != c.status || !again.Replayed() || a.Code != b.Code || a.Detail != b.Detail || a.RequestID == b.RequestID ||
			!slices.Equal(a.Fields, b.Fields) {
			t.Errorf("%s again: status %d replayed %t, want the same problem as a replay:\n%s\n%s", c.key, again.Status, again.Replayed(), first.Body, again.Body)
		}
	}
	// The caller has acted on the refusal: the key stays refused when the amount has become free meanwhile.
	s.paidOnce(ctx, t, "c32-a", 1, 30*time.Second)
	res, _ := s.api.Send(ctx, http.MethodPut, "/v1/payments/pay-c32", nil, map[string]any{"orderId": "ord-pay-c32", "amount": 200, "currency": "USD",
		"channelAccount": "demo", "version": 1})
	if res.Status >= 300 {
		t.Fatalf("raise the payment: status %d: %s", res.Status, res.Body)
	}
	r := partial("c32-b", "pay-c32", 41, 100)
	if res, _ := s.api.Post(ctx, "c32-refused", r); res.Status != http.StatusUnprocessableEntity || !res.Replayed() {
		t.Errorf("the refused key after the payment grew: status %d, want the same refusal: %s", res.Status, res.Body)
	}
	r.Payment = nil
	if res, _ := s.api.Post(ctx, "c32-new", r); res.Status != http.StatusAccepted {
		t.Errorf("a new key after the payment grew: status %d, want 202: %s", res.Status, res.Body)
	}
}
