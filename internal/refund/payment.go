package refund

import "time"

// PaidAtSkew is how far in the future a caller's clock may put the time of paying.
const PaidAtSkew = 10 * time.Minute

// earliestPaidAt: no payment that can still be refunded is older.
var earliestPaidAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ValidPaidAt reports whether a payment can have been paid at t, for somebody whose clock says now.
func ValidPaidAt(t, now time.Time) bool {
	return !t.Before(earliestPaidAt) && !t.After(now.Add(PaidAtSkew))
}

// NormalPaidAt is the time in the precision and the zone in which it is stored and compared.
func NormalPaidAt(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// WithPaidAt is the payment after a caller said when the payer paid. The first value stays; the refund window runs from it and
// keeps the length that it had when the payment became known.
func (p Payment) WithPaidAt(at time.Time) Payment {
	if at.IsZero() || !p.PaidAt.IsZero() {
		return p
	}
	p.PaidAt = at
	if !p.WindowEndsAt.IsZero() {
		p.WindowEndsAt = at.Add(p.WindowEndsAt.Sub(p.CreatedAt))
	}
	return p
}

// Payment holds the balances that refunds draw on.
type Payment struct {
	Tenant                                          TenantID
	PaymentID, OrderID                              string
	Account, Reference                              string
	Currency                                        Currency
	Exponent                                        int
	KnownBy                                         KnownBy
	Version                                         int64
	Captured, Reserved, Refunded                    int64
	RefundedElsewhere, Held, Excess, ExcessAccepted int64
	Refunds                                         int
	LastRID                                         RID
	NextSendAt, WindowEndsAt, CreatedAt             time.Time
	PaidAt                                          time.Time // when the payer paid; zero = not said
}

// KnownBy says how a payment is told to us; the first kind decides.
type KnownBy string

// The two ways.
const (
	BySnapshot KnownBy = "snapshot"
	ByCaptures KnownBy = "captures"
)

// Refundable is what a new refund may still take, never below 0.
func (p Payment) Refundable() int64 {
	return max(0, p.Captured-p.Reserved-p.Refunded-p.RefundedElsewhere-p.Held)
}

// WithExcess recomputes the excess; every fact path ends with it.
func (p Payment) WithExcess() Payment {
	p.Excess = max(0, p.Reserved+p.Refunded+p.RefundedElsewhere+p.Held-p.Captured)
	return p
}
