package refund

import "time"

// StepKind is the kind of a step.
type StepKind string

// Kinds of steps.
const (
	StepSend      StepKind = "send"
	StepQuery     StepKind = "query"
	StepList      StepKind = "list"
	StepWait      StepKind = "wait"
	StepOpenCase  StepKind = "case"   // no automatic step is left, or the deadline has passed: Reason
	StepSettle    StepKind = "settle" // nothing is exposed any more, because time has passed
	StepRetireKey StepKind = "number" // the live number may not be used any more: the next one
	StepDone      StepKind = "done"
)

// Step is the next step of a refund.
type Step struct {
	Kind     StepKind
	Dispatch int           // of StepSend, StepQuery, StepList, StepRetireKey
	Until    time.Time     // of StepWait
	Why      PendingReason // of StepWait in PENDING
	Reason   CaseReason    // of StepOpenCase
}
