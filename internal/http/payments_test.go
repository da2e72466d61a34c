package httpapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

const paymentBody = `{"orderId":"ord_77","amount":10000,"currency":"USD","channelAccount":"demo","channelReference":"ch_77","version":2,"refundedElsewhere":5}`

func TestPutPayment(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	var spec intake.PaymentSpec
	created := true
	w.put = func(s intake.PaymentSpec) (refund.Payment, bool, error) {
		spec = s
		return refund.Payment{PaymentID: "pay:77@x", OrderID: s.OrderID, Currency: s.Currency, Account: s.Account, Reference: s.Reference, KnownBy: refund.BySnapshot,
			Version: s.Version, Captured: s.Amount, RefundedElsewhere: s.RefundedElsewhere, CreatedAt: epoch}, created, nil
	}
	r := c.do("PUT", "/v1/payments/pay:77@x", paymentBody)
	if r.status != 201 || r.header.Get("Location") != "/v1/payments/pay:77@x" || !strings.Contains(r.body, `"refundable":9995`) {
		t.Errorf("%d %v %s", r.status, r.header, r.body)
	}
	if want := (intake.PaymentSpec{OrderID: "ord_77", Amount: 10000, Currency: "USD", Account: "demo", Reference: "ch_77", Version: 2,
		VersionGiven: true, RefundedElsewhere: 5, ElsewhereGiven: true}); spec != want {
		t.Errorf("spec = %+v, want %+v", spec, want)
	}
	created = false
	if r := c.do("PUT", "/v1/payments/pay:77@x", paymentBody); r.status != 200 {
		t.Errorf("again: %d", r.status)
	}
	for code, status := range map[refund.Code]int{refund.CodePaymentConflict: 409, refund.CodeBelowRefunded: 409, refund.CodeAccountNotAllowed: 422,
		refund.CodeReferenceOutside: 422, refund.CodeNotExpressible: 422} {
		w.put = func(intake.PaymentSpec) (refund.Payment, bool, error) {
			return refund.Payment{}, false, &refund.Problem{Code: code, Fields: []string{"currency"}}
		}
		if r := c.do("PUT", "/v1/payments/pay:77@x", paymentBody); r.status != status || !strings.Contains(r.body, string(code)) ||
			!strings.Contains(r.body, `"fields":["currency"]`) {
			t.Errorf("%s: %d %s, want %d", code, r.status, r.body, status)
		}
	}
}

// What a constraint of the database refuses is the request's fault or a bug, and a repeat changes nothing: it is no 500, and the guard is named.
func TestAGuardThatRefusesARequestIsNamed(t *testing.T) {
	t.Parallel()
	w, c := serve(t, func(*fakeBackend, *httpapi.Config) {})
	w.put = func(intake.PaymentSpec) (refund.Payment, bool, error) {
		return refund.Payment{}, false, fmt.Errorf("store: %w", &refund.GuardError{Guard: "payments_captured_ck", Err: errors.New("secret detail")})
	}
	r := c.do("PUT", "/v1/payments/pay_1", paymentBody)
	if r.status != 400 || !strings.Contains(r.body, "payments_captured_ck") || !strings.Contains(r.body, `"retryable":false`) || strings.Contains(r.body, "secret") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestGetPayment(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.payment = httpapi.PaymentView{
		Payment: refund.Payment{Tenant: 1, PaymentID: "pay_77", OrderID: "ord_77", Account: "demo", Reference: "ch_77", Currency: "USD", KnownBy: refund.ByCaptures,
			Captured: 100, Reserved: 10, Refunded: 20, Held: 30, RefundedElsewhere: 50, Excess: 10, CreatedAt: epoch},
		Effects: []httpapi.EffectRow{
			{Effect: refund.Effect{ID: refund.RID{15: 7}, DispatchNo: 1, ChannelRefundID: "re_1", Amount: 20, Currency: "USD", Status: refund.EffectMoved,
				At: epoch}, RefundID: "rf_1", Source: "answer"},
			{Effect: refund.Effect{ID: refund.RID{15: 8}, ChannelRefundID: "re_2", Amount: 30, Currency: "USD", Status: refund.EffectReversed, At: epoch,
				ReversedAt: epoch}, Source: "list"},
		},
	}
	r := c.do("GET", "/v1/payments/pay_77", "")
	var got struct {
		Refundable int64
		Effects    []struct {
			RefundID *string
			Dispatch *int
		}
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != 200 {
		t.Fatalf("%d %s %v", r.status, r.body, err)
	}
	if got.Refundable != 0 || len(got.Effects) != 2 || got.Effects[0].RefundID == nil || *got.Effects[0].Dispatch != 1 ||
		got.Effects[1].RefundID != nil || got.Effects[1].Dispatch != nil {
		t.Errorf("payment = %s", r.body)
	}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	r := sampleRefund("rf_1001")
	r.Case = &refund.Case{ID: refund.RID{15: 9}, Reasons: []refund.CaseReason{refund.CaseDeadline, refund.CaseExcess}, OpenedAt: epoch}
	w.timeline = httpapi.Timeline{
		Refund: r,
		Journal: []httpapi.JournalRow{{Seq: 1, At: epoch, Kind: "accepted", To: refund.StatePending, Source: "rest", Actor: "actor:shop",
			Data: json.RawMessage(`{"n":9007199254740993}`)}},
		Dispatches: []httpapi.DispatchRow{{Dispatch: refund.Dispatch{Ordinal: 1, Number: "R1X", Exposed: true}, CreatedAt: epoch}},
		Attempts: []httpapi.AttemptRow{
			{Attempt: refund.Attempt{No: 1, DispatchNo: 1, Kind: refund.AttemptSend, Generation: 1, StartedAt: epoch, NotAfter: epoch.Add(3 * time.Second)}},
			{Attempt: refund.Attempt{No: 2, DispatchNo: 1, Kind: refund.AttemptQuery, Generation: 2, StartedAt: epoch, NotAfter: epoch, AnsweredAt: epoch,
				Answer: refund.NotFound}, Rule: "r", Late: true, Evidence: json.RawMessage(`{"status":404}`)},
		},
		Deliveries: []httpapi.DeliveryRow{{At: epoch, Consumer: "rest", Source: "rest", EventID: "k-1", Transport: "http:req", Outcome: "TAKEN"}},
		Truncated:  true,
	}
	got := c.do("GET", "/v1/refunds/rf_1001/timeline", "")
	for _, want := range []string{`"from":null`, `{"n":9007199254740993}`, `"evidence":null`, `"evidence":{"status":404}`,
		`"reasons":["deadline","excess"]`, `"reason":"deadline"`, `"truncated":true`, `"effects":[]`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the timeline lacks %s: %s", want, got.body)
		}
	}
	if r := c.do("GET", "/v1/refunds/rf_9/timeline", ""); r.status != 404 {
		t.Errorf("unknown: %d", r.status)
	}
}
