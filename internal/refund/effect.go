package refund

import "time"

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

// ByPersonOnly: booked by a decision, and the channel never gave it an id.
func (e *Effect) ByPersonOnly() bool { return e.ByPerson && e.ChannelRefundID == "" }

// booked says whether money of this dispatch is in the books, moved or returned. What a person took back is not.
func (r *Record) booked(no int) bool {
	for _, e := range r.Effects {
		if e.Ours && e.DispatchNo == no && (e.Status == EffectMoved || (e.Status == EffectReversed && !e.ByPersonOnly())) {
			return true
		}
	}
	return false
}

// hasAmount says whether a line may be this refund: it has the amount and the currency that were asked for.
func (r *Record) hasAmount(e Effect) bool { return e.Amount == r.Amount && e.Currency == r.Currency }
