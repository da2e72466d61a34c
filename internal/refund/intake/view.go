package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Names of rows as a group's view and plan use them.
type (
	// EventRef names a receipt.
	EventRef struct {
		Tenant refund.TenantID
		EventID
	}
	// RefundKey names a refund by the id that its caller chose.
	RefundKey struct {
		Tenant   refund.TenantID
		RefundID string
	}
	// PaymentRef names a payment.
	PaymentRef struct {
		Tenant    refund.TenantID
		PaymentID string
	}
	// CaptureRef names a capture.
	CaptureRef struct {
		PaymentRef
		CaptureID string
	}
	// ReferenceRef is a payment as its channel account knows it.
	ReferenceRef struct {
		Account, Reference string
	}
)

// Receipt is the first decision about an event id.
type Receipt struct {
	Type     EventType
	Digest   refund.Digest
	Params   string // canonical JSON of what was asked
	Outcome  Verdict
	RID      refund.RID
	RefundID string // of RID; "" = none
	Code     refund.Code
}

// SeenPayment is a payment as a group saw it. Its balances may only be used when Locked.
type SeenPayment struct {
	refund.Payment
	Locked bool
}

// View is what the database says about a group, read in one round trip under the group's locks.
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
	Waiters      map[PaymentRef]bool         // something is parked until this payment is known
	Parked       map[refund.RID]ParkedState  // of the rows that are tried again; absent = as it should be
	// Account gives an account's contract and whether the tenant may use it.
	Account func(name string, t refund.TenantID) (c refund.Contract, known, allowed bool)
}

// ParkedState says what keeps a parked row from being tried again.
type ParkedState string

// States of parked rows that are to be tried again.
const (
	ParkedTaken   ParkedState = "TAKEN"   // another transaction is at it
	ParkedSettled ParkedState = "SETTLED" // it has been dealt with
)
