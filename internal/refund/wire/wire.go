// Package wire decodes the JSON that callers send: bodies of refund requests and payments, and data of events. It is their only
// decoder, so that a request means the same over REST, from a broker and in a file. The contract is api/openapi.yaml.
//
// A document is read once, by package strictjson, which accepts less than encoding/json. A document that strictjson refuses is
// malformed: one that is not JSON or not UTF-8, is empty, is followed by more data, nests deeper than strictjson.MaxDepth, has a
// member twice, a number with a fraction, an exponent or the value -0, or a string with U+0000 or half of a surrogate pair.
//
// In a document that is not malformed, members are found by their exact names. A member that the contract does not name, a
// required one that is absent and a value of a wrong type or out of its limits are faults; up to MaxFaults of them are reported.
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

// Error is a document that is refused.
type Error struct {
	// Malformed says that strictjson refuses the document. Faults then has one entry, the first fault. Its pointer names the repeated
	// member, or the innermost value at which reading stopped: "" is the outermost value, and also stands for invalid UTF-8, an empty
	// document and data after the document.
	Malformed bool
	// Faults has at least one entry. They are in the order of the contract's members, and the faults inside a member take its
	// place; unknown members come last within their object, by name. Only the first MaxFaults are kept.
	Faults []Fault
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
