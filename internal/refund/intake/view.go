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

// Plan is what a group's transaction writes, and what its items are answered.
type Plan struct {
	Outcomes  []Outcome
	Receipts  []NewReceipt
	Rebound   []NewReceipt     // refusals that were decided anew
	Payments  []refund.Payment // new ones, balances with this group's reservations
	Touched   []refund.Payment // known ones with new balances
	Paid      []refund.Payment // known ones whose time of paying became known
	Refunds   []NewRefund
	Captures  []NewCapture
	Conflicts []ConflictRow
	Parked    []ParkedRow
	Unparked  []UnparkedRow
	Wakes     []refund.Wakeup
}

// Writes says whether the plan changes anything at all.
func (p Plan) Writes() bool {
	return len(p.Receipts)+len(p.Rebound)+len(p.Payments)+len(p.Touched)+len(p.Paid)+len(p.Refunds)+len(p.Captures)+len(p.Conflicts)+len(p.Parked)+len(p.Unparked) > 0
}

// NewReceipt binds an event id.
type NewReceipt struct {
	EventRef
	Receipt
	Transport string
}

// NewRefund is a refund's birth: its row, its first number and its first journal row.
type NewRefund struct {
	refund.Refund
	Number string
	Entry  refund.Entry
	Replay refund.RID
}

// NewCapture adds to a payment.
type NewCapture struct {
	CaptureRef
	Amount int64
}

// ConflictKind says which identity met other parameters.
type ConflictKind string

// Kinds of conflicts.
const (
	ConflictEventParams   ConflictKind = "EVENT_PARAMS"
	ConflictEventRefund   ConflictKind = "EVENT_OTHER_REFUND"
	ConflictEventType     ConflictKind = "EVENT_OTHER_TYPE"
	ConflictRefundParams  ConflictKind = "REFUND_PARAMS"
	ConflictPaymentParams ConflictKind = "PAYMENT_PARAMS"
)

// ConflictRow is the evidence of a conflict. It commits although the write was refused.
type ConflictRow struct {
	EventRef
	Kind                ConflictKind
	RefundID, PaymentID string
	RID                 refund.RID
	Got                 string // canonical JSON
	GotDigest           [32]byte
	Fields              []string
	Transport           string
}

// ParkedRow keeps an item that could not be accepted, with its bytes.
type ParkedRow struct {
	EventRef
	Park
	Reason      string // a problem code, or "waiting"
	WakePayment string // set = tried again when this payment is known
	AlarmAt     time.Time
}

// ParkedWaiting is the reason of a parked item whose payment is not known yet.
const ParkedWaiting = "waiting"

// ParkedState says what keeps a parked row from being tried again.
type ParkedState string

// States of parked rows that are to be tried again.
const (
	ParkedTaken   ParkedState = "TAKEN"   // another transaction is at it
	ParkedSettled ParkedState = "SETTLED" // it has been dealt with
)

// UnparkedRow settles a parked row that was tried again, or tells why it stays.
type UnparkedRow struct {
	Tenant      refund.TenantID
	ID          refund.RID
	How         string // done: accepted or replayed; "" = stays parked with Reason
	By          string // who tried
	Reason      string
	WakePayment string // set = stays until this payment is known
	AlarmAt     time.Time
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
