package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
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

// Every code of an operation is in the catalog, the operation has a response for its
// status, and every problem of the catalog has an equal example.
func TestContractAndCatalogAgree(t *testing.T) {
	t.Parallel()
	spec, _ := contract(t)
	catalog := map[string]httpapi.CodeInfo{}
	for _, c := range httpapi.Catalog() {
		catalog[string(c.Code)] = c
	}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			for _, code := range codesOf(t, op) {
				info, ok := catalog[code]
				if !ok {
					t.Errorf("%s %s lists %s, which is not in the catalog", method, path, code)
					continue
				}
				if op.Responses.Status(info.Status) == nil {
					t.Errorf("%s %s lists %s and has no response %d", method, path, code, info.Status)
				}
			}
		}
	}
	shown := map[string]bool{"method-not-allowed": true} // belongs to no operation
	for name, response := range spec.Components.Responses {
		for code, example := range response.Value.Content["application/problem+json"].Examples {
			shown[code] = true
			v, _ := example.Value.Value.(map[string]any)
			info := catalog[code]
			if v["code"] != code || v["title"] != info.Title || v["type"] != "/problems/"+code || v["retryable"] != info.Retryable {
				t.Errorf("%s: the example %s differs from the catalog: %v", name, code, v)
			}
			if status, _ := v["status"].(float64); int(status) != info.Status {
				t.Errorf("%s: the example %s has status %v, want %d", name, code, v["status"], info.Status)
			}
		}
	}
	for code := range catalog {
		if !shown[code] {
			t.Errorf("the contract has no example of %s", code)
		}
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
