package refund

import (
	"encoding/json"
	"time"
)

// Change is the effect of one fact on a refund, computed under its lock and written in the same transaction. The store
// compares Before and After row by row; Steps are the refund's own row and journal, one UPDATE each.
type Change struct {
	Before, After Record
	Known         bool // the journal had the fact already: only an attempt's answer is written
	Steps         []JournalStep
	Attempt       *AttemptAnswer
	Retirements   []Retirement
	CaseClosed    *Case // the case that this change closes
	VoidProposals bool
	Rows          []string // ids of the table rules that applied
	WakeNow       bool     // the next step is due at once: its job is enqueued in the same transaction
	Decision      RID      // the decision that takes effect; zero = none
	LineDecided   bool     // the decision answers or attaches a held line: it voids the other proposals of the payment
}

// AttemptAnswer is the answer that completes an attempt. It is written once.
type AttemptAnswer struct {
	No         int
	Answer     FactKind
	Rule, Code string
	RetryAfter time.Duration
	Late       bool // a newer claim was made before the answer arrived
	Evidence   json.RawMessage
}

// Retirement ends a number for ever. Its proof allows the next number.
type Retirement struct {
	Dispatch     int
	ProofAttempt int // 0 = by decision or epoch
	ByDecision   bool
	Rule         string
}
