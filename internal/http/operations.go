package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"github.com/refundry/refundry/internal/refund/wire"
)

// operation is what the middleware needs to know of an operation. It is read from the
// contract.
type operation struct {
	id       string
	scopes   []string // all are needed
	needsKey bool     // Idempotency-Key is required
	hasBody  bool
	events   bool // the body contains events, which are checked one by one
	query    map[string]bool
	route    *routers.Route // what the validator checks

	// bodyFaults returns the faults of the body if package wire reads it. nil = the body is checked against its schema.
	bodyFaults func(body []byte, now time.Time) error
}

// wireBodies are the operations whose bodies package wire reads, by operation id as the generated code writes it.
var wireBodies = map[string]func(body []byte, now time.Time) error{
	"CreateRefund": func(body []byte, now time.Time) error {
		_, err := wire.Request(body, now)
		return err
	},
	"PutPayment": func(body []byte, now time.Time) error {
		_, err := wire.Payment(body, now)
		return err
	},
}

// route identifies an operation by method and chi pattern.
type route struct{ method, pattern string }

// operationsOf returns the operations of the contract. Errors: an operation without
// exactly one list of scopes, a contract without an operation of wireBodies.
func operationsOf(spec *openapi3.T) (map[route]*operation, error) {
	out, read := map[route]*operation{}, 0
	for pattern, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			// Keys are checked by admit; the validator would copy the body.
			scopes := op.Security
			op.Security = openapi3.NewSecurityRequirements()
			o, err := operationOf(op, item.Parameters, scopes)
			if err != nil {
				return nil, fmt.Errorf("httpapi: %s %s: %w", method, pattern, err)
			}
			o.route = &routers.Route{Spec: spec, Path: pattern, PathItem: item, Method: method, Operation: op}
			out[route{method, pattern}] = o
			if o.bodyFaults != nil {
				read++
			}
		}
	}
	if read != len(wireBodies) {
		return nil, fmt.Errorf("httpapi: the contract has %d of the %d operations whose bodies are read by package wire", read, len(wireBodies))
	}
	return out, nil
}

func operationOf(op *openapi3.Operation, shared openapi3.Parameters, security *openapi3.SecurityRequirements) (*operation, error) {
	o := &operation{id: op.OperationID, query: map[string]bool{}, bodyFaults: wireBodies[op.OperationID]}
	if security == nil || len(*security) != 1 || len((*security)[0]["apiKey"]) == 0 {
		return nil, fmt.Errorf("operation %s has no scope", o.id)
	}
	o.scopes = (*security)[0]["apiKey"]
	for _, list := range []openapi3.Parameters{shared, op.Parameters} {
		for _, p := range list {
			switch {
			case p.Value.In == openapi3.ParameterInQuery:
				o.query[p.Value.Name] = true
			case p.Value.In == openapi3.ParameterInHeader && http.CanonicalHeaderKey(p.Value.Name) == "Idempotency-Key":
				o.needsKey = p.Value.Required
			}
		}
	}
	if op.RequestBody != nil {
		o.hasBody = true
		o.events = op.RequestBody.Value.Content[mediaEventBatch] != nil
	}
	return o, nil
}
