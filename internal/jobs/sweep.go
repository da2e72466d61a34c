package jobs

import (
	"context"
	"time"

	"github.com/refundry/refundry/internal/clock"
)

const (
	sweepPasses   = 20               // in a row while more is due
	sweepTimeout  = 30 * time.Second // of one pass
	sweepLongest  = 10 * time.Second // between passes while the database is unavailable
	sweepSlowdown = 32               // times SweepEvery, at most, between these passes
)

// sweepLoop sweeps on every replica, independently of River.
func (r *Runner) sweepLoop(ctx context.Context) {
	every := r.cfg.SweepEvery
	retry := clock.Backoff{First: 2 * every, Longest: min(sweepSlowdown*every, sweepLongest), Share: jitter}
	fails := 0
	wait := clock.Jitter(every, jitter)
	for clock.Pause(ctx, wait) == nil {
		if err := r.sweep(ctx); err != nil && ctx.Err() == nil {
			fails++
			wait = retry.Next()
			r.log.WarnContext(ctx, "the sweep failed", "error", err, "in a row", fails)
		} else {
			fails = 0
			retry.Reset()
			wait = clock.Jitter(every, jitter)
		}
	}
}

// sweep makes passes until nothing is due, at most sweepPasses.
func (r *Runner) sweep(ctx context.Context) error {
	for range sweepPasses {
		pass, cancel := context.WithTimeout(ctx, sweepTimeout)
		swept, err := r.cfg.Store.Sweep(pass, r.cfg.SweepLimit)
		cancel()
		if r.cfg.Observer != nil {
			r.cfg.Observer.Swept(swept)
		}
		if err != nil || !swept.More {
			return err
		}
	}
	return nil
}
