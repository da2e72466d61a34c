package channel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Budget limits when the first byte of an attempt can be sent. The database grants the time as a duration. It counts from a
// reading of the local clock before the claim was sent, so that a difference between the two clocks cannot extend it.
type Budget struct {
	// Start is that reading, with its monotonic part, as time.Now returns it.
	Start time.Time
	// Send is how long after Start the first byte can be sent.
	Send time.Duration
	// Clock is read again immediately before the first byte; default time.Now.
	Clock func() time.Time
}

// left returns the remaining budget; 0 or less means that it is over. It is the smaller one by the wall clock and by the
// monotonic clock: the monotonic clock stops while a machine is suspended, the wall clock can be set back.
func (b Budget) left() time.Duration {
	now := b.Clock()
	wall, mono := now.Round(0).Sub(b.Start.Round(0)), now.Sub(b.Start)
	ran := max(wall, mono)
	if ran < 0 {
		return 0 // the clock is before Start and cannot be relied on
	}
	return b.Send - ran
}

type budgetKey struct{}

// WithBudget returns the context for one attempt: one call through the Transport and at most one request on the wire. The next
// page of a list needs a context of its own, see NextPage.
func WithBudget(ctx context.Context, b Budget) context.Context {
	if b.Clock == nil {
		b.Clock = time.Now
	}
	return context.WithValue(ctx, budgetKey{}, &attempt{budget: b})
}

// BudgetOf returns the budget of the context.
func BudgetOf(ctx context.Context) (Budget, bool) {
	if a := attemptOf(ctx); a != nil {
		return a.budget, true
	}
	return Budget{}, false
}

// NextPage returns the context for the next page of a list: another request, with the whole time to send again. It is for
// questions only, which change nothing however late they leave. The deadline of ctx still ends all pages together. A context
// without a budget is returned as it is.
func NextPage(ctx context.Context) context.Context {
	b, ok := BudgetOf(ctx)
	if !ok {
		return ctx
	}
	b.Start = b.Clock()
	return WithBudget(ctx, b)
}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(budgetKey{}).(*attempt)
	return a
}

// The causes in a CallError. Only errReadTimeout always comes with Sent: the request was sent and has no complete answer.
var (
	errNoBudget    = errors.New("the context carries no send budget")
	errPastBudget  = errors.New("the time to send is over")
	errSecondSend  = errors.New("the attempt has already sent a request")
	errUnguarded   = errors.New("the connection is not guarded") // it was not opened by guardDial
	errUnsolicited = errors.New("an answer came before the request was sent")
	errReadTimeout = errors.New("no complete answer in time")
)

// attempt is the state of one call. Its first byte can be sent only until it is sealed, and after that only on the same
// connection.
type attempt struct {
	budget Budget

	mu      sync.Mutex
	begun   bool
	sealed  error        // not nil: no first byte can be sent any more
	refused error        // why a write was denied; nil = none was
	carrier *guardedConn // the connection that carries the request; nil = nothing sent
	written int64        // bytes that the carrier wrote
	sentAt  time.Time    // by the budget's clock
	onSent  func()
}

// begin claims the attempt for one call of RoundTrip and sets the function that is called at its first byte. It fails with
// errSecondSend when an earlier call has claimed it, whether or not that call sent anything.
func (a *attempt) begin(onSent func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		return errSecondSend
	}
	a.begun, a.onSent = true, onSent
	return nil
}

// mayWrite decides whether a connection can write the next bytes, and returns the time that is left for writing them.
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
		// The rest of a request that is partly sent is withheld: a whole request could act later than the contract allows for.
		return 0, errPastBudget
	}
	if a.carrier == nil {
		a.carrier, a.sentAt = c, a.budget.Clock()
		a.onSent()
	}
	return left, nil
}

// wrote records what a connection has written. After a write of nothing, nothing was sent.
func (a *attempt) wrote(c *guardedConn, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.written += int64(n)
	if a.carrier == c && a.written == 0 {
		a.carrier, a.sentAt = nil, time.Time{}
	}
}

// refuse denies the attempt before its first byte.
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

// reason returns why a write was denied; nil when none was. The error that net/http returns depends on which of its
// goroutines notices the denial first.
func (a *attempt) reason() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refused
}

// end seals the attempt and reports whether a byte of the request was written, and when. After end no first byte can be
// written: a goroutine that tries it gets the error why. A request that is partly written may go on. The first reason counts
// when end is called again.
func (a *attempt) end(why error) (sent bool, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seal(why)
	return a.carrier != nil, a.sentAt
}
