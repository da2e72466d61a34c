package refund

import "time"

// EffectStatus is the status of a channel refund. It only moves forward.
type EffectStatus string

// Statuses of effects.
const (
	EffectHeld     EffectStatus = "HELD"
	EffectMoved    EffectStatus = "MOVED"
	EffectReversed EffectStatus = "REVERSED"
	EffectDropped  EffectStatus = "DROPPED"
)

// Effect is a refund that exists at the channel, ours or foreign. There is one per channel refund.
type Effect struct {
	ID              RID
	Ours            bool // belongs to this refund; else a held or foreign line of its payment
	DispatchNo      int
	ChannelRefundID string
	Amount          int64
	Currency        Currency
	Counted         int64 // its weight in payments.refunded
	Status          EffectStatus
	ByPerson        bool      // booked by a decision, not by the channel
	At, ReversedAt  time.Time // At: when it was recorded
	ToldAt          time.Time // of a line: the channel's own time, zero = not given. Evidence only
	Pending         bool      // of a held line: the channel has not said yet that the money moved
	CoveredBy       RID       // of a held line: the open refund that may own it and reserves its amount; zero = none
	Voucher         string    // JSON object of texts by which the payer finds the money; "" = none, or not read
}

// ByPersonOnly reports whether only a decision has booked the effect: the channel never gave it an id.
func (e *Effect) ByPersonOnly() bool { return e.ByPerson && e.ChannelRefundID == "" }

func (e *Effect) heldLine() bool    { return !e.Ours && e.Status == EffectHeld }
func (e *Effect) adoptedLine() bool { return !e.Ours && e.Status == EffectMoved }

// booked reports whether the books have money of this dispatch, moved or returned. A confirmation that was taken back does
// not count.
func (r *Record) booked(no int) bool {
	for _, e := range r.Effects {
		if e.Ours && e.DispatchNo == no && (e.Status == EffectMoved || (e.Status == EffectReversed && !e.ByPersonOnly())) {
			return true
		}
	}
	return false
}

// hasAmount reports whether a line may be this refund: it has the requested amount and currency.
func (r *Record) hasAmount(e Effect) bool { return e.Amount == r.Amount && e.Currency == r.Currency }
