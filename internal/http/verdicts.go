package httpapi

import (
	"fmt"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Outcomes of events, as callers see them.
const (
	outcomeAccepted    oapi.EventOutcome = "accepted"
	outcomeReplayed    oapi.EventOutcome = "replayed"
	outcomeConflict    oapi.EventOutcome = "conflict"
	outcomeRefused     oapi.EventOutcome = "refused"
	outcomeWaiting     oapi.EventOutcome = "waiting"
	outcomeUndecodable oapi.EventOutcome = "undecodable"
)

// verdict is the answer for one event. Errors: the Door returned a verdict that is not for callers.
func (s *service) verdict(index int, it eventItem) (oapi.EventVerdict, error) {
	v := oapi.EventVerdict{Index: index, Source: textOrNull(it.in.Event.Source), Id: textOrNull(it.in.Event.ID), Type: textOrNull(string(it.in.Type))}
	if it.in.Refund != nil {
		v.RefundId = textOrNull(it.in.Refund.RefundID)
	}
	if it.fault != nil {
		v.Outcome = outcomeUndecodable
		v.Problem = s.eventProblem(codeInvalidRequest, nil)
		v.Problem.Detail, v.Problem.Errors = sentence(*it.fault), &[]fieldError{*it.fault}
		return v, nil
	}
	if r := it.outcome.Refund; r != nil {
		state := r.State
		v.RefundId, v.State = &r.RefundID, &state
	}
	switch it.outcome.Verdict {
	case intake.Taken:
		v.Outcome = outcomeAccepted
	case intake.Replayed:
		v.Outcome = outcomeReplayed
	case intake.Conflict:
		v.Outcome, v.Problem = outcomeConflict, s.eventProblem(it.outcome.Code, it.outcome.Fields)
	case intake.Refused:
		v.Outcome, v.Problem = outcomeRefused, s.eventProblem(it.outcome.Code, it.outcome.Fields)
	case intake.Waiting:
		v.Outcome, v.Problem = outcomeWaiting, s.eventProblem(it.outcome.Code, nil)
	default:
		return v, fmt.Errorf("httpapi: unexpected verdict %q of the Door", it.outcome.Verdict)
	}
	return v, nil
}

func (s *service) eventProblem(code refund.Code, fields []string) *oapi.EventProblem {
	info := s.problems.info(code)
	p := &oapi.EventProblem{Code: string(info.Code), Detail: info.Detail, Retryable: info.Retryable}
	if len(fields) > 0 {
		p.Fields = &fields
	}
	return p
}
