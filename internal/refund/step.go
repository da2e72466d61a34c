package refund

import "time"

// Do is the kind of a step.
type Do string

// What Decide can say.
const (
	DoSend   Do = "send"
	DoQuery  Do = "query"
	DoList   Do = "list"
	DoWait   Do = "wait"
	DoCase   Do = "case"   // no automatic step is left, or the deadline has passed: Reason
	DoSettle Do = "settle" // nothing is exposed any more, by time alone
	DoNumber Do = "number" // the live number is dead: the next one
	DoDone   Do = "done"
)

// Step is the next thing to do for a refund.
type Step struct {
	Do       Do
	Dispatch int           // Send, Query, List, Number
	Until    time.Time     // Wait
	Why      PendingReason // Wait in PENDING
	Reason   CaseReason    // Case
}
