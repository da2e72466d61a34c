package refund

// State is the state of a refund.
type State string

// States. The table in table.go has the transitions; "final" is derived from it.
const (
	StatePending    State = "PENDING"
	StateProcessing State = "PROCESSING"
	StateAccepted   State = "ACCEPTED" // the channel has acknowledged it
	StateUnknown    State = "UNKNOWN"
	StateSuccess    State = "SUCCESS"
	StateFailed     State = "FAILED"
	StateCanceled   State = "CANCELED"
	StateReversed   State = "REVERSED"
)

// States returns all states in the order of a refund's progress.
func States() []State {
	return []State{StatePending, StateProcessing, StateAccepted, StateUnknown, StateSuccess, StateFailed, StateCanceled, StateReversed}
}

// Final reports whether a refund in this state has ended: no claim starts from it. Facts still move it, because proof of
// moved money is never refused.
func (s State) Final() bool {
	return s == StateSuccess || s == StateFailed || s == StateCanceled || s == StateReversed
}
