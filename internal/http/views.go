package httpapi

import "github.com/refundry/refundry/internal/refund"

// Aliases of the read models of the domain.
type (
	// RefundQuery selects refunds.
	RefundQuery = refund.RefundFilter
	// Timeline is everything that is stored about a refund.
	Timeline = refund.Timeline
	// JournalRow is one entry of the journal.
	JournalRow = refund.JournalRow
	// DispatchRow is a dispatch with the time of its creation.
	DispatchRow = refund.DispatchRow
	// AttemptRow is an attempt with its evidence.
	AttemptRow = refund.AttemptRow
	// EffectRow is an effect with its source.
	EffectRow = refund.EffectRow
	// DeliveryRow is one delivery of a message about the refund.
	DeliveryRow = refund.DeliveryRow
	// PaymentView is a payment with the money that moved.
	PaymentView = refund.PaymentView
)
