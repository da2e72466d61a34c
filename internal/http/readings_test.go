package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refundtest/bodies"
)

// intended are the differences of REST from what was recorded.
var intended = []bodies.Intended{{
	Why: "A currency that does not exist and a name in metadata that is too long or empty were reported only when nothing else was " +
		"wrong, and one of them at a time. The reader of events reported them like every other fault; now one reader does so for both.",
	Line: withoutLateFaults,
}}

// withoutLateFaults removes from a line the faults that were looked for last. When there are no others, the first one stays.
func withoutLateFaults(line string) string {
	parts := strings.Split(line, "\t")
	index, code, places := parts[0], parts[4], strings.Split(parts[5], " ")
	i, err := strconv.Atoi(index)
	if err != nil || code != "invalid-request" {
		return line
	}
	late := lateFaults(bodies.At(i).Body)
	left := slices.DeleteFunc(slices.Clone(places), func(place string) bool { return slices.Contains(late, place) })
	if len(left) == 0 {
		left = late[:1]
	}
	parts[5] = strings.Join(left, " ")
	return strings.Join(parts, "\t")
}

// lateFaults are the places of such faults in a body.
func lateFaults(body string) []string {
	var late []string
	var root, payment map[string]json.RawMessage
	_ = json.Unmarshal([]byte(body), &root)
	_ = json.Unmarshal(root["payment"], &payment)
	if unknownCurrency(root["currency"]) {
		late = append(late, "/currency")
	}
	var metadata map[string]any
	_ = json.Unmarshal(root["metadata"], &metadata)
	for name := range metadata {
		if n := utf8.RuneCountInString(name); (n == 0 || n > 64) && len(metadata) <= 50 {
			late = append(late, "/metadata")
			break
		}
	}
	if unknownCurrency(payment["currency"]) {
		late = append(late, "/payment/currency")
	}
	return late
}

// unknownCurrency reports whether a value looks like a currency and is none.
func unknownCurrency(value json.RawMessage) bool {
	var code string
	looks := json.Unmarshal(value, &code) == nil && regexp.MustCompile(`^[A-Z]{3}$`).MatchString(code)
	_, err := refund.ParseCurrency(code)
	return looks && err != nil
}

// recordingBackend accepts every refund and payment and records the last one.
type recordingBackend struct {
	*fakeBackend
	refund    *intake.Intake
	payment   *intake.PaymentSpec
	paymentID string
}

func (k *recordingBackend) Accept(_ context.Context, g []intake.Intake) ([]intake.Outcome, error) {
	k.refund = &g[0]
	r := sampleRefund("rf_1001")
	return []intake.Outcome{{Verdict: intake.Taken, Refund: &r}}, nil
}

func (k *recordingBackend) PutPayment(_ context.Context, _ refund.Tenant, id string, spec intake.PaymentSpec, _ string) (refund.Payment, bool, error) {
	k.payment, k.paymentID = &spec, id
	return refund.Payment{PaymentID: "pay_77", CreatedAt: epoch}, true, nil
}

// REST reads every request of the corpus as recorded.
func TestRequestsAreReadAsRecorded(t *testing.T) {
	t.Parallel()
	k := &recordingBackend{}
	_, c := serve(t, func(w *fakeBackend, cfg *httpapi.Config) {
		k.fakeBackend = w
		cfg.Door, cfg.Payments = k, k
	})
	bodies.Check(t, bodies.REST, intended, func(r bodies.Request) bodies.Reading {
		k.refund, k.payment, k.paymentID = nil, nil, ""
		out := httptest.NewRecorder()
		c.api.ServeHTTP(out, httpRequest(r))
		return reading(t, r, k, out)
	})
}

func httpRequest(r bodies.Request) *http.Request {
	var body io.Reader = strings.NewReader(r.Body)
	if r.UnknownLength {
		body = io.MultiReader(body) // without a known length
	}
	req := httptest.NewRequest(r.Method, r.Target, body)
	req.Header.Set("Authorization", "Bearer "+writerKey)
	for _, h := range r.Header {
		req.Header.Add(h[0], h[1])
	}
	return req
}

// reading is what the backend got, or the code and places of the problem.
func reading(t *testing.T, r bodies.Request, k *recordingBackend, out *httptest.ResponseRecorder) bodies.Reading {
	t.Helper()
	got := bodies.Reading{Verdict: strconv.Itoa(out.Code/100) + "xx"}
	if out.Code >= 300 {
		got.Code, got.Places = problemIn(t, r, out.Body.Bytes())
		if k.refund != nil || k.payment != nil {
			t.Errorf("request %d is refused with %s and still accepted by the backend", r.Index, got.Code)
		}
		return got
	}
	switch {
	case k.refund != nil && k.refund.Refund != nil:
		got.Digest = k.refund.Digest().String()
		paramsOfRefund(&got.Params, k.refund)
	case k.payment != nil:
		got.Params.Text("paymentId", k.paymentID)
		paramsOfPayment(&got.Params, "", *k.payment)
	default:
		t.Errorf("request %d is answered %d and not accepted by the backend", r.Index, out.Code)
	}
	return got
}

func problemIn(t *testing.T, r bodies.Request, body []byte) (code string, places []string) {
	t.Helper()
	var problem struct {
		Code   string
		Errors []struct{ Pointer, Header, Parameter *string }
	}
	if err := json.Unmarshal(body, &problem); err != nil || problem.Code == "" {
		t.Errorf("request %d is refused with %q, which is no problem document: %v", r.Index, body, err)
	}
	for _, e := range problem.Errors {
		switch {
		case e.Pointer != nil:
			places = append(places, *e.Pointer)
		case e.Header != nil:
			places = append(places, "header:"+*e.Header)
		case e.Parameter != nil:
			places = append(places, "parameter:"+*e.Parameter)
		}
	}
	if len(places) == 20 { // the bound of a problem; which faults are listed depends on their order
		places = []string{"many"}
	}
	return problem.Code, places
}

func paramsOfRefund(p *bodies.Params, in *intake.Intake) {
	p.Text("key", in.Event.ID)
	p.Text("refundId", in.Refund.RefundID)
	p.Text("orderId", in.Refund.OrderID)
	p.Text("paymentId", in.Refund.PaymentID)
	p.Number("amount", in.Refund.Amount)
	p.Text("currency", string(in.Refund.Currency))
	p.Text("reason", in.Refund.Reason)
	p.Texts("metadata", in.Refund.Metadata)
	if in.Refund.Payment != nil {
		paramsOfPayment(p, "payment.", *in.Refund.Payment)
	}
}

func paramsOfPayment(p *bodies.Params, prefix string, s intake.PaymentSpec) {
	p.Text(prefix+"orderId", s.OrderID)
	p.Number(prefix+"amount", s.Amount)
	p.Text(prefix+"currency", string(s.Currency))
	p.Text(prefix+"channelAccount", s.Account)
	p.Text(prefix+"channelReference", s.Reference)
	p.Number(prefix+"version", s.Version)
	p.Number(prefix+"refundedElsewhere", s.RefundedElsewhere)
}
