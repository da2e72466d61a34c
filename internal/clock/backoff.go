package clock

import "time"

// Backoff computes the pauses between the tries of something that fails: First after the first failure, twice as long
// after each further one, at most Longest, each with Jitter. It is not safe for concurrent use, except After.
type Backoff struct {
	First   time.Duration
	Longest time.Duration // before jitter; First itself is also cut to it
	Share   float64       // of the jitter, 0 to 1; 0 = none

	failures int // since the last Reset
}

// Next counts one more failure and returns the pause after it.
func (b *Backoff) Next() time.Duration {
	b.failures++
	return b.After(b.failures)
}

// Reset forgets all failures, for use after a success: the next pause is First.
func (b *Backoff) Reset() { b.failures = 0 }

// After returns the pause after so many failures in a row; fewer than 1 count as 1.
func (b Backoff) After(failures int) time.Duration {
	d := min(b.First, b.Longest)
	for n := 1; n < failures && d > 0 && d < b.Longest; n++ {
		if d > b.Longest/2 {
			d = b.Longest
		} else {
			d *= 2
		}
	}
	return Jitter(d, b.Share)
}
