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

// Park is what the door needs to keep an item that it may not accept. nil on REST: there the caller has the answer.
type Park struct {
	Position string // stable name of the item's place at its transport; one parked row per (tenant, consumer, place)
	Headers  map[string][]string
	Body     []byte
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

// Verdict is what the door says.
type Verdict string

// design: one verdict per item; only the first four bind the event id.
const (
	Taken    Verdict = "TAKEN"    // new event, new refund (or capture)
	Replayed Verdict = "REPLAYED" // known, same parameters
	Conflict Verdict = "CONFLICT" // known, other parameters
	Refused  Verdict = "REFUSED"  // a rule says no
	Waiting  Verdict = "WAITING"  // the payment is not known yet
	Busy     Verdict = "BUSY"     // a row stayed locked for too long
	Lost     Verdict = "LOST"     // a lock was not obtained in this try; never leaves the door
)

// Causes of a replay, for the duplicates metric.
const (
	CauseEvent   = "event"   // the same event id again
	CauseRefund  = "refund"  // another event id for a known refund (or capture)
	CauseSettled = "settled" // the parked row that was to be tried again is dealt with already
)

// Outcome is the door's answer to one intake.
type Outcome struct {
	Verdict  Verdict
	Code     refund.Code    // Conflict, Refused, Waiting, Busy
	Fields   []string       // Conflict: JSON names of the differing fields, never their values
	Replayed bool           // a stored Conflict or Refused told again
	Cause    string         // Replayed: CauseEvent or CauseRefund
	Refund   *refund.Refund // Accepted, Replayed of a refund: its current state
}

// ParkedMessage is a parked item with the bytes that it came with, to be read and tried again.
type ParkedMessage struct {
	ID       refund.RID
	Tenant   refund.Tenant
	Consumer string
	Park
}
