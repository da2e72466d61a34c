package refund

import "time"

// StepKind is the kind of a step.
type StepKind string

// What Decide can say.
const (
	StepSend      StepKind = "send"
	StepQuery     StepKind = "query"
	StepList      StepKind = "list"
	StepWait      StepKind = "wait"
	StepOpenCase  StepKind = "case"   // no automatic step is left, or the deadline has passed: Reason
	StepSettle    StepKind = "settle" // nothing is exposed any more, by time alone
	StepRetireKey StepKind = "number" // the live number is dead: the next one
	StepDone      StepKind = "done"
)

// Step is the next thing to do for a refund.
type Step struct {
	Kind     StepKind
	Dispatch int           // Send, Query, List, Number
	Until    time.Time     // Wait
	Why      PendingReason // Wait in PENDING
	Reason   CaseReason    // Case
}
