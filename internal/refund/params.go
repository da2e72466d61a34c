package refund

// Tenant is the tenant of an intake. Its code is part of dispatch numbers and never changes.
type Tenant struct {
	ID     TenantID
	Code   string
	Closed bool // accepts no new refunds; recovery continues
}

// Params are the immutable parameters of a refund. Its digest covers them all except the refund id, which is the key.
type Params struct {
	RefundID, OrderID, PaymentID string
	Amount                       int64 // minor units, 1..MaxAmount
	Currency                     Currency
}

// Digest returns the d1 digest of the parameters.
func (p Params) Digest() Digest {
	return RefundDigest(p.OrderID, p.PaymentID, p.Amount, p.Currency)
}
