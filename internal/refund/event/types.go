package event

import "github.com/refundry/refundry/internal/refund"

// Type is the CloudEvents type of a public event. Names are never changed.
type Type string

// Types of events. Each names a state that a refund has entered, or a case.
const (
	Created      Type = "refund.created"
	Acknowledged Type = "refund.acknowledged" // the channel has it, the result comes later
	Succeeded    Type = "refund.succeeded"
	Failed       Type = "refund.failed"
	Unknown      Type = "refund.unknown"
	Reversed     Type = "refund.reversed"
	Canceled     Type = "refund.canceled"
	CaseOpened   Type = "refund.case_opened"
	CaseClosed   Type = "refund.case_closed"
)

// Types returns all types.
func Types() []Type {
	return []Type{Created, Acknowledged, Succeeded, Failed, Unknown, Reversed, Canceled, CaseOpened, CaseClosed}
}

// entered is the event of each state that a row enters. Every state is listed; "" = no event, because work in progress and
// the return to the queue are internal.
var entered = map[refund.State]Type{
	"PENDING":    "",
	"PROCESSING": "",
	"ACCEPTED":   Acknowledged,
	"UNKNOWN":    Unknown,
	"SUCCESS":    Succeeded,
	"FAILED":     Failed,
	"CANCELED":   Canceled,
	"REVERSED":   Reversed,
}

// stateType returns the event of the row's state, "" for none.
func stateType(r Row) (t Type, known bool) {
	if _, known = entered[r.To]; !known {
		return "", false
	}
	switch {
	case r.Seq == 1:
		return Created, true
	case r.From == r.To:
		return "", true
	}
	return entered[r.To], true
}

// caseType returns the event of the row's case, "" for none. A change of reasons under an open case has no event.
func caseType(before, after []string) Type {
	switch {
	case len(before) == 0 && len(after) > 0:
		return CaseOpened
	case len(before) > 0 && len(after) == 0:
		return CaseClosed
	}
	return ""
}
