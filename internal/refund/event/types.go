package event

import "github.com/refundry/refundry/internal/refund"

// Type is the CloudEvents type of a public event. Names are never changed.
type Type string

// The types. Each names what a refund has entered: a state, or an open case.
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

// Types lists all of them.
func Types() []Type {
	return []Type{Created, Acknowledged, Succeeded, Failed, Unknown, Reversed, Canceled, CaseOpened, CaseClosed}
}

// entered is the table of events by the state that a row enters. Every state
// stands here; "" means that entering it is not told: work in progress and the
// return to the queue concern nobody outside.
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

// stateType is the event of the row's state, "" for none.
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

// caseType is the event of the row's case, "" for none. A change of reasons
// under an open case is none.
func caseType(before, after []string) Type {
	switch {
	case len(before) == 0 && len(after) > 0:
		return CaseOpened
	case len(before) > 0 && len(after) == 0:
		return CaseClosed
	}
	return ""
}
