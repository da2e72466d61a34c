package httpapi

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Steps between two looks at a refund that somebody waits for. A waiting
// request costs one read by key per step.
const (
	firstPoll   = 15 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// settledOrCase is what a wait without If-None-Match waits for.
func settledOrCase(r refund.Refund) bool { return r.State.Final() || r.Case != nil }

// await looks at a refund again and again until done says so, the wait is over,
// the caller has gone or the process stops, and returns it as last seen. false:
// the request did not wait, since it was not asked to or too many wait already.
// A read that fails ends the wait: what is known is told.
func (s *service) await(ctx context.Context, tenant refund.TenantID, r refund.Refund, wait time.Duration, done func(refund.Refund) bool) (refund.Refund, bool) {
	if wait <= 0 {
		return r, false
	}
	if done(r) {
		return r, true
	}
	select {
	case s.waiters <- struct{}{}:
		defer func() { <-s.waiters }()
	default:
		return r, false
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	for step := firstPoll; ; step = min(step*3/2, longestPoll) {
		look := time.NewTimer(step/2 + rand.N(step))
		select {
		case <-look.C:
		case <-end.C:
			look.Stop()
			return s.readOnce(ctx, tenant, r), true
		case <-ctx.Done():
			look.Stop()
			return r, true
		case <-s.stopping:
			look.Stop()
			return r, true
		}
		seen, err := s.refunds.FindRefund(ctx, tenant, r.RefundID)
		if err != nil {
			return r, true
		}
		if r = seen; done(r) {
			return r, true
		}
	}
}

func (s *service) readOnce(ctx context.Context, tenant refund.TenantID, r refund.Refund) refund.Refund {
	if seen, err := s.refunds.FindRefund(ctx, tenant, r.RefundID); err == nil {
		return seen
	}
	return r
}
