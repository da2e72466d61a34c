package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/refundry/refundry/internal/refund/wire"
)

// operation is what the steps before a handler must know of an operation. It is
// read from the contract, so that the two cannot differ.
type operation struct {
	id         string
	scopes     []string // all are needed
	needsKey   bool     // Idempotency-Key is required
	hasBody    bool
	events     bool     // the body holds events, which are judged one by one
	mediaTypes []string // of the request body, canonical
	query      map[string]bool

	// bodyFaults reads the body for its faults alone, where package wire reads it. nil = the contract's schema checks it.
	bodyFaults func(body []byte, now time.Time) error
}

// wireBodies are the operations whose body package wire reads, by the names of the generated code.
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

// route names an operation the way chi does: method and pattern.
type route struct{ method, pattern string }

// operationsOf reads the operations that ask for a key.
func operationsOf(spec *openapi3.T) (map[route]*operation, error) {
	out, read := map[route]*operation{}, 0
	for pattern, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			o, err := operationOf(op, item.Parameters)
			if err != nil {
				return nil, fmt.Errorf("httpapi: %s %s: %w", method, pattern, err)
			}
			out[route{method, pattern}] = o
			if o.bodyFaults != nil {
				read++
			}
		}
	}
	if read != len(wireBodies) {
		return nil, fmt.Errorf("httpapi: the contract has %d of %d operations whose body is read here", read, len(wireBodies))
	}
	return out, nil
}

func operationOf(op *openapi3.Operation, shared openapi3.Parameters) (*operation, error) {
	o := &operation{id: op.OperationID, query: map[string]bool{}, bodyFaults: wireBodies[op.OperationID]}
	if op.Security == nil || len(*op.Security) != 1 || len((*op.Security)[0]["apiKey"]) == 0 {
		return nil, fmt.Errorf("operation %s names no scope", o.id)
	}
	o.scopes = (*op.Security)[0]["apiKey"]
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
		for mediaType := range op.RequestBody.Value.Content {
			o.mediaTypes = append(o.mediaTypes, mediaType)
			o.events = o.events || mediaType == mediaEventBatch
		}
	}
	return o, nil
}
