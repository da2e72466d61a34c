package pg

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// paymentRow is a row of payments p.
type paymentRow struct {
	Tenant            int64      `sql:"p.tenant_id"`
	PaymentID         string     `sql:"p.payment_id"`
	OrderID           string     `sql:"p.order_id"`
	Account           string     `sql:"p.account"`
	Reference         string     `sql:"p.channel_reference"`
	Currency          string     `sql:"p.currency"`
	Exponent          int        `sql:"p.exponent"`
	KnownBy           string     `sql:"p.known_by"`
	Version           int64      `sql:"p.version"`
	Captured          int64      `sql:"p.captured"`
	Reserved          int64      `sql:"p.reserved"`
	Refunded          int64      `sql:"p.refunded"`
	RefundedElsewhere int64      `sql:"p.refunded_elsewhere"`
	Held              int64      `sql:"p.held"`
	Excess            int64      `sql:"p.excess"`
	ExcessAccepted    int64      `sql:"p.excess_accepted"`
	Refunds           int        `sql:"p.refunds"`
	LastRID           *[16]byte  `sql:"p.last_rid"`
	NextSendAt        *time.Time `sql:"p.next_send_at"`
	WindowEndsAt      *time.Time `sql:"p.window_ends_at"`
	CreatedAt         time.Time  `sql:"p.created_at"`
	PaidAt            *time.Time `sql:"p.paid_at"`
}

// PaymentColumns are read by ScanPayment from payments p.
var PaymentColumns = Columns[paymentRow]()

// ScanPayment reads PaymentColumns.
func ScanPayment(row pgx.Row) (refund.Payment, error) {
	p, err := Scan[paymentRow](row)
	if err != nil {
		return refund.Payment{}, err
	}
	return refund.Payment{
		Tenant: refund.TenantID(p.Tenant), PaymentID: p.PaymentID, OrderID: p.OrderID, Account: p.Account, Reference: p.Reference,
		Currency: refund.Currency(p.Currency), Exponent: p.Exponent, KnownBy: refund.KnownBy(p.KnownBy), Version: p.Version,
		Captured: p.Captured, Reserved: p.Reserved, Refunded: p.Refunded, RefundedElsewhere: p.RefundedElsewhere,
		Held: p.Held, Excess: p.Excess, ExcessAccepted: p.ExcessAccepted, Refunds: p.Refunds, LastRID: Deref(p.LastRID),
		NextSendAt: Deref(p.NextSendAt), WindowEndsAt: Deref(p.WindowEndsAt), CreatedAt: p.CreatedAt, PaidAt: Deref(p.PaidAt),
	}, nil
}
