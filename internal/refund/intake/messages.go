package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// MessageQuery selects messages of a tenant. Zero fields select everything.
type MessageQuery struct {
	Consumer string
	Outcome  string     // of the last delivery
	RefundID string     // that they led to
	Before   refund.RID // last delivery older than this one, for the next page
	Limit    int        // rows, at least 1
}

// Message is what is known of one event of one consumer: every delivery that was traced, and the decision that binds it.
type Message struct {
	Consumer            string
	Source, EventID     string // "" = could not be read: a message of its own
	FirstSeen, LastSeen time.Time
	TimesSeen           int
	Outcome, Cause      string     // of the last delivery; Cause "" = none
	RefundID            string     // that it led to, "" = none
	ReplayBatch         refund.RID // of the last delivery that had one
	LastDelivery        refund.RID // position in the list
	Decision            *MessageDecision
	Deliveries          []MessageDelivery // oldest first, the newest when there are too many; not in lists
	Truncated           bool
}

// MessageDecision is the receipt: the first decision binds the event, a redrive of a refusal may replace it.
type MessageDecision struct {
	At        time.Time
	Type      EventType
	Outcome   Verdict
	Code      refund.Code
	Transport string // of the delivery that was decided
}

// MessageDelivery is one time that a message came.
type MessageDelivery struct {
	At             time.Time
	Transport      string // broker:place#delivery
	Outcome, Cause string
	ReplayBatch    refund.RID
}

// ParkedFilter selects parked messages of a tenant.
type ParkedFilter struct {
	Done     bool       // those that are dealt with, instead of those that wait for somebody
	Reason   string     // "" = any
	Consumer string     // "" = any
	After    refund.RID // for the next page; zero = from the start
	Limit    int        // rows, at least 1
}

// ParkedView is a parked message as people see it. Lists leave out its bytes.
type ParkedView struct {
	ParkedMessage
	EventID
	Reason      string
	WakePayment string    // payment that it waits for, "" = none
	AlarmAt     time.Time // zero = none
	Tries       int
	At          time.Time
	DoneAt      time.Time // zero = open
	DoneHow     string    // accepted, replayed or discarded
	DoneBy      string
	BodySize    int
}

// Redrivable says whether a parked message may be tried again on somebody's word: it was refused, waits, or was never
// decided. A conflict is not: its parameters differ from what is bound, and trying again cannot change that.
func (p ParkedView) Redrivable() bool {
	switch refund.Code(p.Reason) {
	case refund.CodeKeyReused, refund.CodeRefundConflict, refund.CodePaymentConflict:
		return false
	default:
		return true
	}
}

// Redriven is what became of a parked message that somebody had tried again.
type Redriven struct {
	Parked  ParkedView
	Tried   bool       // false: it had been dealt with before
	Outcome Outcome    // when Tried and without a Fault
	Batch   refund.RID // marks what the try led to; zero = it did not come to one
	Fault   error      // it still cannot be read; methods Pointer and Detail say where and what
}
