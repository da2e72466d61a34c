package bridgetest

import (
	"context"
	"sync"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/refund/intake"
)

// pausingDoor is a Door that stops its first group before or after COMMIT until the test continues.
type pausingDoor struct {
	bridge.Door
	reached chan struct{} // closed at the first group
	goOn    chan struct{} // closed by the test
	after   bool          // stop after the COMMIT
	once    sync.Once
}

func newPausingDoor(d bridge.Door, after bool) *pausingDoor {
	return &pausingDoor{Door: d, reached: make(chan struct{}), goOn: make(chan struct{}), after: after}
}

func (g *pausingDoor) AcceptEach(ctx context.Context, in []intake.Intake) ([]intake.Result, error) {
	if g.after {
		out, err := g.Door.AcceptEach(ctx, in)
		return out, g.stop(ctx, err)
	}
	if err := g.stop(ctx, nil); err != nil {
		return nil, err
	}
	return g.Door.AcceptEach(ctx, in)
}

func (g *pausingDoor) stop(ctx context.Context, err error) error {
	g.once.Do(func() { close(g.reached) })
	select {
	case <-g.goOn:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
