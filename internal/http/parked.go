package httpapi

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// ListParked returns one page of parked messages, the oldest first.
func (s *service) ListParked(ctx context.Context, req oapi.ListParkedRequestObject) (oapi.ListParkedResponseObject, error) {
	p := req.Params
	q := intake.ParkedFilter{Done: p.State != nil && *p.State == oapi.ParkedStateDone, Reason: valueOf(p.Reason), Consumer: valueOf(p.Consumer)}
	filter := queryDigest(q)
	var err error
	if p.Cursor != nil {
		if q.After, err = readCursor(*p.Cursor, filter); err != nil {
			return nil, err
		}
	}
	size := pageSize(p.Limit)
	q.Limit = size + 1
	rows, err := s.parked.ListParked(ctx, principalOf(ctx).Tenant.ID, q)
	if err != nil {
		return nil, err
	}
	page := oapi.ParkedPage{Items: []oapi.Parked{}, HasMore: len(rows) > size}
	for _, m := range rows[:min(len(rows), size)] {
		page.Items = append(page.Items, parkedOf(m))
	}
	if page.HasMore {
		next := writeCursor(rows[size-1].ParkedMessage.ID, filter)
		page.NextCursor = &next
	}
	return oapi.ListParked200JSONResponse(page), nil
}

// GetParked returns a parked message with its bytes.
func (s *service) GetParked(ctx context.Context, req oapi.GetParkedRequestObject) (oapi.GetParkedResponseObject, error) {
	m, err := s.parked.ParkedMessage(ctx, principalOf(ctx).Tenant.ID, refund.RID(req.ParkedId))
	if err != nil {
		return nil, err
	}
	out := oapi.ParkedDetail{Message: parkedOf(m), Headers: m.Headers, Body: m.Body}
	if out.Headers == nil {
		out.Headers = map[string][]string{}
	}
	return oapi.GetParked200JSONResponse(out), nil
}

// RedriveParked processes a parked message again.
func (s *service) RedriveParked(ctx context.Context, req oapi.RedriveParkedRequestObject) (oapi.RedriveParkedResponseObject, error) {
	who := principalOf(ctx)
	r, err := s.parked.Redrive(ctx, who.Tenant.ID, refund.RID(req.ParkedId), who.Actor)
	if err != nil {
		return nil, err
	}
	out := oapi.Redriven{Tried: r.Tried, ReplayBatchId: idOrNull(r.Batch), Message: parkedOf(r.Parked)}
	if !r.Tried {
		return oapi.RedriveParked200JSONResponse(out), nil
	}
	it := eventItem{outcome: r.Outcome}
	if r.Fault != nil {
		it.fault = faultOf(r.Fault)
	}
	v, err := s.verdict(0, it)
	if err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	out.Outcome, out.Problem, out.RefundId = &v.Outcome, v.Problem, v.RefundId
	return oapi.RedriveParked200JSONResponse(out), nil
}

// DiscardParked closes a parked message without processing it.
func (s *service) DiscardParked(ctx context.Context, req oapi.DiscardParkedRequestObject) (oapi.DiscardParkedResponseObject, error) {
	who := principalOf(ctx)
	m, err := s.parked.Discard(ctx, who.Tenant.ID, refund.RID(req.ParkedId), who.Actor)
	if err != nil {
		return nil, err
	}
	return oapi.DiscardParked200JSONResponse(parkedOf(m)), nil
}

func parkedOf(m intake.ParkedView) oapi.Parked {
	out := oapi.Parked{Id: uuid.UUID(m.ParkedMessage.ID), Consumer: m.ParkedMessage.Consumer, Source: textOrNull(m.Source),
		EventId: textOrNull(m.EventID.ID), Position: m.Position, Reason: m.Reason, WaitsForPayment: textOrNull(m.WakePayment),
		AlarmAt: timeOrNull(m.AlarmAt), Tries: m.Tries, ParkedAt: m.At.UTC(), Size: m.BodySize,
		Redrivable: m.Redrivable() && m.DoneAt.IsZero()}
	if !m.DoneAt.IsZero() {
		out.Done = &oapi.ParkedDone{At: m.DoneAt.UTC(), How: m.DoneHow, By: m.DoneBy}
	}
	return out
}
