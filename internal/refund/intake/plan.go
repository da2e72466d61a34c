package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Plan is what a group's transaction writes, with the outcomes of its items.
type Plan struct {
	Outcomes  []Outcome
	Receipts  []NewReceipt
	Rebound   []NewReceipt     // refusals that were decided anew
	Payments  []refund.Payment // new ones, balances with this group's reservations
	Touched   []refund.Payment // known ones with new balances
	Paid      []refund.Payment // known ones whose time of payment became known
	Refunds   []NewRefund
	Captures  []NewCapture
	Conflicts []ConflictRow
	Parked    []ParkedRow
	Unparked  []UnparkedRow
	Wakes     []refund.Wakeup
}

// Writes reports whether the plan changes anything.
func (p Plan) Writes() bool {
	return len(p.Receipts)+len(p.Rebound)+len(p.Payments)+len(p.Touched)+len(p.Paid)+
		len(p.Refunds)+len(p.Captures)+len(p.Conflicts)+len(p.Parked)+len(p.Unparked) > 0
}

// NewReceipt binds an event id.
type NewReceipt struct {
	EventRef
	Receipt
	Transport string
}

// NewRefund is a refund's first row, its first number and its first journal row.
type NewRefund struct {
	refund.Refund
	Number string
	Entry  refund.Entry
	Replay refund.RID
}

// NewCapture adds an amount to a payment.
type NewCapture struct {
	CaptureRef
	Amount int64
}

// ConflictKind says which identity was used with other parameters.
type ConflictKind string

// Kinds of conflicts.
const (
	ConflictEventParams   ConflictKind = "EVENT_PARAMS"
	ConflictEventRefund   ConflictKind = "EVENT_OTHER_REFUND"
	ConflictEventType     ConflictKind = "EVENT_OTHER_TYPE"
	ConflictRefundParams  ConflictKind = "REFUND_PARAMS"
	ConflictPaymentParams ConflictKind = "PAYMENT_PARAMS"
)

// ConflictRow is the evidence of a conflict. It is committed although the request is not accepted.
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

// ParkedRow stores an item that could not be accepted, with its bytes.
type ParkedRow struct {
	EventRef
	Park
	Reason      string // a problem code, or "waiting"
	WakePayment string // set = tried again when this payment is known
	AlarmAt     time.Time
}

// ParkedWaiting is the reason of a parked item whose payment is not known yet.
const ParkedWaiting = "waiting"

// UnparkedRow settles a parked row that was tried again, or says why it stays parked.
type UnparkedRow struct {
	Tenant      refund.TenantID
	ID          refund.RID
	How         string // done: accepted or replayed; "" = stays parked with Reason
	By          string // who tried again
	Reason      string
	WakePayment string // set = stays parked until this payment is known
	AlarmAt     time.Time
}
