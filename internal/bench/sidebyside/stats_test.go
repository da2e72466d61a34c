package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{7}, 7},
		{[]float64{3, 1, 2}, 2},
		{[]float64{4, 1, 3, 2}, 2.5}, // the mean of the two middle values
		{[]float64{1, 1, 1000}, 1},   // an outlier moves nothing
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v = %v, want %v", c.values, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v, want NaN", got)
	}
}

func TestEqualRoundsGiveARatioOfOne(t *testing.T) {
	t.Parallel()
	same := []float64{100, 103, 98, 101, 250, 99, 100, 102, 97}
	if r := compareMedians(same, same, 1); r.value != 1 || r.low != 1 || r.high != 1 || r.differs() {
		t.Errorf("%+v, want 1 from 1 to 1: whole rounds are drawn, and both sides of each are equal", r)
	}
}

func TestTheSameSeedGivesTheSameInterval(t *testing.T) {
	t.Parallel()
	before, after := noisy(7, 9, 100), noisy(8, 9, 110)
	first := compareMedians(before, after, 1)
	if again := compareMedians(before, after, 1); again != first {
		t.Errorf("%+v, then %+v", first, again)
	}
	if first.low > first.value || first.high < first.value || first.low == first.high {
		t.Errorf("%+v: want an interval around the value", first)
	}
}

func TestAChangeOfTenPercentIsSeen(t *testing.T) {
	t.Parallel()
	before := []float64{100, 101, 99, 100, 102, 98, 100, 101, 99}
	after := []float64{110, 111, 109, 110, 112, 108, 111, 110, 109}
	r := compareMedians(before, after, 1)
	if math.Abs(r.value-1.10) > 1e-9 || !r.differs() || r.low < 1.07 || r.high > 1.13 {
		t.Errorf("%+v, want 1.10 with an interval between 1.07 and 1.13", r)
	}
	back := compareMedians(after, before, 1)
	if math.Abs(back.value-1/1.10) > 1e-9 || !back.differs() {
		t.Errorf("%+v the other way round, want %v", back, 1/1.10)
	}
}

func TestNoRatioWithoutNumbers(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]ratio{
		"nothing measured": compareMedians([]float64{0, 0, 0}, []float64{0, 0, 0}, 1),
		"from zero":        compareMedians([]float64{0, 0, 0}, []float64{1, 2, 3}, 1),
		"a missing value":  compareMedians([]float64{1, 2, math.NaN()}, []float64{1, 2, 3}, 1),
	} {
		if !math.IsNaN(r.value) || !math.IsNaN(r.low) || !math.IsNaN(r.high) || r.differs() {
			t.Errorf("%s: %+v, want no ratio", name, r)
		}
	}
}

// TestTheIntervalContainsTheTruthAsOftenAsItSays compares nine rounds of equal programs many times: about nine intervals of
// ten must contain 1. Fewer would report noise as differences.
func TestTheIntervalContainsTheTruthAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	const trials = 200
	contained := 0
	for trial := range uint64(trials) {
		if !compareMedians(noisy(2*trial, 9, 100), noisy(2*trial+1, 9, 100), 1).differs() {
			contained++
		}
	}
	if contained < trials*83/100 {
		t.Errorf("%d of %d intervals contain the true ratio, want about 90 %%", contained, trials)
	}
	t.Logf("%d of %d intervals contain the true ratio", contained, trials)
}

// noisy returns n values around center with a standard deviation of 5 %.
func noisy(seed uint64, n int, center float64) []float64 {
	source := rand.New(rand.NewPCG(seed, 99)) // #nosec G404 -- a test's noise
	out := make([]float64, n)
	for i := range out {
		out[i] = center * math.Exp(0.05*source.NormFloat64())
	}
	return out
}
