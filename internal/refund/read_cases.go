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
	After     CaseRef // the last case of the page before
	Limit     int     // rows, at least 1
}

// CaseRef is the position of a case in a list.
type CaseRef struct {
	ID       RID
	OpenedAt time.Time
}

// CaseRow is a case in a list.
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
	Proposed  bool // a proposal waits for its approval, or an approved decision for its time
}

// CaseView is a case with all data that a person needs to decide it.
type CaseView struct {
	CaseRow
	Evidence  json.RawMessage // evidence of the time when it opened
	Choices   []Choice
	Decisions []Decision  // newest first
	Lines     []EffectRow // held lines of the payment
	Payment   Payment

	KeyExpiresAt time.Time // of the live number of an open refund; zero = no end, or never sent
}

// Proposal returns the decision that waits for its approval or for its time.
func (v CaseView) Proposal() (Decision, bool) {
	for _, d := range v.Decisions {
		if d.Open() {
			return d, true
		}
	}
	return Decision{}, false
}
