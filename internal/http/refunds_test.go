package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

const refundBody = `{"refundId":"rf_1001","orderId":"ord_77","paymentId":"pay_77","amount":1250,"currency":"USD",` +
	`"reason":"damaged","metadata":{"ticket":"T-9"}}`

func TestCreateRefundPassesAnIntakeToTheDoor(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	r := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k-1", "X-Request-Id", "req.1")
	if r.status != 202 || r.header.Get("Location") != "/v1/refunds/rf_1001" || !strings.HasPrefix(r.header.Get("ETag"), `W/"1-`) || r.header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("answer %d %v %s", r.status, r.header, r.body)
	}
	if len(w.accepted) != 1 {
		t.Fatalf("the Door got %d intakes, want 1", len(w.accepted))
	}
	in := w.accepted[0]
	if in.Tenant != (refund.Tenant{ID: 1, Code: "demo"}) || in.Event != (intake.EventID{Consumer: "rest", Source: "rest", ID: "k-1"}) ||
		in.Type != intake.TypeRefundRequested || in.Actor != "actor:shop" || in.Transport != "http:req.1" || in.Park != nil {
		t.Errorf("intake = %+v", in)
	}
	if in.Refund.Params != (refund.Params{RefundID: "rf_1001", OrderID: "ord_77", PaymentID: "pay_77", Amount: 1250, Currency: "USD"}) ||
		in.Refund.Reason != "damaged" || in.Refund.Metadata["ticket"] != "T-9" || in.Refund.Payment != nil {
		t.Errorf("content = %+v", in.Refund)
	}
}

// A refund in the API has every member of the contract; absent values are null.
func TestRefundShape(t *testing.T) {
	t.Parallel()
	_, c := serve(t, nil)
	r := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k-1")
	var got map[string]any
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{"refundId", "state", "orderId", "paymentId", "amount", "currency", "channelAccount", "version", "digest", "pendingReason",
		"nextActionAt", "case", "failure", "channelRefundId", "createdAt", "updatedAt", "reason", "metadata"}
	for _, name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the refund has %d members, want %d: %s", len(got), len(want), r.body)
	}
	if got["digest"] != "d1:9af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96" || got["case"] != nil || got["createdAt"] != "2026-03-01T10:00:00Z" {
		t.Errorf("refund = %s", r.body)
	}
}

func TestQuotedAndBareKeyAreEqual(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	for _, key := range []string{`abc-1`, `"abc-1"`, ` abc-1 `, ` "abc-1"`} {
		c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", key)
	}
	for _, key := range []string{`a\b"c`, `"a\\b\"c"`} {
		c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", key)
	}
	for i, in := range w.accepted {
		want := "abc-1"
		if i >= 4 {
			want = `a\b"c`
		}
		if in.Event.ID != want {
			t.Errorf("key %d = %q, want %q", i, in.Event.ID, want)
		}
	}
	if len(w.accepted) != 6 {
		t.Errorf("the Door got %d intakes, want 6", len(w.accepted))
	}
}

func TestOutcomesOfTheDoor(t *testing.T) {
	t.Parallel()
	known := sampleRefund("rf_1001")
	known.State, known.JournalSeq, known.PendingReason, known.NextActionAt = refund.StateSuccess, 3, "", time.Time{}
	for name, x := range map[string]struct {
		out      intake.Outcome
		err      error
		status   int
		code     string
		replayed bool
		retry    bool // Retry-After
	}{
		"replayed": {out: intake.Outcome{Verdict: intake.Replayed, Refund: &known}, status: 200, replayed: true},
		"key reused": {out: intake.Outcome{Verdict: intake.Conflict, Code: refund.CodeKeyReused, Fields: []string{"amount"}}, status: 409,
			code: "idempotency-key-reused"},
		"conflict again": {out: intake.Outcome{Verdict: intake.Conflict, Code: refund.CodeRefundConflict, Fields: []string{"amount"}, Replayed: true},
			status: 409, code: "refund-parameters-conflict", replayed: true},
		"refused": {out: intake.Outcome{Verdict: intake.Refused, Code: refund.CodeAmountExceeds}, status: 422, code: "amount-exceeds-refundable"},
		"refused again": {out: intake.Outcome{Verdict: intake.Refused, Code: refund.CodeAmountExceeds, Replayed: true}, status: 422,
			code: "amount-exceeds-refundable", replayed: true},
		"tenant closed":      {out: intake.Outcome{Verdict: intake.Refused, Code: refund.CodeTenantClosed}, status: 403, code: "tenant-closed"},
		"payment unknown":    {out: intake.Outcome{Verdict: intake.Waiting}, status: 422, code: "payment-unknown"},
		"busy":               {out: intake.Outcome{Verdict: intake.Busy}, status: 409, code: "operation-in-progress", retry: true},
		"verdict not locked": {out: intake.Outcome{Verdict: intake.NotLocked}, status: 500, code: "internal", retry: true},
		"unknown code":       {out: intake.Outcome{Verdict: intake.Refused, Code: "no-such-code"}, status: 500, code: "internal", retry: true},
		"no refund":          {out: intake.Outcome{Verdict: intake.Taken}, status: 500, code: "internal", retry: true},
		"unavailable":        {err: refund.ErrUnavailable, status: 503, code: "unavailable", retry: true},
		"commit unknown":     {err: refund.ErrCommitUnknown, status: 503, code: "unavailable", retry: true},
		"overloaded":         {err: refund.ErrOverloaded, status: 503, code: "overloaded", retry: true},
		"took too long":      {err: context.DeadlineExceeded, status: 503, code: "unavailable", retry: true},
		"internal error":     {err: errors.New(`ERROR: relation "refunds" (SQLSTATE 42P01)`), status: 500, code: "internal", retry: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := serve(t, nil)
			w.accept = func([]intake.Intake) ([]intake.Outcome, error) { return []intake.Outcome{x.out}, x.err }
			r := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k-1")
			if r.status != x.status || (x.code != "" && !strings.Contains(r.body, `"code":"`+x.code+`"`)) {
				t.Fatalf("answer %d %s, want %d %s", r.status, r.body, x.status, x.code)
			}
			if got := r.header.Get("Idempotency-Replayed") == "true"; got != x.replayed {
				t.Errorf("Idempotency-Replayed = %v, want %v", got, x.replayed)
			}
			if got := r.header.Get("Retry-After") != ""; got != x.retry {
				t.Errorf("Retry-After present = %v, want %v", got, x.retry)
			}
			for _, f := range x.out.Fields {
				if !strings.Contains(r.body, `"fields":["`+f+`"]`) {
					t.Errorf("the differing fields are missing: %s", r.body)
				}
			}
			if strings.Contains(r.body, "SQLSTATE") || strings.Contains(r.body, "1250,\"stored") {
				t.Errorf("the answer contains an internal error: %s", r.body)
			}
		})
	}
}

