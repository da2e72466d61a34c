package main

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	resamples = 10_000
	level     = 0.90
)

// ratio is the quotient of two medians with its confidence interval. All three are NaN when the first median is 0 or a value is
// missing.
type ratio struct{ value, low, high float64 }

// differs reports that the interval does not contain 1.
func (r ratio) differs() bool { return r.low > 1 || r.high < 1 }

// median is the middle value, or the mean of the two middle values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// compareMedians returns median(after)/median(before) with its 90 % percentile bootstrap interval. A resample draws whole
// rounds: the two measurements of a round are close in time, so a disturbance of the machine affects both. The same values
// and seed give the same interval.
func compareMedians(before, after []float64, seed uint64) ratio {
	r := ratio{value: median(after) / median(before), low: math.NaN(), high: math.NaN()}
	if math.IsNaN(r.value) || math.IsInf(r.value, 0) || slices.ContainsFunc(slices.Concat(before, after), math.IsNaN) {
		return ratio{math.NaN(), math.NaN(), math.NaN()}
	}
	source := rand.New(rand.NewPCG(seed, seed)) // #nosec G404 -- statistics, no secret
	n := len(before)
	a, b := make([]float64, n), make([]float64, n)
	quotients := make([]float64, 0, resamples)
	for range resamples {
		for i := range n {
			round := source.IntN(n)
			a[i], b[i] = before[round], after[round]
		}
		if q := median(b) / median(a); !math.IsNaN(q) && !math.IsInf(q, 0) {
			quotients = append(quotients, q)
		}
	}
	slices.Sort(quotients)
	r.low, r.high = quantile(quotients, (1-level)/2), quantile(quotients, (1+level)/2)
	return r
}

// quantile interpolates between the two values that are nearest to q of a sorted list.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}
