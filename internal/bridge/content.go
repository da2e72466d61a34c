package bridge

import (
	"errors"
	"time"

	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/refund/wire"
)

// content reads the data of an event into the intake, by its type. Errors: *Undecodable with the first fault; the intake then
// has no content.
func content(in *intake.Intake, data []byte, now time.Time) error {
	var err error
	switch in.Type {
	case intake.TypeRefundRequested:
		in.Refund, err = wire.Request(data, now)
	case intake.TypePaymentCaptured:
		in.Capture, err = wire.Capture(data, now)
	default:
		return undecodable("/type", "is not a type that is taken here")
	}
	var refused *wire.Error
	if errors.As(err, &refused) {
		first := refused.Faults[0]
		return undecodable("/data"+first.Pointer, first.Detail)
	}
	return err
}
