package httpapi

import (
	"context"

	"github.com/google/uuid"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// ListMessages returns one page of the messages of bridges. The message with the latest delivery is first.
func (s *service) ListMessages(ctx context.Context, req oapi.ListMessagesRequestObject) (oapi.ListMessagesResponseObject, error) {
	p := req.Params
	q := intake.MessageQuery{Consumer: valueOf(p.Consumer), RefundID: valueOf(p.RefundId)}
	if p.Outcome != nil {
		q.Outcome = string(*p.Outcome)
	}
	filter := queryDigest(q)
	var err error
	if p.Cursor != nil {
		if q.Before, err = readCursor(*p.Cursor, filter); err != nil {
			return nil, err
		}
	}
	size := pageSize(p.Limit)
	q.Limit = size + 1
	rows, err := s.messages.ListMessages(ctx, principalOf(ctx).Tenant.ID, q)
	if err != nil {
		return nil, err
	}
	page := oapi.MessagePage{Items: []oapi.Message{}, HasMore: len(rows) > size}
	for _, m := range rows[:min(len(rows), size)] {
		page.Items = append(page.Items, messageOf(m))
	}
	if page.HasMore {
		next := writeCursor(rows[size-1].LastDelivery, filter)
		page.NextCursor = &next
	}
	return oapi.ListMessages200JSONResponse(page), nil
}

// GetMessage returns all messages with one event id.
func (s *service) GetMessage(ctx context.Context, req oapi.GetMessageRequestObject) (oapi.GetMessageResponseObject, error) {
	source := valueOf(req.Params.Source)
	if refund.ValidEventID(source, req.EventId) != nil || refund.ValidEventID("", req.Consumer) != nil {
		return nil, refund.ErrNotFound // no message can have such a name
	}
	rows, err := s.messages.Messages(ctx, principalOf(ctx).Tenant.ID, req.Consumer, req.EventId, source)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, refund.ErrNotFound
	}
	out := oapi.MessageDetails{Items: make([]oapi.MessageDetail, len(rows))}
	for i, m := range rows {
		out.Items[i] = messageDetailOf(m)
	}
	return oapi.GetMessage200JSONResponse(out), nil
}

func pageSize(limit *int) int {
	if limit != nil {
		return *limit
	}
	return defaultPage
}

func idOrNull(id refund.RID) *uuid.UUID {
	if id.IsZero() {
		return nil
	}
	return (*uuid.UUID)(&id)
}

func messageOf(m intake.Message) oapi.Message {
	return oapi.Message{Consumer: m.Consumer, Source: textOrNull(m.Source), EventId: textOrNull(m.EventID), FirstSeen: m.FirstSeen.UTC(),
		LastSeen: m.LastSeen.UTC(), TimesSeen: m.TimesSeen, Outcome: m.Outcome, Cause: textOrNull(m.Cause), RefundId: textOrNull(m.RefundID),
		ReplayBatchId: idOrNull(m.ReplayBatch), Decision: decisionOf(m.Decision)}
}

func messageDetailOf(m intake.Message) oapi.MessageDetail {
	out := oapi.MessageDetail{Consumer: m.Consumer, Source: textOrNull(m.Source), EventId: textOrNull(m.EventID), FirstSeen: m.FirstSeen.UTC(),
		LastSeen: m.LastSeen.UTC(), TimesSeen: m.TimesSeen, Outcome: m.Outcome, Cause: textOrNull(m.Cause), RefundId: textOrNull(m.RefundID),
		ReplayBatchId: idOrNull(m.ReplayBatch), Decision: decisionOf(m.Decision),
		Deliveries: make([]oapi.MessageDelivery, len(m.Deliveries)), Truncated: m.Truncated}
	for i, d := range m.Deliveries {
		out.Deliveries[i] = oapi.MessageDelivery{At: d.At.UTC(), Transport: d.Transport, Outcome: d.Outcome, Cause: textOrNull(d.Cause),
			ReplayBatchId: idOrNull(d.ReplayBatch)}
	}
	return out
}

func decisionOf(d *intake.MessageDecision) *oapi.MessageDecision {
	if d == nil {
		return nil
	}
	return &oapi.MessageDecision{At: d.At.UTC(), Type: string(d.Type), Outcome: string(d.Outcome), Code: textOrNull(string(d.Code)),
		Transport: textOrNull(d.Transport)}
}
