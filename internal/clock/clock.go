// Package clock has what every waiting loop needs: a pause that ends with its context, pauses that grow, and jitter.
// It imports the standard library only.
package clock

import (
	"context"
	"math"
	"math/rand/v2"
	"time"
)

// Pause waits for d, or until ctx ends, and then returns the cause. It returns at once when d is not positive.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Jitter returns a random duration between d − share·d and d + share·d, so that processes that began to wait together do
// not all continue together. A share below 0 counts as 0, one above 1 as 1; a negative d is returned as it is.
func Jitter(d time.Duration, share float64) time.Duration {
	room := min(d, math.MaxInt64-max(d, 0), math.MaxInt64/4) // no sum below overflows
	spread := time.Duration(min(max(share, 0), 1) * float64(room))
	if spread <= 0 {
		return d
	}
	return d - spread + rand.N(2*spread+1)
}
