package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// identity is what makes two requests the same: the digest and the canonical JSON of their parameters.
type identity struct {
	digest refund.Digest
	params string
}

// ComputeIdentity computes digest and canonical parameters now, so that Digest and CanonicalParams of every intake that carries
// the request only return them. The fields must not change afterwards.
func (r *Request) ComputeIdentity() {
	r.identity = nil
	r.identity = &identity{r.Digest(), r.canonicalParams()}
}

// Digest is the d1 digest of the parameters.
func (r Request) Digest() refund.Digest {
	if r.identity != nil {
		return r.identity.digest
	}
	return r.Params.Digest()
}

func (r Request) canonicalParams() string {
	if r.identity != nil {
		return r.identity.params
	}
	m := map[string]any{"refundId": r.RefundID, "orderId": r.OrderID, "paymentId": r.PaymentID, "amount": r.Amount, "currency": string(r.Currency)}
	if s := r.Payment; s != nil {
		m["payment"] = withPaidAt(map[string]any{"orderId": s.OrderID, "amount": s.Amount, "currency": string(s.Currency), "channelAccount": s.Account,
			"channelReference": s.Reference, "version": s.Version, "refundedElsewhere": s.RefundedElsewhere}, s.PaidAt)
	}
	return canonical(m)
}

// ComputeIdentity does for a capture what it does for a Request.
func (c *Capture) ComputeIdentity() {
	c.identity = nil
	c.identity = &identity{c.Digest(), c.canonicalParams()}
}

// Digest is the d1 digest of the capture.
func (c Capture) Digest() refund.Digest {
	if c.identity != nil {
		return c.identity.digest
	}
	return refund.CaptureDigest(c.PaymentID, c.CaptureID, c.Amount, c.Currency)
}

func (c Capture) canonicalParams() string {
	if c.identity != nil {
		return c.identity.params
	}
	return canonical(withPaidAt(map[string]any{"paymentId": c.PaymentID, "captureId": c.CaptureID, "orderId": c.OrderID, "amount": c.Amount,
		"currency": string(c.Currency), "channelAccount": c.Account, "channelReference": c.Reference}, c.PaidAt))
}

// Digest is the digest of the request or the capture that the intake carries.
func (in Intake) Digest() refund.Digest {
	if in.Capture != nil {
		return in.Capture.Digest()
	}
	return in.Refund.Digest()
}

// CanonicalParams is the canonical JSON of the request or the capture: the immutable parameters and the inline payment, nothing
// personal.
func (in Intake) CanonicalParams() string {
	if in.Capture != nil {
		return in.Capture.canonicalParams()
	}
	return in.Refund.canonicalParams()
}

// withPaidAt adds the time of paying to canonical parameters, if it is known.
func withPaidAt(m map[string]any, at time.Time) map[string]any {
	if !at.IsZero() {
		m["paidAt"] = at.UTC().Format(time.RFC3339Nano)
	}
	return m
}
