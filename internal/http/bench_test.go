package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/bridge"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// BenchmarkCreateRefund measures a POST without the Door and the network.
func BenchmarkCreateRefund(b *testing.B) {
	w := &fakeBackend{keys: map[string]access.APIKeyRecord{}}
	prefix, rec := keyRecord(b, writerKey, refund.Tenant{ID: 1, Code: "demo"}, access.ScopeRefundsWrite)
	w.keys[prefix] = rec
	r := sampleRefund("rf_1001")
	w.accept = func([]intake.Intake) ([]intake.Outcome, error) {
		w.accepted, w.touched = w.accepted[:0], w.touched[:0]
		return []intake.Outcome{{Verdict: intake.Taken, Refund: &r}}, nil
	}
	a, err := httpapi.New(httpapi.Config{Door: w, Refunds: w, Actions: w, Payments: w, Keys: w, Events: bridge.Codec{}, Parking: w,
		Messages: w, Parked: w, Cases: &fakeCases{fakeBackend: w}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/v1/refunds", strings.NewReader(refundBody))
		req.Header.Set("Authorization", "Bearer "+writerKey)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "k-1")
		out := httptest.NewRecorder()
		if a.ServeHTTP(out, req); out.Code != http.StatusAccepted {
			b.Fatal(out.Body.String())
		}
	}
}
