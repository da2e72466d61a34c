package clock

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestPauseWaitsForTheDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Pause(t.Context(), 3*time.Second); err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("paused %s with %v, want 3s without an error", time.Since(start), err)
		}
	})
}

func TestPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		if err := Pause(ctx, time.Hour); !errors.Is(err, cause) || time.Since(start) != time.Second {
			t.Errorf("paused %s with %v, want 1s with the cause of the cancellation", time.Since(start), err)
		}
		for _, d := range []time.Duration{-1, 0, 1, time.Hour} {
			if err := Pause(ctx, d); !errors.Is(err, cause) {
				t.Errorf("a pause of %s after the end of the context: %v, want the cause", d, err)
			}
		}
	})
}

func TestPauseOfNothingReturnsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, d := range []time.Duration{math.MinInt64, -1, 0} {
			if err := Pause(t.Context(), d); err != nil || time.Since(start) != 0 {
				t.Errorf("a pause of %s: took %s with %v, want nothing", d, time.Since(start), err)
			}
		}
	})
}

func TestJitterStaysWithinItsShare(t *testing.T) {
	t.Parallel()
	cases := []struct {
		d        time.Duration
		share    float64
		min, max time.Duration
	}{
		{time.Second, 0.2, 800 * time.Millisecond, 1200 * time.Millisecond},
		{time.Second, 0, time.Second, time.Second},
		{time.Second, -1, time.Second, time.Second},
		{time.Second, 1, 0, 2 * time.Second},
		{time.Second, 7, 0, 2 * time.Second},
		{time.Second, math.NaN(), time.Second, time.Second},
		{0, 1, 0, 0},
		{1, 0.5, 1, 1},
		{-time.Second, 0.5, -time.Second, -time.Second},
		{math.MaxInt64, 1, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64 / 2, 1, 0, math.MaxInt64},
	}
	for _, c := range cases {
		for range 1000 {
			if got := Jitter(c.d, c.share); got < c.min || got > c.max {
				t.Errorf("Jitter(%s, %v) = %s, want %s to %s", c.d, c.share, got, c.min, c.max)
			}
		}
	}
}

// The whole range is used: a thousand draws reach below a tenth and above nine tenths of it.
func TestJitterUsesItsWholeShare(t *testing.T) {
	t.Parallel()
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for range 1000 {
		d := Jitter(time.Second, 0.5)
		low, high = min(low, d), max(high, d)
	}
	if low > 600*time.Millisecond || high < 1400*time.Millisecond {
		t.Errorf("1,000 draws lie between %s and %s, want about 500ms to 1.5s", low, high)
	}
}
