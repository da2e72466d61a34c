package refund

import "time"

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
	PaidAt                                          time.Time // when the payer paid; zero = not given
}

// KnownBy says how a payment became known: by snapshots or by captures. The first message decides.
type KnownBy string

// Ways in which payments become known.
const (
	BySnapshot KnownBy = "snapshot"
	ByCaptures KnownBy = "captures"
)

// Refundable returns the largest amount of a new refund, never below 0.
func (p Payment) Refundable() int64 {
	return max(0, p.Captured-p.Reserved-p.Refunded-p.RefundedElsewhere-p.Held)
}

// WithExcess returns the payment with its excess computed from the balances.
func (p Payment) WithExcess() Payment {
	p.Excess = max(0, p.Reserved+p.Refunded+p.RefundedElsewhere+p.Held-p.Captured)
	return p
}

// excessUnaccepted reports whether more is refunded than was captured, and than anybody has accepted.
func (p Payment) excessUnaccepted() bool { return p.Excess > p.ExcessAccepted }

// WithPaidAt returns the payment with the time at which the payer paid. The first value stays. The refund window starts at
// that time and keeps its length.
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

// PaidAtSkew is how far in the future a caller's clock may put the time of payment.
const PaidAtSkew = 10 * time.Minute

// earliestPaidAt is earlier than every payment that can still be refunded.
var earliestPaidAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ValidPaidAt reports whether a payment can have been paid at t, given the present time.
func ValidPaidAt(t, now time.Time) bool {
	return !t.Before(earliestPaidAt) && !t.After(now.Add(PaidAtSkew))
}

// NormalPaidAt returns t in the stored form: UTC, whole microseconds.
func NormalPaidAt(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
