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
	MinAgeInState time.Duration // least time in its state
	Before        RID           // older than this one, for the next page
	Limit         int           // rows, at least 1
}

// Timeline is everything that is stored about a refund, for reading. Its lists are ordered by time; a list that is too long
// has the newest rows.
type Timeline struct {
	Refund     Refund
	Journal    []JournalRow
	Dispatches []DispatchRow
	Attempts   []AttemptRow
	Effects    []EffectRow
	Deliveries []DeliveryRow
	Truncated  bool // older rows of a list were left out
}

// JournalRow is one row of the journal.
type JournalRow struct {
	Seq        int
	At         time.Time
	Kind       string
	From, To   State // From "" = first row
	Generation int
	Source     string
	Actor      string
	Data       json.RawMessage // a JSON object, exactly as hashed
}

// DispatchRow is a dispatch with the columns for readers.
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

// EffectRow is an effect with its source.
type EffectRow struct {
	Effect
	RefundID string // "" = no refund of ours
	Source   string
}

// DeliveryRow is one delivery of a message about the refund.
type DeliveryRow struct {
	At              time.Time
	Consumer        string
	Source, EventID string // "" = none
	Transport       string
	Outcome, Cause  string // Cause "" = none
}

// PaymentView is a payment with its effects.
type PaymentView struct {
	Payment   Payment
	Effects   []EffectRow // ordered by time; the newest when there are too many
	Truncated bool
}
