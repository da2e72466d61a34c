package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

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

// ParkedMessage is a parked item with the bytes that it came with, to be read and tried again.
type ParkedMessage struct {
	ID       refund.RID
	Tenant   refund.Tenant
	Consumer string
	Park
}

// Park is what the door needs to keep an item that it may not accept. nil on REST: there the caller has the answer.
type Park struct {
	Position string // stable name of the item's place at its transport; one parked row per (tenant, consumer, place)
	Headers  map[string][]string
	Body     []byte
}
