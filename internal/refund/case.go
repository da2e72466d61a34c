package refund

import (
	"slices"
	"sort"
	"time"
)

// CaseReason is a reason why a person must review a refund. A fact removes only the reason that it answers.
type CaseReason string

// Reasons of cases.
const (
	CaseSuccessAfterEnd      CaseReason = "success-after-end"      // money moved after the refund was reported as not done
	CaseMultipleEffects      CaseReason = "multiple-effects"       // more than one effect
	CaseOtherNumberOpen      CaseReason = "other-number-open"      // the refund has ended, and another dispatch may still pay
	CaseExcess               CaseReason = "excess"                 // more refunded than captured
	CaseContradiction        CaseReason = "contradiction"          // the channel contradicts itself or us
	CaseUnmatchedLine        CaseReason = "unmatched-line"         // a held line may be this refund
	CaseDeadline             CaseReason = "deadline"               // open for too long
	CaseNoStep               CaseReason = "no-automatic-step"      // the contract allows no further step
	CaseAcknowledgedAfterEnd CaseReason = "acknowledged-after-end" // the channel has a refund that counted as not done
	CaseReview               CaseReason = "review-requested"       // a person has evidence that the outcome is wrong
)

// StopsSends reports whether nothing is sent for a refund while its case has the reason. The reasons of waiting only call a person.
func (r CaseReason) StopsSends() bool { return r != CaseDeadline && r != CaseNoStep }

// Case is the open case of a refund. Transitions add reasons to it and remove them.
type Case struct {
	ID       RID
	Reasons  []CaseReason // sorted, at least one while open
	OpenedAt time.Time
}

// Has reports whether the case has a reason. A nil case has none.
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

// callsForMore reports whether the case has a reason other than waiting. Cases of waiting, deadline and no-automatic-step, call a
// person and stop nothing that the evidence allows (rule R25 of docs/rules.md). A nil case has none.
func (c *Case) callsForMore() bool {
	return c != nil && slices.ContainsFunc(c.Reasons, CaseReason.StopsSends)
}

// stopped reports whether a case or a proposal stops the sends of the refund. Neither stops questions.
func (r *Record) stopped() bool { return r.ProposalOpen || r.Case.callsForMore() }

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

// dropReason removes one reason. Removing the last one closes the case.
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
