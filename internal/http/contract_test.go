package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/refundry/refundry/api"
	httpapi "github.com/refundry/refundry/internal/http"
	"github.com/refundry/refundry/internal/http/badrequesttest"
)

// contract loads api/openapi.yaml as a reader of it would.
func contract(t testing.TB) (*openapi3.T, routers.Router) {
	t.Helper()
	l := loadContract()
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.spec, l.router
}

type loaded struct {
	spec   *openapi3.T
	router routers.Router
	err    error
}

// loadContract reads the contract once for all tests, which must not change it.
var loadContract = sync.OnceValue(func() (l loaded) {
	if l.spec, l.err = openapi3.NewLoader().LoadFromData(api.OpenAPI); l.err == nil {
		closeValues(l.spec)
		l.router, l.err = gorillamux.NewRouter(l.spec)
	}
	return l
})

// conforms fails the test if an answer does not conform to the contract.
func (c *client) conforms(req *http.Request, r reply) {
	c.t.Helper()
	_, router := contract(c.t)
	route, params, err := router.FindRoute(req)
	if err != nil {
		return // the path or method is not in the contract: 404 or 405
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 r.status, Header: r.header, Body: io.NopCloser(strings.NewReader(r.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: strings.HasPrefix(r.header.Get("Content-Type"), "text/html")},
	}
	if err := openapi3filter.ValidateResponse(c.t.Context(), input); err != nil {
		c.t.Errorf("%s %s: the answer does not conform to the contract: %v", req.Method, req.URL.Path, err)
	}
	if r.header.Get("Content-Type") == "application/problem+json" {
		var p struct{ Code string }
		if err := json.Unmarshal([]byte(r.body), &p); err != nil {
			c.t.Fatal(err)
		}
		if !slices.Contains(codesOf(c.t, route.Operation), p.Code) {
			c.t.Errorf("%s %s answers %s, which the contract does not list for it", req.Method, route.Path, p.Code)
		}
	}
}

func codesOf(t testing.TB, op *openapi3.Operation) []string {
	t.Helper()
	raw, ok := op.Extensions["x-problem-codes"]
	if !ok {
		return nil
	}
	list, ok := raw.([]any)
	if !ok {
		t.Fatalf("%s: x-problem-codes is %T", op.OperationID, raw)
	}
	var out []string
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

func TestContractIsValidWithItsExamples(t *testing.T) {
	t.Parallel()
	spec, _ := contract(t)
	if err := spec.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
}

// Every code of an operation is in the catalog and the other way round, the operation has a response for its status, and every
// problem of the catalog has an equal example.
func TestContractAndCatalogAgree(t *testing.T) {
	t.Parallel()
	spec, _ := contract(t)
	catalog := map[string]httpapi.CodeInfo{}
	for _, c := range httpapi.Catalog() {
		catalog[string(c.Code)] = c
	}
	listed := map[string]bool{
		"method-not-allowed": true, // belongs to no operation
		"event-undated":      true, // of an event with no time, which only a broker can deliver: in the problem of a redrive
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			codes := codesOf(t, op)
			for _, code := range codes {
				listed[code] = true
				info, ok := catalog[code]
				if !ok {
					t.Errorf("%s %s lists %s, which is not in the catalog", method, path, code)
					continue
				}
				if op.Responses.Status(info.Status) == nil {
					t.Errorf("%s %s lists %s and has no response %d", method, path, code, info.Status)
				}
			}
			for _, code := range without(codesByForm(item, op), codes...) {
				t.Errorf("%s %s can answer %s and does not list it", method, path, code)
			}
			for status := range op.Responses.Map() {
				if status >= "400" && !slices.ContainsFunc(codes, func(c string) bool { return strconv.Itoa(catalog[c].Status) == status }) {
					t.Errorf("%s %s has a response %s and lists no code with it", method, path, status)
				}
			}
		}
	}
	shown := map[string]bool{"method-not-allowed": true} // belongs to no operation
	for name, response := range spec.Components.Responses {
		for code, example := range response.Value.Content["application/problem+json"].Examples {
			shown[code] = true
			sameAsCatalog(t, name, code, example.Value.Value, catalog[code])
		}
	}
	for code := range catalog {
		if !shown[code] {
			t.Errorf("the contract has no example of %s", code)
		}
		if !listed[code] {
			t.Errorf("no operation of the contract lists %s", code)
		}
	}
}

// codesByForm are the codes that an operation can answer because of its key, its parameters and its body, whatever it does.
func codesByForm(item *openapi3.PathItem, op *openapi3.Operation) (codes []string) {
	if op.Security != nil && len(*op.Security) > 0 {
		codes = append(codes, "unauthorized", "scope-missing", "rate-limited", "internal", "unavailable", "overloaded", "invalid-request", "body-incomplete")
	}
	for _, p := range append(slices.Clone(item.Parameters), op.Parameters...) {
		switch {
		case p.Value.Name == "Idempotency-Key":
			codes = append(codes, "idempotency-key-missing", "idempotency-key-invalid", "idempotency-key-reused")
		case p.Value.Name == "cursor":
			codes = append(codes, "invalid-cursor")
		case p.Value.In == openapi3.ParameterInPath && strings.HasSuffix(p.Value.Name, "Id") && op.RequestBody == nil:
			codes = append(codes, "not-found")
		}
	}
	if op.RequestBody != nil && op.Security != nil && len(*op.Security) > 0 {
		codes = append(codes, "body-too-large", "unsupported-media-type")
		if op.OperationID != "receiveEvents" { // what cannot be read is parked there
			codes = append(codes, "malformed-json")
		}
	}
	return codes
}

// ownDetails are the codes whose details name what is wrong in the request, so that an example cannot have the catalog's.
var ownDetails = []string{"malformed-json", "invalid-request", "scope-missing", "body-too-large", "unsupported-media-type", "decision-not-allowed", "cannot-ask"}

func sameAsCatalog(t *testing.T, response, code string, example any, info httpapi.CodeInfo) {
	t.Helper()
	v, _ := example.(map[string]any)
	if v["code"] != code || v["title"] != info.Title || v["type"] != "/problems/"+code || v["retryable"] != info.Retryable {
		t.Errorf("%s: the example %s differs from the catalog: %v", response, code, v)
	}
	if v["detail"] != info.Detail && !slices.Contains(ownDetails, code) {
		t.Errorf("%s: the example %s has the detail %q, the catalog has %q", response, code, v["detail"], info.Detail)
	}
	if status, _ := v["status"].(float64); int(status) != info.Status {
		t.Errorf("%s: the example %s has status %v, want %d", response, code, v["status"], info.Status)
	}
}

// The contract lists the codes of the bad requests.
func TestBadRequestCodesAreInTheContract(t *testing.T) {
	t.Parallel()
	_, router := contract(t)
	for _, c := range badrequesttest.Cases() {
		req, err := http.NewRequestWithContext(t.Context(), c.Method, "http://localhost"+c.Path, bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		route, _, err := router.FindRoute(req)
		if err != nil {
			continue
		}
		if !slices.Contains(codesOf(t, route.Operation), c.Code) {
			t.Errorf("%s: %s is not listed at %s %s", c.Name, c.Code, c.Method, route.Path)
		}
	}
}

func TestErrorsDocIsUpToDate(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	if err := httpapi.WriteErrorsDoc(&want); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/errors.md is stale; run go generate ./internal/http")
	}
}
