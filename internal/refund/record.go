package refund

import (
	"time"
)

// RefundRef is the key of a refund's row.
type RefundRef struct {
	Tenant TenantID
	RID    RID
}

// Refund is the refund's row: identity, immutable parameters, state, ownership, journal head.
type Refund struct {
	RefundRef
	Params
	Account, ChannelReference string // fixed by the payment
	Exponent                  int
	Digest                    Digest
	Prev                      RID // the refund of the payment before this one
	Reason                    string
	Metadata                  map[string]string

	State         State
	PendingReason PendingReason // only in PENDING
	Failure       Failure       // only in FAILED
	Exposed       bool          // a dispatch is exposed
	Case          *Case         // the open case; nil = none
	AskNo         int           // the dispatch that must be asked about before a resend is sent; 0 = none

	Epoch, Generation     int
	LeaseEndsAt           time.Time // zero = no lease
	NextActionAt          time.Time // the one timer; zero only when final, not exposed and without a case
	DispatchNo, AttemptNo int       // highest ordinals so far
	JournalSeq            int       // the version of the API
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
	PendingQueued      PendingReason = "queued"
	PendingLowBalance  PendingReason = "low-balance"
	PendingSpacing     PendingReason = "spacing"
	PendingRateLimit   PendingReason = "rate-limit"
	PendingBreaker     PendingReason = "breaker"
	PendingHeld        PendingReason = "sending-held"
	PendingExcess      PendingReason = "excess"
	PendingCredentials PendingReason = "credentials"
)

// Record is everything that is stored about one refund and may matter to a decision, read under its lock or as a snapshot.
// Its methods are in the files of what they are about: dispatch.go, effect.go, exposure.go, conclusion.go, decide.go,
// waits.go, guards.go, decision_obstacles.go, lines_owner.go and lines_change.go.
type Record struct {
	Refund
	TenantCode   string
	Installation string
	Dispatches   []Dispatch // by ordinal, from 1
	Attempts     []Attempt  // by ordinal, from 1
	Effects      []Effect
	Payment      Payment
	Facts        map[[32]byte]bool // keys of the facts in the journal
	SendingHeld  bool              // an epoch is open: nothing is sent, and nothing is asked about refunds that are not final
	ProposalOpen bool              // a proposal that stops sends waits for its approval or for its horizon (see Action.StopsSends)
	NotOurs      map[RID]bool      // lines of which a person has said that they are not this refund; never changed in place
	Siblings     []Record          // the other refunds of the payment, each with its own effects; read only while the payment has a held line
	Now          time.Time         // database time of the reading
}
