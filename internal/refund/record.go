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

// CaseReason is one reason why a person must look. A fact removes only the reason that it answers.
type CaseReason string

// Reasons of cases.
const (
	CaseSuccessAfterEnd      CaseReason = "success-after-end"      // money moved after we had told people it did not
	CaseMultipleEffects      CaseReason = "multiple-effects"       // more than one effect
	CaseOtherNumberOpen      CaseReason = "other-number-open"      // another dispatch may still act
	CaseExcess               CaseReason = "excess"                 // more refunded than captured
	CaseContradiction        CaseReason = "contradiction"          // the channel contradicts itself or us
	CaseUnmatchedLine        CaseReason = "unmatched-line"         // a line that may be ours
	CaseDeadline             CaseReason = "deadline"               // open for too long
	CaseNoStep               CaseReason = "no-automatic-step"      // the contract allows nothing more
	CaseAcknowledgedAfterEnd CaseReason = "acknowledged-after-end" // the channel has a refund that we held for not done
)

// Case is the open case of a refund.
type Case struct {
	ID       RID
	Reasons  []CaseReason // sorted, at least one while open
	OpenedAt time.Time
}

// Has says whether the case holds a reason. A nil case holds none.
func (c *Case) Has(r CaseReason) bool {
	if c == nil {
		return false
	}
	for _, x := range c.Reasons {
		if x == r {
			return true
		}
	}
	return false
}

// Dispatch is one identity at the channel below a refund. Number, account and ordinal never change.
type Dispatch struct {
	Ordinal           int
	Number            string
	KeyExpiresAt      time.Time // zero = the key has no end, or nothing was sent yet
	AbsenceCountsFrom time.Time // max(not_after) of the sends + horizon + visibility lag; zero = nothing sent
	Exposed           bool
	Overridden        bool // a person's approved decision says: not done
	FinalNegativeAt   time.Time
	MayActUntil       time.Time // set by an epoch marking
	MarkedEpoch       int
	Acknowledged      bool // Accepted seen, or the channel's id known
	ChannelRefundID   string
	Retired           bool // a death with proof exists: the way to the next number is open
}

// AttemptKind is what an attempt asks of the channel.
type AttemptKind string

// Kinds of attempts.
const (
	AttemptSend  AttemptKind = "SEND"
	AttemptQuery AttemptKind = "QUERY"
	AttemptList  AttemptKind = "LIST"
)

// Attempt is one call to the channel. Its row exists before the call; Answer is written once.
type Attempt struct {
	No, DispatchNo      int
	Kind                AttemptKind
	Epoch, Generation   int
	ContractVersion     int
	StartedAt, NotAfter time.Time // database time
	AnsweredAt          time.Time
	Answer              FactKind // "" = not answered
	RetryAfter          time.Duration
	Code                string // the channel's code
}

// EffectStatus is where a channel refund stands. It only rises.
type EffectStatus string

// Statuses of effects.
const (
	EffectHeld     EffectStatus = "HELD"
	EffectMoved    EffectStatus = "MOVED"
	EffectReversed EffectStatus = "REVERSED"
	EffectDropped  EffectStatus = "DROPPED"
)

// Effect is money that moved at the channel: one per channel refund, ours or foreign.
type Effect struct {
	ID              RID
	Ours            bool // belongs to this refund; else a held or foreign line of its payment
	DispatchNo      int
	ChannelRefundID string
	Amount          int64
	Currency        Currency
	Counted         int64 // its weight in payments.refunded
	Status          EffectStatus
	ByPerson        bool // booked by a decision, not by the channel
	At, ReversedAt  time.Time
	Voucher         string // JSON object of texts by which the payer finds the money; "" = none, or not read
}

// Payment holds the balances that refunds draw on.
type Payment struct {
	Tenant                                          TenantID
	PaymentID, OrderID                              string
	Account, Reference                              string
	Currency                                        Currency
	Exponent                                        int
	KnownBy                                         KnownBy
	Version                                         int64
	Captured, Reserved, Refunded                    int64
	RefundedElsewhere, Held, Excess, ExcessAccepted int64
	Refunds                                         int
	LastRID                                         RID
	NextSendAt, WindowEndsAt, CreatedAt             time.Time
	PaidAt                                          time.Time // when the payer paid; zero = not said
}

// KnownBy says how a payment is told to us; the first kind decides.
type KnownBy string

// The two ways.
const (
	BySnapshot KnownBy = "snapshot"
	ByCaptures KnownBy = "captures"
)

// Refundable is what a new refund may still take, never below 0.
func (p Payment) Refundable() int64 {
	return max(0, p.Captured-p.Reserved-p.Refunded-p.RefundedElsewhere-p.Held)
}

// WithExcess recomputes the excess; every fact path ends with it.
func (p Payment) WithExcess() Payment {
	p.Excess = max(0, p.Reserved+p.Refunded+p.RefundedElsewhere+p.Held-p.Captured)
	return p
}

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
