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

// CallLimiterConfig has a default for every field.
type CallLimiterConfig struct {
	// Failures in a row after which an account's calls stop; default 20. A failure
	// is a call of which nothing was learned: not sent, or outcome not known.
	Failures int
	// Open is how long they stop before a few are tried; default 5 s.
	Open time.Duration
	// Probes are those few; default 3. When all of them work, calls go on.
	Probes int
	// Turned is told when an account's calls stop or go on; default: nobody.
	Turned func(account string, open bool)
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
	if c.Turned == nil {
		c.Turned = func(string, bool) {}
	}
	return c
}

// CallLimiter holds calls back before anything of them exists: over the account's rate
// (limits.perSecond of its contract), or while its channel answers nothing. It knows
// this process only; replicas have gates of their own.
type CallLimiter struct {
	cfg      CallLimiterConfig
	accounts map[string]*accountLimiter
}

type accountLimiter struct {
	limit   *rate.Limiter // nil = none
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	open    time.Duration
}

// NewCallLimiter makes the gates of all accounts of a registry.
func NewCallLimiter(r *Registry, cfg CallLimiterConfig) *CallLimiter {
	cfg = cfg.withDefaults()
	g := &CallLimiter{cfg: cfg, accounts: map[string]*accountLimiter{}}
	for _, name := range r.Names() {
		_, contract, _ := r.For(name)
		g.accounts[name] = newAccountLimiter(name, contract, cfg)
	}
	return g
}

var (
	errFailed    = errors.New("nothing was learned")
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
				cfg.Turned(name, to == gobreaker.StateOpen)
			}
		},
	})
	return a
}

// Admit says whether a call to the account may be made now. If so it returns done, to
// be called once: with the answer's kind, or with "" when no call was made. Else done
// is nil, and wait and why say what to do: nothing of the call may exist by then.
func (g *CallLimiter) Admit(account string) (done func(refund.FactKind), wait time.Duration, why refund.PendingReason) {
	a, ok := g.accounts[account]
	if !ok {
		return func(refund.FactKind) {}, 0, ""
	}
	told, err := a.breaker.Allow()
	if err != nil {
		return nil, scattered(a.open / 2), refund.PendingBreaker
	}
	if a.limit != nil && !a.limit.Allow() {
		told(errNotCalled)
		r := a.limit.Reserve()
		delay := r.Delay()
		r.Cancel()
		return nil, scattered(delay), refund.PendingRateLimit
	}
	var once sync.Once
	return func(k refund.FactKind) { once.Do(func() { told(verdict(k)) }) }, 0, ""
}

func verdict(k refund.FactKind) error {
	if k == "" {
		return errNotCalled
	}
	if k == refund.Unknown || k == refund.NotSent {
		return errFailed
	}
	return nil
}

// scattered adds 50 ms to 1.05 s to d, so that refunds that wait for the same account do not all return at once.
func scattered(d time.Duration) time.Duration {
	return d + 50*time.Millisecond + clock.Jitter(500*time.Millisecond, 1)
}
