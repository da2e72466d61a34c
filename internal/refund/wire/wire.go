// Package wire decodes the JSON that callers send: bodies of refund requests and payments, and data of events. It is their only
// decoder, so that a request means the same over REST, from a broker and in a file. The contract is api/openapi.yaml.
//
// A document is walked once and read strictly (package strictjson). Names of members are compared exactly, and a member that is not in
// the contract is a fault.
package wire

import (
	"time"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund/intake"
)

// MaxFaults is how many faults of one document are reported.
const MaxFaults = 20

// Fault is one fault of a document. It contains names of members, clipped, and never values.
type Fault struct {
	Pointer string // JSON Pointer (RFC 6901), "" = the whole document
	Detail  string // a clause that follows the place, as "must be of type integer"
}

// Error is a refused document. It has at least one fault.
//
// Faults are in the order of the members in the contract, whatever the order of the document is. Unknown members come last in their
// object, in the order of their names. At most MaxFaults are kept.
type Error struct {
	Malformed bool // the document is not strict JSON; Faults has the first fault only
	Faults    []Fault
}

// Error implements error.
func (e *Error) Error() string {
	f := e.Faults[0]
	if f.Pointer == "" {
		return "wire: the document " + f.Detail
	}
	return "wire: " + f.Pointer + " " + f.Detail
}

// Request decodes the body of POST /v1/refunds, which is also the data of refund.requested, and computes the identity of the request.
// now bounds the time of paying. Errors: *Error.
func Request(doc []byte, now time.Time) (*intake.Request, error) {
	out := &intake.Request{}
	if err := read(doc, now, requestMembers, out); err != nil {
		return nil, err
	}
	out.ComputeIdentity()
	return out, nil
}

// Payment decodes the body of PUT /v1/payments/{paymentId}. now bounds the time of paying. Errors: *Error.
func Payment(doc []byte, now time.Time) (intake.PaymentSpec, error) {
	var out intake.PaymentSpec
	if err := read(doc, now, paymentMembers, &out); err != nil {
		return intake.PaymentSpec{}, err
	}
	return out, nil
}

// Capture decodes the data of payment.captured and computes the identity of the capture. now bounds the time of paying. Errors:
// *Error.
func Capture(doc []byte, now time.Time) (*intake.Capture, error) {
	out := &intake.Capture{}
	if err := read(doc, now, captureMembers, out); err != nil {
		return nil, err
	}
	out.ComputeIdentity()
	return out, nil
}

func read[T any](doc []byte, now time.Time, members []member[T], into *T) error {
	r := &reader{now: now}
	if f := strictjson.Walk(doc, func(v strictjson.Value) { readObject(r, v, members, into) }); f != nil {
		return &Error{Malformed: true, Faults: []Fault{{f.Pointer, f.Detail}}}
	}
	if len(r.faults) > 0 {
		return &Error{Faults: r.faults}
	}
	return nil
}
