package refund

import (
	"encoding/json"
	"time"
)

// CaseFilter selects cases. Zero fields select every open one.
type CaseFilter struct {
	Closed    bool // closed ones, newest first; else open ones, oldest first
	Reason    CaseReason
	RefundID  string
	PaymentID string
	After     CaseRef // the last one of the page before
	Limit     int     // rows, at least 1
}

// CaseRef is a case's place in a list.
type CaseRef struct {
	ID       RID
	OpenedAt time.Time
}

// CaseRow is a case as lists show it.
type CaseRow struct {
	CaseRef
	RID       RID // zero = about a payment
	RefundID  string
	PaymentID string
	State     State // of the refund; "" = about a payment
	Version   int   // of the refund
	Account   string
	Amount    int64 // of the refund; of a payment's case the excess
	Currency  Currency
	Reasons   []CaseReason // empty once closed
	ClosedAt  time.Time
	ClosedHow string
	Proposed  bool // a proposal waits for its approval, or an approved one for its time
}

// CaseView is a case with everything that a person needs to decide.
type CaseView struct {
	CaseRow
	Evidence  json.RawMessage // what was known when it opened
	Choices   []Choice
	Decisions []Decision  // newest first
	Lines     []EffectRow // held lines of the payment
	Payment   Payment
}

// Proposal is the decision that waits for its approval, or for the time when it may take effect.
func (v CaseView) Proposal() (Decision, bool) {
	for _, d := range v.Decisions {
		if d.Open() {
			return d, true
		}
	}
	return Decision{}, false
}
