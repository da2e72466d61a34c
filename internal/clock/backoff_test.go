package clock

import (
	"math"
	"testing"
	"time"
)

func TestBackoffDoublesUpToItsLongest(t *testing.T) {
	t.Parallel()
	b := Backoff{First: 50 * time.Millisecond, Longest: 300 * time.Millisecond}
	for _, want := range []int64{50, 100, 200, 300, 300} {
		if got := b.Next().Milliseconds(); got != want {
			t.Errorf("the next pause is %d ms, want %d ms", got, want)
		}
	}
	b.Reset()
	if got := b.Next(); got != b.First {
		t.Errorf("the pause after a reset is %s, want the first one, %s", got, b.First)
	}
}

func TestBackoffAfterSoManyFailures(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		b        Backoff
		failures int
		want     time.Duration
	}{
		{"none counts as one", Backoff{First: 1, Longest: 9}, 0, 1},
		{"negative counts as one", Backoff{First: 1, Longest: 9}, -4, 1},
		{"the fourth", Backoff{First: 1, Longest: 9}, 4, 8},
		{"cut", Backoff{First: 1, Longest: 9}, 5, 9},
		{"very many", Backoff{First: 1, Longest: math.MaxInt64}, math.MaxInt, math.MaxInt64},
		{"a first above the longest", Backoff{First: 9, Longest: 4}, 1, 4},
		{"nothing", Backoff{}, math.MaxInt, 0},
	}
	for _, c := range cases {
		if got := c.b.After(c.failures); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestBackoffPausesAreJittered(t *testing.T) {
	t.Parallel()
	b := Backoff{First: time.Second, Longest: 30 * time.Second, Share: 0.5}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := b.After(3)
		if d < 2*time.Second || d > 6*time.Second {
			t.Fatalf("the third pause is %s, want 4s ± 50 %%", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("1,000 pauses have %d different lengths, want nearly as many", len(seen))
	}
}
