package refund

// State is the state of a refund.
type State string

// States. The table in table.go has the transitions.
//
// A new state needs: its place in States and, if it is final, in Final (a test checks that no send starts there); the sets and rules of table.go,
// table_money.go and decision_table.go; the invariants in check (apply.go); a migration for the constraints and the transitions of the
// guard; docs/glossary.md and, by `make generate`, docs/state-machine.md; the reference in reference_test.go; the contract in
// api/openapi.yaml; its event in event/types.go.
const (
	StatePending    State = "PENDING"
	StateProcessing State = "PROCESSING"
	StateAccepted   State = "ACCEPTED" // the channel has acknowledged it
	StateUnknown    State = "UNKNOWN"  // it may have been executed; unlike the answer Unknown, which is about one call
	StateSuccess    State = "SUCCESS"
	StateFailed     State = "FAILED"
	StateCanceled   State = "CANCELED"
	StateReversed   State = "REVERSED"
)

// States returns all states in the order of a refund's progress.
func States() []State {
	return []State{StatePending, StateProcessing, StateAccepted, StateUnknown, StateSuccess, StateFailed, StateCanceled, StateReversed}
}

// Final reports whether a refund in this state has ended: no send starts from it. While one of its numbers is exposed, the
// channel is still asked. Facts still move it, because proof of moved money is never refused.
func (s State) Final() bool {
	return s == StateSuccess || s == StateFailed || s == StateCanceled || s == StateReversed
}

// MustBeExposed reports whether a refund in this state always has an exposed number (see Exposure).
func (s State) MustBeExposed() bool {
	return s == StateProcessing || s == StateAccepted || s == StateUnknown
}

// MayBeExposed reports whether a refund in this state can have an exposed number: never in PENDING, and in a final state only
// while a case is open.
func (s State) MayBeExposed(caseOpen bool) bool {
	return s.MustBeExposed() || (s.Final() && caseOpen)
}

// MayBeEnteredExposed reports whether a refund can enter this state while a number is exposed. PENDING would send again, FAILED
// and CANCELED say that no money moves.
func (s State) MayBeEnteredExposed() bool {
	return s.MustBeExposed() || s == StateSuccess || s == StateReversed
}

// StatesThat returns the states for which is holds, in the order of States.
func StatesThat(is func(State) bool) []State {
	var out []State
	for _, s := range States() {
		if is(s) {
			out = append(out, s)
		}
	}
	return out
}
