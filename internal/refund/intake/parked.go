package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Park is the data with which an item that is not accepted can be stored. nil over REST, where the caller gets the answer.
type Park struct {
	Position string // stable name of the item's position at its transport; one parked row per (tenant, consumer, position)
	Headers  map[string][]string
	Body     []byte
}

// ParkedMessage is a parked item with its original bytes, to be read and tried again.
type ParkedMessage struct {
	ID       refund.RID
	Tenant   refund.Tenant
	Consumer string
	Park
}

// ParkedFilter selects parked messages of a tenant.
type ParkedFilter struct {
	Done     bool       // settled ones instead of open ones
	Reason   string     // "" = any
	Consumer string     // "" = any
	After    refund.RID // for the next page; zero = from the start
	Limit    int        // rows, at least 1
}

// ParkedView is a parked message for people. Lists leave out its bytes.
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

// Redrivable reports whether a person may try the message again: it was refused, it waits, or it was never decided. A
// conflict cannot be redriven, because the stored parameters stay.
func (p ParkedView) Redrivable() bool {
	switch refund.Code(p.Reason) {
	case refund.CodeKeyReused, refund.CodeRefundConflict, refund.CodePaymentConflict:
		return false
	default:
		return true
	}
}

// Redriven is the result of a redrive.
type Redriven struct {
	Parked  ParkedView
	Tried   bool       // false: it was settled before
	Outcome Outcome    // when Tried and without a Fault
	Batch   refund.RID // marks everything that the try led to; zero = nothing was tried
	Fault   error      // the message is still unreadable; methods Pointer and Detail say where and why
}
