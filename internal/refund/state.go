package refund

// State is where a refund stands.
type State string

// The states. Which fact moves which state where is the table in table.go; "final" is derived from it.
const (
	Pending    State = "PENDING"
	Processing State = "PROCESSING"
	InChannel  State = "ACCEPTED" // the channel positively acknowledged it
	InDoubt    State = "UNKNOWN"
	Success    State = "SUCCESS"
	Failed     State = "FAILED"
	Canceled   State = "CANCELED"
	ReversedSt State = "REVERSED"
)

// States lists all of them in the order of a refund's life.
func States() []State {
	return []State{Pending, Processing, InChannel, InDoubt, Success, Failed, Canceled, ReversedSt}
}

// Final says whether a refund in this state has told its end: no claim starts from it.
// Facts still move it (a proof of new money is never refused).
func (s State) Final() bool { return s == Success || s == Failed || s == Canceled || s == ReversedSt }
