package channel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Budget says until when the first byte of an attempt may leave. The database
// hands the time out as a duration; it is counted from a reading of the local
// clock taken before the claim was sent, so that no difference between the two
// clocks can lengthen it.
type Budget struct {
	// Start is that reading, with its monotonic part (as time.Now gives it).
	Start time.Time
	// Send is how long after Start the first byte may leave.
	Send time.Duration
	// Clock is read again right before the first byte; default time.Now.
	Clock func() time.Time
}

// left is what remains of the budget; 0 or less means that it is over. The wall
// and the monotonic clock are both asked and the one that ran further decides:
// the monotonic one stands still while a machine is suspended, the wall clock may
// be set back.
func (b Budget) left() time.Duration {
	now := b.Clock()
	wall, mono := now.Round(0).Sub(b.Start.Round(0)), now.Sub(b.Start)
	ran := max(wall, mono)
	if ran < 0 {
		return 0 // before its own start: no clock that can be relied on
	}
	return b.Send - ran
}

type budgetKey struct{}

// WithBudget returns the context for one attempt: one call through the Transport
// and at most one request on the wire. Each further call (a page of a list, say)
// needs a context of its own.
func WithBudget(ctx context.Context, b Budget) context.Context {
	if b.Clock == nil {
		b.Clock = time.Now
	}
	return context.WithValue(ctx, budgetKey{}, &attempt{budget: b})
}

// BudgetOf returns the budget that the context carries.
func BudgetOf(ctx context.Context) (Budget, bool) {
	if a := attemptOf(ctx); a != nil {
		return a.budget, true
	}
	return Budget{}, false
}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(budgetKey{}).(*attempt)
	return a
}

// Why an attempt could not go out, or went out and gave no answer.
var (
	errNoBudget    = errors.New("the context carries no send budget")
	errPastBudget  = errors.New("the time to send is over")
	errSecondSend  = errors.New("the attempt has had its one request")
	errUnguarded   = errors.New("the connection is not a guarded one")
	errUnsolicited = errors.New("an answer came before the request was sent")
	errReadTimeout = errors.New("no whole answer in time")
)

// attempt is what one call did so far. The first byte may leave only while it is
// not sealed, and once it left, on no other connection.
type attempt struct {
	budget Budget

	mu      sync.Mutex
	begun   bool
	sealed  error        // set: no first byte may leave any more
	refused error        // why a write was turned away, if one was
	carrier *guardedConn // the connection that carries the request; nil = nothing sent
	written int64        // bytes that the carrier took
	sentAt  time.Time    // by the budget's clock
	onSent  func()
}

// begin claims the attempt for one call. It fails when there was one before.
func (a *attempt) begin(onSent func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		return errSecondSend
	}
	a.begun, a.onSent = true, onSent
	return nil
}

// mayWrite decides about the next bytes on a connection and returns the time
// that is left for writing them.
func (a *attempt) mayWrite(c *guardedConn) (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.carrier != nil && a.carrier != c:
		return 0, errSecondSend
	case a.carrier == nil && a.sealed != nil:
		return 0, a.sealed
	}
	left := a.budget.left()
	if left <= 0 {
		a.seal(errPastBudget)
		a.refused = errPastBudget
		// Of a request that is half out the rest stays here: a whole one could
		// act later than everybody counts on.
		return 0, errPastBudget
	}
	if a.carrier == nil {
		a.carrier, a.sentAt = c, a.budget.Clock()
		a.onSent()
	}
	return left, nil
}

// wrote takes note of what a connection took. If it took nothing, nothing left.
func (a *attempt) wrote(c *guardedConn, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written += int64(n)
	if a.carrier == c && a.written == 0 {
		a.carrier, a.sentAt = nil, time.Time{}
	}
}

// refuse turns the attempt away before its first byte.
func (a *attempt) refuse(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seal(why)
	a.refused = why
}

func (a *attempt) seal(why error) {
	if a.sealed == nil {
		a.sealed = why
	}
}

// reason is why a write was turned away; nil when none was. What net/http makes of
// it depends on which of its goroutines notices first.
func (a *attempt) reason() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// end seals the attempt and says whether anything was sent. After "no" nothing
// can be: a goroutine that is still about to write is turned away.
func (a *attempt) end(why error) (sent bool, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seal(why)
	return a.carrier != nil, a.sentAt
}
