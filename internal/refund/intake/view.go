package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Keys of rows in a group's view and plan.
type (
	// EventRef is the key of a receipt.
	EventRef struct {
		Tenant refund.TenantID
		EventID
	}
	// RefundKey is the id that the caller chose for a refund.
	RefundKey struct {
		Tenant   refund.TenantID
		RefundID string
	}
	// PaymentRef is the key of a payment.
	PaymentRef struct {
		Tenant    refund.TenantID
		PaymentID string
	}
	// CaptureRef is the key of a capture.
	CaptureRef struct {
		PaymentRef
		CaptureID string
	}
	// ReferenceRef is a payment's name at its channel account.
	ReferenceRef struct {
		Account, Reference string
	}
)

// Receipt is the first decision about an event id.
type Receipt struct {
	Type     EventType
	Digest   refund.Digest
	Params   string // canonical JSON of the parameters
	Outcome  Verdict
	RID      refund.RID
	RefundID string // of RID; "" = none
	Code     refund.Code
}

// SeenPayment is a payment as it was read. Its balances may only be used when Locked.
type SeenPayment struct {
	refund.Payment
	Locked bool
}

// View is the part of the database that a group needs, read in one round trip under the group's locks.
type View struct {
	Now          time.Time // database time
	Installation string
	Epoch        int
	Got          []bool // per item: all its mutexes were obtained
	Receipts     map[EventRef]Receipt
	Refunds      map[RefundKey]refund.Refund
	Payments     map[PaymentRef]SeenPayment
	References   map[ReferenceRef]PaymentRef // of payments that the group may create
	Captures     map[CaptureRef]int64        // amounts
	Waiters      map[PaymentRef]bool         // a message is parked until this payment is known
	Parked       map[refund.RID]ParkedState  // of the rows that are tried again; absent = it may be tried
	// Account returns an account's contract and whether the tenant may use it.
	Account func(name string, t refund.TenantID) (c refund.Contract, known, allowed bool)
}

// ParkedState is what prevents a parked row from being tried again.
type ParkedState string

// States of parked rows that are tried again.
const (
	ParkedTaken   ParkedState = "TAKEN"   // another transaction holds it
	ParkedSettled ParkedState = "SETTLED" // it is settled
)
