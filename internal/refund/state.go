package refund

// State is where a refund stands.
type State string

// The states. Which fact moves which state where is the table in table.go; "final" is derived from it.
const (
	StatePending    State = "PENDING"
	StateProcessing State = "PROCESSING"
	StateAccepted   State = "ACCEPTED" // the channel positively acknowledged it
	StateUnknown    State = "UNKNOWN"
	StateSuccess    State = "SUCCESS"
	StateFailed     State = "FAILED"
	StateCanceled   State = "CANCELED"
	StateReversed   State = "REVERSED"
)

// States lists all of them in the order of a refund's life.
func States() []State {
	return []State{StatePending, StateProcessing, StateAccepted, StateUnknown, StateSuccess, StateFailed, StateCanceled, StateReversed}
}

// Final says whether a refund in this state has told its end: no claim starts from it.
// Facts still move it (a proof of new money is never refused).
func (s State) Final() bool {
	return s == StateSuccess || s == StateFailed || s == StateCanceled || s == StateReversed
}
