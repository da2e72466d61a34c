package httpapi

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Bounds of the pause between two reads of a refund that a caller waits for. A waiting
// request costs one read by key per pause.
const (
	firstPoll   = 15 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// settledOrCase is the condition of a wait without If-None-Match.
func settledOrCase(r refund.Refund) bool { return r.State.Final() || r.Case != nil }

// await reads a refund repeatedly until done reports true, the wait is over or the process
// stops, and returns it as last read. waited is false if the caller asked for no wait,
// too many requests wait already, or the caller closed its half of the connection, after
// which it cannot be told from one that has gone. A read that fails ends the wait.
func (s *service) await(
	ctx context.Context, tenant refund.TenantID, r refund.Refund, wait time.Duration, done func(refund.Refund) bool,
) (last refund.Refund, waited bool) {
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
		pause := time.NewTimer(step/2 + rand.N(step))
		select {
		case <-pause.C:
		case <-end.C:
			pause.Stop()
			return s.readOnce(ctx, tenant, r), true
		case <-ctx.Done():
			pause.Stop()
			return r, true
		case <-hungUp(ctx):
			pause.Stop()
			return r, false
		case <-s.stopping:
			pause.Stop()
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
