package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refund/wire"
)

// CreateRefund passes a refund request to the Door. The status is 202 for a new refund,
// also after a wait, and 200 for a known one, with its current state.
func (s *service) CreateRefund(ctx context.Context, req oapi.CreateRefundRequestObject) (oapi.CreateRefundResponseObject, error) {
	who := principalOf(ctx)
	key, err := IdempotencyKey(http.Header{"Idempotency-Key": {req.Params.IdempotencyKey}})
	if err != nil {
		return nil, err
	}
	body, err := wire.Request([]byte(*req.Body), s.clock())
	if err != nil {
		return nil, err
	}
	out, err := s.acceptOne(ctx, intake.Intake{
		Tenant: who.Tenant, Event: intake.EventID{Consumer: intake.ConsumerREST, Source: intake.ConsumerREST, ID: key}, Type: intake.TypeRefundRequested,
		Refund: body, Actor: who.Actor, Transport: "http:" + requestID(ctx),
	})
	if err != nil {
		return nil, err
	}
	fault.Point(fault.AnswerRefund)
	if out.Verdict != intake.Taken && out.Verdict != intake.Replayed {
		return nil, problemOf(out)
	}
	if out.Refund == nil {
		return nil, fmt.Errorf("httpapi: verdict %s of the Door has no refund", out.Verdict)
	}
	wait, asked := preferredWait(req.Params.Prefer)
	r, waited := s.await(ctx, who.Tenant.ID, *out.Refund, wait, settledOrCase)
	answer, location := refundOf(r), refundLocation(r.RefundID)
	if out.Verdict == intake.Taken {
		return oapi.CreateRefund202JSONResponse{Body: answer, Headers: oapi.CreateRefund202ResponseHeaders{
			Location: location, ETag: etag(answer), PreferenceApplied: applied(wait, asked && waited)}}, nil
	}
	replayed := true
	return oapi.CreateRefund200JSONResponse{Body: answer, Headers: oapi.CreateRefund200ResponseHeaders{
		Location: location, ETag: etag(answer), IdempotencyReplayed: &replayed, PreferenceApplied: applied(wait, asked && waited)}}, nil
}

// acceptOne passes one intake to the Door.
func (s *service) acceptOne(ctx context.Context, in intake.Intake) (intake.Outcome, error) {
	outs, err := s.door.Accept(ctx, []intake.Intake{in})
	if err != nil {
		return intake.Outcome{}, err
	}
	if len(outs) != 1 {
		return intake.Outcome{}, fmt.Errorf("httpapi: the Door returned %d outcomes for one intake", len(outs))
	}
	return outs[0], nil
}

// problemOf is the problem of an outcome other than success. Its text depends only on
// the code, so that a repeated refusal has the same text.
func problemOf(out intake.Outcome) error {
	switch out.Verdict {
	case intake.Conflict, intake.Refused:
		return &Problem{Code: out.Code, Fields: out.Fields, Replayed: out.Replayed}
	case intake.Waiting:
		return &Problem{Code: refund.CodePaymentUnknown}
	case intake.Busy:
		return out.BusyError()
	default:
		return fmt.Errorf("httpapi: unexpected verdict %q of the Door", out.Verdict)
	}
}

func refundLocation(refundID string) string { return "/v1/refunds/" + url.PathEscape(refundID) }

// GetRefund returns a refund, after a wait if the caller asks for one.
func (s *service) GetRefund(ctx context.Context, req oapi.GetRefundRequestObject) (oapi.GetRefundResponseObject, error) {
	tenant := principalOf(ctx).Tenant.ID
	r, err := s.refunds.FindRefund(ctx, tenant, req.RefundId)
	if err != nil {
		return nil, err
	}
	done := settledOrCase
	if req.Params.IfNoneMatch != nil {
		done = func(r refund.Refund) bool { return !matches(req.Params.IfNoneMatch, etag(refundOf(r))) }
	}
	wait, asked := preferredWait(req.Params.Prefer)
	r, waited := s.await(ctx, tenant, r, wait, done)
	body := refundOf(r)
	tag, preference := etag(body), applied(wait, asked && waited)
	if matches(req.Params.IfNoneMatch, tag) {
		return oapi.GetRefund304Response{Headers: oapi.GetRefund304ResponseHeaders{ETag: tag, PreferenceApplied: preference}}, nil
	}
	return oapi.GetRefund200JSONResponse{Body: body, Headers: oapi.GetRefund200ResponseHeaders{ETag: tag, PreferenceApplied: preference}}, nil
}

// GetRefundTimeline returns everything that is stored about a refund.
func (s *service) GetRefundTimeline(ctx context.Context, req oapi.GetRefundTimelineRequestObject) (oapi.GetRefundTimelineResponseObject, error) {
	t, err := s.refunds.Timeline(ctx, principalOf(ctx).Tenant.ID, req.RefundId)
	if err != nil {
		return nil, err
	}
	return oapi.GetRefundTimeline200JSONResponse(timelineOf(t)), nil
}

// CancelRefund cancels a refund of which nothing has reached the channel.
func (s *service) CancelRefund(ctx context.Context, req oapi.CancelRefundRequestObject) (oapi.CancelRefundResponseObject, error) {
	who := principalOf(ctx)
	r, err := s.actions.Cancel(ctx, who.Tenant.ID, req.RefundId, who.Actor)
	if err != nil {
		return nil, err
	}
	body := refundOf(r)
	return oapi.CancelRefund200JSONResponse{Body: body, Headers: oapi.CancelRefund200ResponseHeaders{ETag: etag(body)}}, nil
}

// CheckRefund queries the channel now.
func (s *service) CheckRefund(ctx context.Context, req oapi.CheckRefundRequestObject) (oapi.CheckRefundResponseObject, error) {
	who := principalOf(ctx)
	r, learned, err := s.actions.Check(ctx, who.Tenant.ID, req.RefundId, who.Actor)
	if err != nil {
		return nil, err
	}
	body := refundOf(r)
	headers := oapi.CheckRefund202ResponseHeaders{Location: refundLocation(r.RefundID), ETag: etag(body), RefundryLearned: "nothing-new"}
	if learned {
		headers.RefundryLearned = "version=" + strconv.Itoa(r.JournalSeq)
	}
	return oapi.CheckRefund202JSONResponse{Body: body, Headers: headers}, nil
}
