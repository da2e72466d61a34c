package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// MessageQuery selects messages of a tenant. Zero fields select everything.
type MessageQuery struct {
	Consumer string
	Outcome  string     // of the last delivery
	RefundID string     // that it led to
	Before   refund.RID // last delivery older than this one, for the next page
	Limit    int        // rows, at least 1
}

// Message is one event of one consumer: its traced deliveries, and the decision that binds it.
type Message struct {
	Consumer            string
	Source, EventID     string // "" = unreadable: a message of its own
	FirstSeen, LastSeen time.Time
	TimesSeen           int
	Outcome, Cause      string     // of the last delivery; Cause "" = none
	RefundID            string     // that it led to, "" = none
	ReplayBatch         refund.RID // of the last delivery that had one
	LastDelivery        refund.RID // position in the list
	Decision            *MessageDecision
	Deliveries          []MessageDelivery // oldest first; the newest when there are too many; not in lists
	Truncated           bool
}

// MessageDecision is the receipt. The first decision binds the event; the redrive of a refusal may replace it.
type MessageDecision struct {
	At        time.Time
	Type      EventType
	Outcome   Verdict
	Code      refund.Code
	Transport string // of the delivery that was decided
}

// MessageDelivery is one delivery of a message.
type MessageDelivery struct {
	At             time.Time
	Transport      string // broker:place#delivery
	Outcome, Cause string
	ReplayBatch    refund.RID
}

// Delivery is one delivery of a message, for the trace.
type Delivery struct {
	Tenant         refund.TenantID // 0 = not known
	Event          EventID
	Transport      string
	Outcome, Cause string
	RID            refund.RID
	ReplayBatch    refund.RID
}
