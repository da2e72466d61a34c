package refund

// Tenant is who an intake is for. The code is part of dispatch numbers; it never changes.
type Tenant struct {
	ID     TenantID
	Code   string
	Closed bool // the door is shut for new refunds; recovery goes on
}

// Params are the immutable parameters of a refund, the ones that its digest covers (refundId is the key).
type Params struct {
	RefundID, OrderID, PaymentID string
	Amount                       int64 // minor units, 1..MaxAmount
	Currency                     Currency
}

// Digest is the d1 digest of the parameters.
func (p Params) Digest() Digest {
	return RefundDigest(p.OrderID, p.PaymentID, p.Amount, p.Currency)
}
