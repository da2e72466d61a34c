package bridge

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// A process that does not know an account holds the message for one that does, and does not count its tries.
func TestAMessageOfAnUnknownAccountIsHeld(t *testing.T) {
	door := newFakeDoor()
	door.decide = func(in intake.Intake, try int) *intake.Result {
		if in.Refund.RefundID == "rf-1" && try <= 20 {
			return verdict(intake.Busy, refund.CodeAccountNotConfigured)
		}
		return nil
	}
	f := runBridge(t, newFakeBroker(validMessages(0, 3)...), door, nil)
	f.waitDrained()
	f.stop()
	if len(f.store.parked) != 0 || door.tries["rf-1"] != 21 {
		t.Errorf("parked %v after %d tries, want it accepted at the 21st", f.store.parked, door.tries["rf-1"])
	}
}

// A message whose account stays unknown is parked as undecided after accountPatience, so that a wrong name does not hold a place for ever.
func TestAMessageOfAnAccountThatStaysUnknownIsParked(t *testing.T) {
	door := newFakeDoor()
	door.decide = func(in intake.Intake, _ int) *intake.Result {
		if in.Refund.RefundID == "rf-1" {
			return verdict(intake.Busy, refund.CodeAccountNotConfigured)
		}
		return nil
	}
	start := time.Now()
	fast := func() time.Time { return start.Add(10_000 * time.Since(start)) }
	f := runBridge(t, newFakeBroker(validMessages(0, 3)...), door, func(c *Config) { c.Clock = fast })
	f.waitDrained()
	f.stop()
	if got := f.store.reasons(); got[ParkUnconfigured] != 1 || len(f.store.parked) != 1 {
		t.Errorf("parked %v, want one for its account", got)
	}
}
