package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// EventType names what an intake asks for. It is the CloudEvents type.
type EventType string

// The types that the door takes.
const (
	TypeRefundRequested EventType = "refund.requested"
	TypePaymentCaptured EventType = "payment.captured"
)

// Reserved consumers. A bridge's consumer is its configured name.
const (
	ConsumerREST   = "rest"
	ConsumerEvents = "events"
)

// EventID names one business fact of one producer, stable over re-publishing.
// REST: consumer "rest", source "rest", id = the Idempotency-Key.
type EventID struct {
	Consumer, Source, ID string
}

// PaymentSpec is what a caller says about a payment (PUT, inline in a refund). It is compared, never merged.
type PaymentSpec struct {
	OrderID           string
	Amount            int64 // captured, minor units
	Currency          refund.Currency
	Account           string    // channel account
	Reference         string    // the channel's name for the payment; "" = "<tenant code>:<payment id>"
	Version           int64     // of a snapshot; absent = 0
	RefundedElsewhere int64     // refunded before or beside us
	PaidAt            time.Time // when the payer paid, in whole microseconds of UTC; zero = not said. Set once, never changed
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

// Intake is one request in front of the door, whatever way it came. Exactly one of Refund and Capture is set.
// Its fields are validated by whoever makes it (internal/http, internal/bridge); the door decides, it does not parse.
type Intake struct {
	Tenant      refund.Tenant
	Event       EventID
	Type        EventType
	Refund      *Request
	Capture     *Capture
	Actor       string    // "actor:<name>" or "system:<role>", for the journal
	Transport   string    // evidence: request id, topic/partition/offset. Decides nothing
	OccurredAt  time.Time // CloudEvents time; zero = not said
	Park        *Park
	Parked      refund.RID // set when a parked row is tried again: the same transaction settles that row
	Redrive     bool       // somebody asks for it: a stored refusal is decided anew, and its receipt changed in place
	ReplayBatch refund.RID
	RID         refund.RID // id of the refund if this intake creates one; made once before the first try, so that a second try after a lost COMMIT knows its own work
}

// PaymentID is the payment that the intake is about.
func (in Intake) PaymentID() string {
	if in.Capture != nil {
		return in.Capture.PaymentID
	}
	return in.Refund.PaymentID
}
