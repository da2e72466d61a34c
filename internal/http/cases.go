package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
)

// ListCases returns one page of open cases, or of closed ones.
func (s *service) ListCases(ctx context.Context, req oapi.ListCasesRequestObject) (oapi.ListCasesResponseObject, error) {
	p := req.Params
	q := refund.CaseFilter{Closed: p.State != nil && *p.State == oapi.CaseStateClosed, Reason: valueOf(p.Reason),
		RefundID: valueOf(p.RefundId), PaymentID: valueOf(p.PaymentId)}
	filter := queryDigest(q)
	if p.Cursor != nil {
		var err error
		if q.After, err = readCaseCursor(*p.Cursor, filter); err != nil {
			return nil, err
		}
	}
	size := pageSize(p.Limit)
	q.Limit = size + 1
	rows, err := s.cases.ListCases(ctx, principalOf(ctx).Tenant.ID, q)
	if err != nil {
		return nil, err
	}
	page := oapi.CasePage{Items: []oapi.CaseSummary{}, HasMore: len(rows) > size}
	for _, c := range rows[:min(len(rows), size)] {
		page.Items = append(page.Items, summaryOf(c))
	}
	if page.HasMore {
		next := writeCaseCursor(rows[size-1].CaseRef, filter)
		page.NextCursor = &next
	}
	return oapi.ListCases200JSONResponse(page), nil
}

// caseCursor is the start of the next page of cases. Open cases are in the order of their opening.
type caseCursor struct {
	Version int        `json:"v"`
	ID      refund.RID `json:"b"`
	Opened  time.Time  `json:"o"`
	Filter  string     `json:"f"`
}

func writeCaseCursor(at refund.CaseRef, filter string) string {
	return base64.RawURLEncoding.EncodeToString(bytes.TrimSpace(encodeJSON(caseCursor{1, at.ID, at.OpenedAt.UTC(), filter})))
}

func readCaseCursor(text, filter string) (refund.CaseRef, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return refund.CaseRef{}, badCursor()
	}
	var c caseCursor
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || d.More() || c.Version != 1 || c.Filter != filter || c.ID.IsZero() || c.Opened.IsZero() {
		return refund.CaseRef{}, badCursor()
	}
	return refund.CaseRef{ID: c.ID, OpenedAt: c.Opened}, nil
}

// GetCase returns a case with its possible decisions, and a reason for each one that is not possible.
func (s *service) GetCase(ctx context.Context, req oapi.GetCaseRequestObject) (oapi.GetCaseResponseObject, error) {
	v, err := s.cases.FindCase(ctx, principalOf(ctx).Tenant.ID, refund.RID(req.CaseId))
	if err != nil {
		return nil, err
	}
	return oapi.GetCase200JSONResponse(detailOf(v)), nil
}

// OpenCase opens a case on a refund in any state, because a person has evidence that its outcome is wrong.
func (s *service) OpenCase(ctx context.Context, req oapi.OpenCaseRequestObject) (oapi.OpenCaseResponseObject, error) {
	who := principalOf(ctx)
	if !refund.ValidEvidence(req.Body.Evidence) {
		return nil, invalid(badEvidence())
	}
	id, opened, err := s.cases.OpenCase(ctx, who.Tenant.ID, req.RefundId, req.Body.Evidence, actorName(who))
	if err != nil {
		return nil, err
	}
	v, err := s.cases.FindCase(ctx, who.Tenant.ID, id)
	switch {
	case err != nil:
		return nil, err
	case opened:
		return oapi.OpenCase201JSONResponse(detailOf(v)), nil
	}
	return oapi.OpenCase200JSONResponse(detailOf(v)), nil
}

func badEvidence() fieldError {
	return atPointer("/evidence", "must have 8 to 4000 characters, not counting blanks at its ends")
}

// ProposeDecision stores the decision that one person proposes.
func (s *service) ProposeDecision(ctx context.Context, req oapi.ProposeDecisionRequestObject) (oapi.ProposeDecisionResponseObject, error) {
	who := principalOf(ctx)
	p := refund.Proposal{Tenant: who.Tenant.ID, CaseID: refund.RID(req.CaseId), Action: req.Body.Action, Evidence: req.Body.Evidence,
		BothHappened: valueOf(req.Body.BothHappened), Version: int(valueOf(req.Body.Version)), Actor: actorName(who)}
	if req.Body.EffectId != nil {
		p.EffectID = refund.RID(*req.Body.EffectId)
	}
	if !refund.ValidEvidence(p.Evidence) {
		return nil, invalid(badEvidence())
	}
	d, created, err := s.cases.Propose(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case created:
		return oapi.ProposeDecision201JSONResponse(caseDecisionOf(d)), nil
	}
	return oapi.ProposeDecision200JSONResponse(caseDecisionOf(d)), nil
}

