package httpapi

import "github.com/refundry/refundry/internal/refund"

// The read models are the domain's; these are their names here.
type (
	// RefundQuery selects refunds.
	RefundQuery = refund.RefundFilter
	// Timeline is everything durable about a refund.
	Timeline = refund.Timeline
	// JournalRow is one entry of the journal.
	JournalRow = refund.JournalRow
	// DispatchRow is a dispatch as readers see it.
	DispatchRow = refund.DispatchRow
	// AttemptRow is an attempt with its evidence.
	AttemptRow = refund.AttemptRow
	// EffectRow is an effect with where it was learned.
	EffectRow = refund.EffectRow
	// DeliveryRow is one time that a message about the refund came in.
	DeliveryRow = refund.DeliveryRow
	// PaymentView is a payment with the money that moved.
	PaymentView = refund.PaymentView
)
