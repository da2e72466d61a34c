package bridge

import (
	"context"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Door decides groups of intakes. It returns one result per intake, in order.
type Door interface {
	AcceptEach(ctx context.Context, g []intake.Intake) ([]intake.Result, error)
}

// ParkedMessages stores the messages that the Door has not decided.
type ParkedMessages interface {
	// ParkAll stores messages with the reasons for which they are parked, in one transaction: all or none. Parking a position again
	// increments its count.
	ParkAll(ctx context.Context, rows []intake.ParkedRow) error
	// ParkBeforeRetry stores a message before a try that may crash the process. It returns the row, which the try closes, and how
	// often the position has been parked.
	ParkBeforeRetry(ctx context.Context, tenant refund.TenantID, ev intake.EventID, reason string, p intake.Park) (id refund.RID, tries int, err error)
}

// Deliveries stores the deliveries of messages, which people read (GET /v1/messages). No decision depends on them.
type Deliveries interface {
	RecordDeliveries(ctx context.Context, d []intake.Delivery) error
}

// Tenants finds the tenants of a bridge.
type Tenants interface {
	// BridgeTenant returns a tenant by code. Errors: refund.ErrNotFound, refund.ErrUnavailable.
	BridgeTenant(ctx context.Context, code string) (refund.Tenant, error)
}

// Observer counts what a bridge does. Its methods may be called from several goroutines.
type Observer interface {
	// Delivered counts a delivery whose outcome is stored. cause is that of a replay, else "".
	Delivered(consumer, outcome, cause string)
	// Parked counts a parked message.
	Parked(consumer, reason string)
	// Opened counts an opened Source.
	Opened(consumer string)
	// AckFailed counts an acknowledgement that the broker did not confirm; it will deliver again.
	AckFailed(consumer string)
}

type noObserver struct{}

func (noObserver) Delivered(string, string, string) {}
func (noObserver) Parked(string, string)            {}
func (noObserver) Opened(string)                    {}
func (noObserver) AckFailed(string)                 {}
