package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
)

const defaultPage = 50

// ListRefunds returns one page of refunds, the newest first.
func (s *service) ListRefunds(ctx context.Context, req oapi.ListRefundsRequestObject) (oapi.ListRefundsResponseObject, error) {
	q, err := queryOf(req.Params)
	if err != nil {
		return nil, err
	}
	filter := filterDigest(q)
	size := defaultPage
	if req.Params.Limit != nil {
		size = *req.Params.Limit
	}
	if req.Params.Cursor != nil {
		if q.Before, err = readCursor(*req.Params.Cursor, filter); err != nil {
			return nil, err
		}
	}
	q.Limit = size + 1
	rows, err := s.refunds.ListRefunds(ctx, principalOf(ctx).Tenant.ID, q)
	if err != nil {
		return nil, err
	}
	page := oapi.RefundPage{Items: make([]oapi.Refund, 0, min(len(rows), size)), HasMore: len(rows) > size}
	for _, r := range rows[:min(len(rows), size)] {
		page.Items = append(page.Items, refundOf(r))
	}
	if page.HasMore {
		next := writeCursor(rows[size-1].RID, filter)
		page.NextCursor = &next
	}
	return oapi.ListRefunds200JSONResponse(page), nil
}

func queryOf(p oapi.ListRefundsParams) (RefundQuery, error) {
	var q RefundQuery
	if p.State != nil {
		q.States = *p.State
	}
	if p.Case != nil {
		open := *p.Case == oapi.CaseFilterOpen
		q.HasCase = &open
	}
	q.OrderID, q.PaymentID, q.Account = valueOf(p.OrderId), valueOf(p.PaymentId), valueOf(p.ChannelAccount)
	q.CreatedFrom, q.CreatedBefore = valueOf(p.CreatedFrom), valueOf(p.CreatedBefore)
	if p.CreatedFrom != nil && p.CreatedBefore != nil && !q.CreatedFrom.Before(q.CreatedBefore) {
		return q, invalid(atParameter("createdBefore", "must be later than createdFrom"))
	}
	q.MinAgeInState = time.Duration(valueOf(p.MinSecondsInState)) * time.Second
	return q, nil
}

func valueOf[T any](p *T) T {
	var v T
	if p != nil {
		v = *p
	}
	return v
}

// cursor is the start of the next page. It contains a digest of the filters, because
// with other filters it would silently skip rows.
type cursor struct {
	Version int        `json:"v"`
	Before  refund.RID `json:"b"`
	Filter  string     `json:"f"`
}

// filterDigest is a short digest of the filters of q.
func filterDigest(q RefundQuery) string {
	q.Before, q.Limit = refund.RID{}, 0
	return queryDigest(q)
}

// queryDigest is a short digest of a query; the caller leaves out the page.
func queryDigest(q any) string {
	sum := sha256.Sum256(encodeJSON(q))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

func writeCursor(before refund.RID, filter string) string {
	return base64.RawURLEncoding.EncodeToString(bytes.TrimSpace(encodeJSON(cursor{1, before, filter})))
}

func readCursor(text, filter string) (refund.RID, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return refund.RID{}, badCursor()
	}
	var c cursor
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || d.More() || c.Version != 1 || c.Filter != filter || c.Before.IsZero() {
		return refund.RID{}, badCursor()
	}
	return c.Before, nil
}

func badCursor() error {
	return &Problem{Code: codeInvalidCursor, Errors: []fieldError{atParameter("cursor", "does not belong to this list with these filters")}}
}
