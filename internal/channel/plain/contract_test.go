package plain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/refund"
)

func attempt(t *testing.T) context.Context {
	return channel.WithBudget(t.Context(), channel.Budget{Start: time.Now(), Send: 20 * time.Second})
}

var protocol = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../../api/simulator.yaml")
	if err != nil {
		return nil, err
	}
	doc.Servers = nil
	return doc, doc.Validate(context.Background())
})

// held checks every request of the client against the contract before it is served.
func held(t *testing.T, next http.Handler) http.Handler {
	t.Helper()
	doc, err := protocol()
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, params, err := router.FindRoute(r)
		if err != nil {
			t.Errorf("%s %s is not in the contract: %v", r.Method, r.URL, err)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route}
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			t.Errorf("%s %s breaks the contract: %v", r.Method, r.URL, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// TestExamplesOfTheContract reads every example answer of a send or a query in the contract.
func TestExamplesOfTheContract(t *testing.T) {
	t.Parallel()
	doc, err := protocol()
	if err != nil {
		t.Fatal(err)
	}
	sends := map[string]refund.FactKind{
		"succeeded": refund.Succeeded, "pending": refund.Acknowledged,
		"invalid_request": refund.RefusedClean, "not_refundable_window": refund.RefusedClean,
		"unauthorized": refund.Retryable, "insufficient_balance": refund.Retryable, "rate_limited": refund.Retryable,
		"refund_count_exceeded": refund.RefusedClean, "too_soon": refund.Retryable, "in_flight": refund.Unknown,
		"already_refunded": refund.RefusedEcho, "number_reused": refund.RefusedEcho, "duplicate_refund": refund.Unknown,
		"body_too_large": refund.Unknown, "internal_error": refund.Unknown, "unavailable": refund.Unknown,
	}
	queries := map[string]refund.FactKind{
		"succeeded": refund.Succeeded, "not_found": refund.NotFound,
		"invalid_request": refund.Unknown, "unauthorized": refund.Unknown, "query_not_supported": refund.Unknown,
		"rate_limited": refund.Unknown, "too_soon": refund.Unknown, "internal_error": refund.Unknown,
	}
	call := ours
	call.Number, call.RefundID = "R1WRJJ225AGH0QN3CFPVXJ8ACCK2SAKBRM", "rf_1001"
	examples(t, doc.Paths.Find("/v1/refunds").Post, sends, func(status int, body string) refund.Answer {
		return fixed(t, status, body).Refund(attempt(t), call)
	})
	examples(t, doc.Paths.Find("/v1/refunds/{number}").Get, queries, func(status int, body string) refund.Answer {
		return fixed(t, status, body).Query(attempt(t), call)
	})
}

// examples serves the example answers of the operation. Each is identified by its status or its code, and every one must be
// expected.
func examples(t *testing.T, op *openapi3.Operation, want map[string]refund.FactKind, play func(int, string) refund.Answer) {
	t.Helper()
	seen := map[string]bool{}
	for status, response := range op.Responses.Map() {
		code, err := strconv.Atoi(status)
		if err != nil {
			t.Fatal(err)
		}
		media := response.Value.Content.Get("application/json")
		bodies := []any{media.Example}
		for _, e := range media.Examples {
			bodies = append(bodies, e.Value.Value)
		}
		for _, body := range bodies {
			fields, ok := body.(map[string]any)
			if !ok {
				continue
			}
			name, _ := fields["code"].(string)
			if name == "" {
				name, _ = fields["status"].(string)
			}
			raw, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			seen[name] = true
			if a := play(code, string(raw)); a.Kind != want[name] {
				t.Errorf("%s %s %d %s: %s, want %q", op.OperationID, name, code, raw, a.Kind, want[name])
			}
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("%s: the contract shows no example of %s", op.OperationID, name)
		}
	}
}
