package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// EventType is what an intake asks for. It is the CloudEvents type.
type EventType string

// Types of intakes.
const (
	TypeRefundRequested EventType = "refund.requested"
	TypePaymentCaptured EventType = "payment.captured"
)

// Reserved consumers. The consumer of a bridge is its configured name.
const (
	ConsumerREST   = "rest"
	ConsumerEvents = "events"
)

// EventID names one business fact of one producer. It is the same in every delivery of the fact. REST: consumer "rest",
// source "rest", id = the Idempotency-Key.
type EventID struct {
	Consumer, Source, ID string
}

// PaymentSpec is a caller's description of a payment (PUT, inline in a refund). It is compared with the stored payment, never
// merged. Its methods are in payment.go.
type PaymentSpec struct {
	OrderID           string
	Amount            int64 // captured, minor units
	Currency          refund.Currency
	Account           string    // channel account
	Reference         string    // the channel's name for the payment; "" = "<tenant code>:<payment id>"
	Version           int64     // of a snapshot; absent = 0
	VersionGiven      bool      // false = absent
	RefundedElsewhere int64     // refunded outside of Refundry; absent = 0
	ElsewhereGiven    bool      // false = RefundedElsewhere is absent
	PaidAt            time.Time // when the payer paid, in whole microseconds of UTC; zero = not given. Set once, never changed
}

// Request is the content of refund.requested and of POST /v1/refunds.
type Request struct {
	refund.Params
	Reason   string            // free text, not in the digest, erasable
	Metadata map[string]string // not in the digest, erasable
	Payment  *PaymentSpec      // optional inline payment

	identity *identity // nil = computed at every call
}

// Capture is the content of payment.captured.
type Capture struct {
	PaymentID, CaptureID, OrderID string
	Amount                        int64
	Currency                      refund.Currency
	Account, Reference            string
	PaidAt                        time.Time // of the payment, see PaymentSpec

	identity *identity // nil = computed at every call
}

// Intake is one request, from whichever transport. Exactly one of Refund and Capture is set. Its maker (internal/http,
// internal/bridge) has validated the fields; acceptance decides and does not parse.
type Intake struct {
	Tenant      refund.Tenant
	Event       EventID
	Type        EventType
	Refund      *Request
	Capture     *Capture
	Actor       string    // "actor:<name>" or "system:<role>", for the journal
	Transport   string    // evidence: request id, topic/partition/offset. Decides nothing
	OccurredAt  time.Time // CloudEvents time; zero = not given
	Park        *Park
	Parked      refund.RID // set when a parked row is tried again: the same transaction settles that row
	Redrive     bool       // a person asks to try again: a stored refusal is decided anew, and its receipt is replaced
	ReplayBatch refund.RID
	RID         refund.RID // of the refund that this intake may create; drawn once, so that a retry after a lost COMMIT recognises its row
}

// PaymentID returns the id of the payment that the intake is about.
func (in Intake) PaymentID() string {
	if in.Capture != nil {
		return in.Capture.PaymentID
	}
	return in.Refund.PaymentID
}
