package httpapi

import (
	"context"
	"net/url"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/wire"
)

// PutPayment stores a snapshot of a payment. A closed tenant stores none.
func (s *service) PutPayment(ctx context.Context, req oapi.PutPaymentRequestObject) (oapi.PutPaymentResponseObject, error) {
	who := principalOf(ctx)
	spec, err := wire.Payment([]byte(*req.Body), s.clock())
	if err != nil {
		return nil, err
	}
	if who.Tenant.Closed {
		return nil, &Problem{Code: refund.CodeTenantClosed}
	}
	p, created, err := s.payments.PutPayment(ctx, who.Tenant, req.PaymentId, spec, who.Actor)
	if err != nil {
		return nil, err
	}
	body := paymentOf(p, nil, false)
	if created {
		return oapi.PutPayment201JSONResponse{Body: body, Headers: oapi.PutPayment201ResponseHeaders{Location: "/v1/payments/" + url.PathEscape(p.PaymentID)}}, nil
	}
	return oapi.PutPayment200JSONResponse(body), nil
}

// GetPayment returns a payment with the money that moved.
func (s *service) GetPayment(ctx context.Context, req oapi.GetPaymentRequestObject) (oapi.GetPaymentResponseObject, error) {
	v, err := s.payments.FindPayment(ctx, principalOf(ctx).Tenant.ID, req.PaymentId)
	if err != nil {
		return nil, err
	}
	return oapi.GetPayment200JSONResponse(paymentOf(v.Payment, v.Effects, v.Truncated)), nil
}
