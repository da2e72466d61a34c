package jobs

import (
	"context"
	"time"
)

const (
	sweepPasses   = 20               // in a row while there is more, then others get a turn
	sweepTimeout  = 30 * time.Second // of one pass
	sweepLongest  = 10 * time.Second // between tries while the database is away
	sweepDoublers = 5
)

// sweepLoop runs on every replica, beside River and independent of it.
func (r *Runner) sweepLoop(ctx context.Context) {
	fails := 0
	timer := time.NewTimer(spread(r.cfg.SweepEvery))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := r.sweep(ctx); err != nil && ctx.Err() == nil {
			fails++
			r.log.WarnContext(ctx, "sweep failed", "error", err, "in a row", fails)
		} else {
			fails = 0
		}
		wait := r.cfg.SweepEvery
		if fails > 0 {
			wait = min(wait<<min(fails, sweepDoublers), sweepLongest)
		}
		timer.Reset(spread(wait))
	}
}

// sweep makes passes until nothing more is due.
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
