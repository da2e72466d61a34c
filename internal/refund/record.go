package refund

import (
	"time"
)

// RefundRef finds a refund's row.
type RefundRef struct {
	Tenant TenantID
	RID    RID
}

// Refund is the aggregate's row: identity, immutable parameters, state, ownership, journal head.
type Refund struct {
	RefundRef
	Params
	Account, ChannelReference string // frozen from the payment
	Exponent                  int
	Digest                    Digest
	Prev                      RID // the payment's refund before this one
	Reason                    string
	Metadata                  map[string]string

	State         State
	PendingReason PendingReason // only in PENDING
	Failure       Failure       // only in FAILED
	Exposed       bool          // some dispatch is exposed
	Case          *Case         // the open case
	AskNo         int           // a resend's open ask: the dispatch to be asked once more before anything is sent; 0 = none

	Epoch, Generation     int
	LeaseEndsAt           time.Time // zero = no lease
	NextActionAt          time.Time // the one timer; zero only when final, not exposed and without a case
	DispatchNo, AttemptNo int       // highest ordinals so far
	JournalSeq            int       // the API's version
	JournalHead           [32]byte
	CreatedAt, StateSince time.Time
	UpdatedAt, FinalAt    time.Time
	ChannelRefundID       string // of the live dispatch; read only
}

// Failure says why a refund is FAILED: our stable code and the channel's.
type Failure struct {
	Code, ChannelCode string
}

// PendingReason says why a PENDING refund waits.
type PendingReason string

// Reasons of PENDING.
const (
	PendingQueued     PendingReason = "queued"
	PendingLowBalance PendingReason = "low-balance"
	PendingSpacing    PendingReason = "spacing"
	PendingRateLimit  PendingReason = "rate-limit"
	PendingBreaker    PendingReason = "breaker"
	PendingHeld       PendingReason = "sending-held"
)

// Record is everything durable about one refund that a decision may need, read under its lock or as a snapshot.
type Record struct {
	Refund
	TenantCode   string
	Installation string
	Dispatches   []Dispatch // by No, from 1
	Attempts     []Attempt  // by No, from 1
	Effects      []Effect
	Payment      Payment
	Facts        map[[32]byte]bool // fact keys in the journal
	SendingHeld  bool              // the epoch forbids sending
	OthersMayPay bool              // another refund of the payment is exposed, or has an effect without the channel's id; known only where lines are decided
	Now          time.Time         // database time of the reading
}
