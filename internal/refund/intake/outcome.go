package intake

import "github.com/refundry/refundry/internal/refund"

// Verdict is what the door says.
type Verdict string

// design: one verdict per item; only the first four bind the event id.
const (
	Taken    Verdict = "TAKEN"    // new event, new refund (or capture)
	Replayed Verdict = "REPLAYED" // known, same parameters
	Conflict Verdict = "CONFLICT" // known, other parameters
	Refused  Verdict = "REFUSED"  // a rule says no
	Waiting  Verdict = "WAITING"  // the payment is not known yet
	Busy     Verdict = "BUSY"     // a row stayed locked for too long
	Lost     Verdict = "LOST"     // a lock was not obtained in this try; never leaves the door
)

// Causes of a replay, for the duplicates metric.
const (
	CauseEvent   = "event"   // the same event id again
	CauseRefund  = "refund"  // another event id for a known refund (or capture)
	CauseSettled = "settled" // the parked row that was to be tried again is dealt with already
)

// Outcome is the door's answer to one intake.
type Outcome struct {
	Verdict  Verdict
	Code     refund.Code    // Conflict, Refused, Waiting, Busy
	Fields   []string       // Conflict: JSON names of the differing fields, never their values
	Replayed bool           // a stored Conflict or Refused told again
	Cause    string         // Replayed: CauseEvent or CauseRefund
	Refund   *refund.Refund // Accepted, Replayed of a refund: its current state
}
