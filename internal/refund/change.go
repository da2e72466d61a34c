package refund

import (
	"encoding/json"
	"time"
)

// Change is what one fact does to a refund, computed under its lock and written in the same transaction.
// The store compares Before and After row by row; Steps are the refund's own row and journal, one UPDATE each.
type Change struct {
	Before, After Record
	Known         bool // the fact was in the journal already: only an attempt's answer is written
	Steps         []JournalStep
	Attempt       *AttemptAnswer
	Retirements   []Retirement
	CaseClosed    *Case // the case that this change closes
	VoidProposals bool
	Rows          []string // numbers of the table rows that applied, for coverage
	WakeNow       bool     // the next step is due at once: its job goes into the transaction
	Decision      RID      // the decision that takes effect; zero = none
}

// AttemptAnswer completes an attempt, once.
type AttemptAnswer struct {
	No         int
	Answer     FactKind
	Rule, Code string
	RetryAfter time.Duration
	Late       bool // its generation had passed
	Evidence   json.RawMessage
}

// Retirement closes a number for ever; the proof opens the way to the next one.
type Retirement struct {
	Dispatch     int
	ProofAttempt int // 0 = by decision or epoch
	ByDecision   bool
	Rule         string
}
