package refund

import (
	"encoding/json"
	"time"
)

// RefundFilter selects refunds. Zero fields select everything.
type RefundFilter struct {
	States        []State
	HasCase       *bool
	OrderID       string
	PaymentID     string
	Account       string
	CreatedFrom   time.Time     // inclusive
	CreatedBefore time.Time     // exclusive
	MinAgeInState time.Duration // in its state for at least so long
	Before        RID           // older than this one, for the next page
	Limit         int           // rows, at least 1
}

// Timeline is everything durable about a refund, for reading. Its lists are in
// order of time and hold the newest rows when there are too many.
type Timeline struct {
	Refund     Refund
	Journal    []JournalRow
	Dispatches []DispatchRow
	Attempts   []AttemptRow
	Effects    []EffectRow
	Deliveries []DeliveryRow
	Truncated  bool // older rows of some list were left out
}

// JournalRow is one entry of the journal.
type JournalRow struct {
	Seq        int
	At         time.Time
	Kind       string
	From, To   State // From "" = birth
	Generation int
	Source     string
	Actor      string
	Data       json.RawMessage // a JSON object, exactly as hashed
}

// DispatchRow is a dispatch with what only readers want.
type DispatchRow struct {
	Dispatch
	CreatedAt time.Time
}

// AttemptRow is an attempt with its evidence.
type AttemptRow struct {
	Attempt
	Rule     string
	Late     bool
	Evidence json.RawMessage // a JSON object, or nil
}

// EffectRow is an effect with where it was learned.
type EffectRow struct {
	Effect
	RefundID string // "" = not one of ours
	Source   string
}

// DeliveryRow is one time that a message about the refund came in.
type DeliveryRow struct {
	At              time.Time
	Consumer        string
	Source, EventID string // "" = none
	Transport       string
	Outcome, Cause  string // Cause "" = none
}

// PaymentView is a payment with the money that moved.
type PaymentView struct {
	Payment   Payment
	Effects   []EffectRow // in order of time, the newest when there are too many
	Truncated bool
}
