package intake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/refund"
)

// scriptedAccepter is a GroupAccepter with scripted answers.
type scriptedAccepter struct {
	mu     sync.Mutex
	groups [][]string // refund ids of every call, in order
	answer func(call int, g []Intake) ([]Outcome, error)
}

func (s *scriptedAccepter) AcceptGroup(_ context.Context, g []Intake) ([]Outcome, error) {
	s.mu.Lock()
	call := len(s.groups)
	s.groups = append(s.groups, refundIDs(g))
	s.mu.Unlock()
	return s.answer(call, g)
}

func (s *scriptedAccepter) calls() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]string(nil), s.groups...)
}

func refundIDs(g []Intake) (out []string) {
	for _, in := range g {
		out = append(out, in.Refund.RefundID)
	}
	return out
}

// allAccepted answers every item with Taken, except those that are lost.
func allAccepted(g []Intake, lost func(Intake) bool) ([]Outcome, error) {
	out := make([]Outcome, len(g))
	for i, in := range g {
		out[i] = Outcome{Verdict: Taken, Refund: &refund.Refund{RefundRef: refund.RefundRef{Tenant: in.Tenant.ID, RID: in.RID}}}
		if lost != nil && lost(in) {
			out[i] = Outcome{Verdict: NotLocked}
		}
	}
	return out, nil
}

func doorIntake(id string) Intake {
	return Intake{Tenant: refund.Tenant{ID: 1, Code: "one"}, Event: EventID{"rest", "rest", "e-" + id}, Type: TypeRefundRequested,
		Refund: &Request{Params: refund.Params{RefundID: id, OrderID: "o", PaymentID: "p", Amount: 1, Currency: "USD"}}}
}

func doorIntakes(n int) []Intake {
	g := make([]Intake, n)
	for i := range g {
		g[i] = doorIntake(fmt.Sprintf("r%03d", i))
	}
	return g
}

var doorRIDs atomic.Uint64

func countedRID() (rid refund.RID) {
	binary.BigEndian.PutUint64(rid[8:], doorRIDs.Add(1))
	return rid
}

// newTestDoor returns a Door that is stopped with the test and leaves no goroutine behind.
func newTestDoor(t *testing.T, cfg DoorConfig) *Door {
	t.Helper()
	before := goleak.IgnoreCurrent()
	cfg.NewRID = countedRID
	d := NewDoor(cfg)
	t.Cleanup(func() {
		d.Stop()
		goleak.VerifyNone(t, before)
	})
	return d
}

// manualClock only moves by advance.
type manualClock struct{ nanos atomic.Int64 }

func (c *manualClock) now() time.Time { return time.Unix(0, c.nanos.Load()) }

func (c *manualClock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

func mustAccept(t *testing.T, d *Door, g ...Intake) []Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := d.Accept(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// waitFor polls a condition that another goroutine makes true.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	deadline := time.After(10 * time.Second)
	for !cond() {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

var errUnexpected = errors.New("a value that the database refuses")
