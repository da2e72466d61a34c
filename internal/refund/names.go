package refund

// Names are what one statement of a channel (an answer, a notice, a line) says about whose refund it is, beside the number
// and the channel refund id. All that it names must belong to one refund, else it contradicts itself (rule R23 of
// docs/rules.md). "" = not given, or given in a kind of id that the account does not use.
type Names struct {
	Number           string // of an answer that gives another number than that of the call
	RefundID         string
	PaymentReference string
	// Conflict is what the client itself has found to contradict, as "account" when the statement names another account of
	// the channel; "" = nothing.
	Conflict string
}
