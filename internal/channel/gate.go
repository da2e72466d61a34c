package channel

import (
	"errors"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund"
)

// CallLimiterConfig configures a CallLimiter. Every field has a default.
type CallLimiterConfig struct {
	// Failures in a row open the breaker of an account; default 20. A failure is a call that proved nothing: it was not sent,
	// or its outcome is unknown.
	Failures int
	// Open is the time that an open breaker admits no call; default 5 s.
	Open time.Duration
	// Probes are the calls that are admitted after Open; default 3. When all of them get an answer, the breaker closes.
	Probes int
	// BreakerChanged is called when the breaker of an account opens or closes; default: none.
	BreakerChanged func(account string, open bool)
}

func (c CallLimiterConfig) withDefaults() CallLimiterConfig {
	if c.Failures <= 0 {
		c.Failures = 20
	}
	if c.Open <= 0 {
		c.Open = 5 * time.Second
	}
	if c.Probes <= 0 {
		c.Probes = 3
	}
	if c.BreakerChanged == nil {
		c.BreakerChanged = func(string, bool) {}
	}
	return c
}

// CallLimiter delays calls before an attempt is stored for them: above the rate of the account (limits.perSecond of its
// contract), or while its channel gives no answers. It counts the calls of this process only; each replica has its own.
type CallLimiter struct {
	cfg      CallLimiterConfig
	accounts map[string]*accountLimiter
}

type accountLimiter struct {
	limit   *rate.Limiter // nil = none
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	open    time.Duration
}

// NewCallLimiter returns a limiter for all accounts of a registry.
func NewCallLimiter(r *Registry, cfg CallLimiterConfig) *CallLimiter {
	cfg = cfg.withDefaults()
	l := &CallLimiter{cfg: cfg, accounts: map[string]*accountLimiter{}}
	for _, name := range r.Names() {
		_, contract, _ := r.For(name)
		l.accounts[name] = newAccountLimiter(name, contract, cfg)
	}
	return l
}

var (
	errFailed    = errors.New("the call proved nothing")
	errNotCalled = errors.New("no call was made")
)

func newAccountLimiter(name string, c refund.Contract, cfg CallLimiterConfig) *accountLimiter {
	a := &accountLimiter{open: cfg.Open}
	if n := c.Limits.PerSecond; n > 0 {
		a.limit = rate.NewLimiter(rate.Limit(n), n)
	}
	a.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: name, MaxRequests: uint32(cfg.Probes), Timeout: cfg.Open, // #nosec G115 -- a small number
		ReadyToTrip: func(n gobreaker.Counts) bool { return int(n.ConsecutiveFailures) >= cfg.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNotCalled) },
		OnStateChange: func(name string, _, to gobreaker.State) {
			if to != gobreaker.StateHalfOpen {
				cfg.BreakerChanged(name, to == gobreaker.StateOpen)
			}
		},
	})
	return a
}

// Admit reports whether a call to the account can be made now. If so, it returns done, to be called once with the kind of
// the answer, or with "" when no call was made. Otherwise done is nil, and the caller waits for the given time and reason,
// before it stores anything of the call.
func (l *CallLimiter) Admit(account string) (done func(refund.FactKind), wait time.Duration, why refund.PendingReason) {
	a, ok := l.accounts[account]
	if !ok {
		return func(refund.FactKind) {}, 0, ""
	}
	settle, err := a.breaker.Allow()
	if err != nil {
		return nil, spreadWait(a.open / 2), refund.PendingBreaker
	}
	if a.limit != nil && !a.limit.Allow() {
		settle(errNotCalled)
		r := a.limit.Reserve()
		delay := r.Delay()
		r.Cancel()
		return nil, spreadWait(delay), refund.PendingRateLimit
	}
	var once sync.Once
	return func(k refund.FactKind) { once.Do(func() { settle(outcome(k)) }) }, 0, ""
}

// outcome returns what the breaker counts for an answer.
func outcome(k refund.FactKind) error {
	if k == "" {
		return errNotCalled
	}
	if k == refund.Unknown || k == refund.NotSent {
		return errFailed
	}
	return nil
}

// spreadWait adds 50 ms to 1.05 s to d, so that refunds that wait for the same account do not all return at once.
func spreadWait(d time.Duration) time.Duration {
	return d + 50*time.Millisecond + clock.Jitter(500*time.Millisecond, 1)
}