// JudgeDecision approves or rejects a proposal of another person.
func (s *service) JudgeDecision(ctx context.Context, req oapi.JudgeDecisionRequestObject) (oapi.JudgeDecisionResponseObject, error) {
	who := principalOf(ctx)
	d, err := s.cases.Judge(ctx, refund.Approval{Tenant: who.Tenant.ID, CaseID: refund.RID(req.CaseId), DecisionID: refund.RID(req.Body.DecisionId),
		Approve: req.Body.Verdict == oapi.Approve, Actor: actorName(who)})
	if err != nil {
		return nil, err
	}
	return oapi.JudgeDecision200JSONResponse(caseDecisionOf(d)), nil
}

// actorName is the name of the actor without the prefix that the journal uses.
func actorName(p access.Principal) string { return strings.TrimPrefix(p.Actor, "actor:") }

func summaryOf(c refund.CaseRow) oapi.CaseSummary {
	out := oapi.CaseSummary{Id: uuid.UUID(c.ID), RefundId: textOrNull(c.RefundID), PaymentId: c.PaymentID, ChannelAccount: c.Account, Amount: c.Amount,
		Currency: string(c.Currency), Reasons: append([]refund.CaseReason{}, c.Reasons...), OpenedAt: c.OpenedAt.UTC(), ClosedAt: timeOrNull(c.ClosedAt),
		ClosedHow: textOrNull(c.ClosedHow), Proposed: c.Proposed}
	if c.State != "" {
		state, version := c.State, int64(c.Version)
		out.State, out.Version = &state, &version
	}
	return out
}

func detailOf(v refund.CaseView) oapi.CaseDetail {
	out := oapi.CaseDetail{Case: summaryOf(v.CaseRow), Evidence: objectOr(v.Evidence, "{}"), Choices: make([]oapi.Choice, len(v.Choices)),
		Decisions: make([]oapi.Decision, len(v.Decisions)), Payment: paymentOf(v.Payment, nil, false)}
	for i, c := range v.Choices {
		out.Choices[i] = choiceOf(c)
	}
	for i, d := range v.Decisions {
		out.Decisions[i] = caseDecisionOf(d)
	}
	if d, ok := v.Proposal(); ok {
		proposal := caseDecisionOf(d)
		out.Proposal = &proposal
	}
	out.Lines, out.KeyExpiresAt = effectsOf(v.Lines), timeOrNull(v.KeyExpiresAt)
	return out
}

func choiceOf(c refund.Choice) oapi.Choice {
	out := oapi.Choice{Action: c.Action, Allowed: c.Allowed, Why: textOrNull(c.Why), Detail: textOrNull(c.Why.Text()),
		TakesEffectAt: timeOrNull(c.From), EffectIds: make([]uuid.UUID, len(c.Lines))}
	for i, id := range c.Lines {
		out.EffectIds[i] = uuid.UUID(id)
	}
	return out
}

func caseDecisionOf(d refund.Decision) oapi.Decision {
	out := oapi.Decision{Id: uuid.UUID(d.ID), CaseId: uuid.UUID(d.CaseID), Action: d.Action, Status: statusOf(d), Evidence: d.Evidence, BothHappened: d.BothHappened,
		Maker: d.Maker, MadeAt: d.MadeAt.UTC(), ExpiresAt: d.ExpiresAt.UTC(), Checker: textOrNull(d.Checker), CheckedAt: timeOrNull(d.CheckedAt),
		AppliedAt: timeOrNull(d.AppliedAt)}
	if !d.EffectID.IsZero() {
		id := uuid.UUID(d.EffectID)
		out.EffectId = &id
	}
	if d.JournalSeq > 0 {
		version := int64(d.JournalSeq)
		out.Version = &version
	}
	if d.Action == refund.ActionAcceptAsIs {
		excess := d.Excess
		out.Excess = &excess
	}
	return out
}

// Statuses of decisions that are no verdict of the domain; the others are its verdicts in small letters.
const (
	statusProposed oapi.DecisionStatus = "proposed"
	statusApplied  oapi.DecisionStatus = "applied"
)

func statusOf(d refund.Decision) oapi.DecisionStatus {
	switch {
	case d.Verdict == "":
		return statusProposed
	case d.Verdict == refund.DecisionApproved && !d.AppliedAt.IsZero():
		return statusApplied
	}
	return strings.ToLower(string(d.Verdict))
}
