package refund

import (
	"sort"
	"time"
)

// CaseReason is one reason why a person must look. A fact removes only the reason that it answers.
type CaseReason string

// Reasons of cases.
const (
	CaseSuccessAfterEnd      CaseReason = "success-after-end"      // money moved after we had told people it did not
	CaseMultipleEffects      CaseReason = "multiple-effects"       // more than one effect
	CaseOtherNumberOpen      CaseReason = "other-number-open"      // another dispatch may still act
	CaseExcess               CaseReason = "excess"                 // more refunded than captured
	CaseContradiction        CaseReason = "contradiction"          // the channel contradicts itself or us
	CaseUnmatchedLine        CaseReason = "unmatched-line"         // a line that may be ours
	CaseDeadline             CaseReason = "deadline"               // open for too long
	CaseNoStep               CaseReason = "no-automatic-step"      // the contract allows nothing more
	CaseAcknowledgedAfterEnd CaseReason = "acknowledged-after-end" // the channel has a refund that we held for not done
)

// Case is the open case of a refund.
type Case struct {
	ID       RID
	Reasons  []CaseReason // sorted, at least one while open
	OpenedAt time.Time
}

// Has says whether the case holds a reason. A nil case holds none.
func (c *Case) Has(r CaseReason) bool {
	if c == nil {
		return false
	}
	for _, x := range c.Reasons {
		if x == r {
			return true
		}
	}
	return false
}

func (s *transition) addReason(r CaseReason) {
	if s.r.Case.Has(r) {
		return
	}
	next := &Case{OpenedAt: s.now}
	if s.r.Case != nil {
		*next = *s.r.Case
	}
	next.Reasons = append(append([]CaseReason(nil), next.Reasons...), r)
	sort.Slice(next.Reasons, func(i, j int) bool { return next.Reasons[i] < next.Reasons[j] })
	s.r.Case = next
}

// dropReason removes one reason; the last one closes the case.
func (s *transition) dropReason(r CaseReason) {
	if !s.r.Case.Has(r) {
		return
	}
	rest := make([]CaseReason, 0, len(s.r.Case.Reasons))
	for _, x := range s.r.Case.Reasons {
		if x != r {
			rest = append(rest, x)
		}
	}
	next := *s.r.Case
	next.Reasons = rest
	s.r.Case = &next
	if len(rest) == 0 {
		s.change.CaseClosed, s.r.Case = &next, nil
	}
}