// A repeated refusal has the body of the first one (C32).
func TestReplayedRefusalHasTheSameBody(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	replayed := false
	w.accept = func([]intake.Intake) ([]intake.Outcome, error) {
		return []intake.Outcome{{Verdict: intake.Refused, Code: refund.CodeWindowClosed, Replayed: replayed}}, nil
	}
	first := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k-1", "X-Request-Id", "same")
	replayed = true
	again := c.do("POST", "/v1/refunds", refundBody, "Idempotency-Key", "k-1", "X-Request-Id", "same")
	if first.body != again.body || first.status != again.status {
		t.Errorf("first %s, repeated %s, want equal answers", first.body, again.body)
	}
}

// A refund or payment of another tenant is answered like one that does not exist.
func TestResourcesOfOtherTenantsAreNotFound(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	w.set(sampleRefund("rf_1001"))
	w.payment = httpapi.PaymentView{Payment: refund.Payment{Tenant: 1, PaymentID: "pay_77", CreatedAt: epoch}}
	for theirs, nobodys := range map[string]string{"/v1/refunds/rf_1001": "/v1/refunds/rf_none", "/v1/payments/pay_77": "/v1/payments/pay_none"} {
		a := c.do("GET", theirs, "", "Authorization", "Bearer "+otherTenantKey, "X-Request-Id", "same")
		b := c.do("GET", nobodys, "", "Authorization", "Bearer "+otherTenantKey, "X-Request-Id", "same")
		if a.status != 404 || a.body != b.body {
			t.Errorf("%s: %d %s; %s: %s", theirs, a.status, a.body, nobodys, b.body)
		}
	}
}

func TestCancelAndCheck(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	canceled := sampleRefund("rf_1001")
	canceled.State, canceled.JournalSeq, canceled.PendingReason, canceled.NextActionAt = refund.StateCanceled, 2, "", time.Time{}
	for name, x := range map[string]struct {
		err    error
		cancel int
		check  int
		code   string
	}{
		"done":          {nil, 200, 202, ""},
		"unknown":       {refund.ErrNotFound, 404, 404, "not-found"},
		"busy":          {refund.ErrBusy, 409, 409, "operation-in-progress"},
		"not the owner": {refund.ErrNotOwner, 409, 409, "operation-in-progress"},
		"unavailable":   {refund.ErrUnavailable, 503, 503, "unavailable"},
		"unforeseen":    {errors.New("boom"), 500, 500, "internal"},
	} {
		w.act = func(string) (refund.Refund, error) { return canceled, x.err }
		if r := c.do("POST", "/v1/refunds/rf_1001/cancel", ""); r.status != x.cancel || !strings.Contains(r.body, x.code) {
			t.Errorf("cancel, %s: %d %s", name, r.status, r.body)
		}
		if r := c.do("POST", "/v1/refunds/rf_1001/check", ""); r.status != x.check || !strings.Contains(r.body, x.code) {
			t.Errorf("check, %s: %d %s", name, r.status, r.body)
		}
	}
	w.act = func(string) (refund.Refund, error) { return refund.Refund{}, refund.ErrNotCancelable }
	if r := c.do("POST", "/v1/refunds/rf_1001/cancel", ""); r.status != 409 || !strings.Contains(r.body, "not-cancelable") {
		t.Errorf("%d %s, want 409 not-cancelable", r.status, r.body)
	}
}

// A check says why the channel cannot be asked, and otherwise what was learned.
func TestCheckSaysWhatWasLearned(t *testing.T) {
	t.Parallel()
	w, c := serve(t, nil)
	for _, why := range []refund.CannotAsk{refund.CannotAskChannel, refund.CannotAskUnsent} {
		w.act = func(string) (refund.Refund, error) { return refund.Refund{}, why }
		if r := c.do("POST", "/v1/refunds/rf_1001/check", ""); r.status != 409 || !strings.Contains(r.body, `"cannot-ask"`) || !strings.Contains(r.body, string(why)) {
			t.Errorf("%d %s, want 409 cannot-ask: %s", r.status, r.body, why)
		}
	}
	for state, want := range map[refund.State]string{refund.StateUnknown: "nothing-new", refund.StateSuccess: "version=7"} {
		known := sampleRefund("rf_1001")
		known.State, known.JournalSeq, known.PendingReason = state, 7, ""
		w.act = func(string) (refund.Refund, error) { return known, nil }
		if r := c.do("POST", "/v1/refunds/rf_1001/check", ""); r.status != 202 || r.header.Get("Refundry-Learned") != want {
			t.Errorf("%d, learned %q, want %q", r.status, r.header.Get("Refundry-Learned"), want)
		}
	}
}
