// Package bodies generates valid and invalid requests for the readers of the service, and compares their readings with recorded
// ones. Request i depends on i alone. The package imports the standard library only
// and nothing that it is used to check.
package bodies

import (
	"math/rand/v2"
)

// seed is the first half of every request's seed; its number is the second. A change of either makes another corpus.
const seed = 20260301

// Size is how many requests the corpus has.
const Size = 100_000

// Range is a part of the corpus: requests First to Last-1. Both are multiples of BlockSize.
type Range struct{ First, Last int }

// The families of requests.
var (
	Refunds  = Range{0, 50_000}        // POST /v1/refunds
	Payments = Range{50_000, 60_000}   // PUT /v1/payments/{paymentId}
	Events   = Range{60_000, Size}     // refund.requested and payment.captured
	REST     = Range{0, Payments.Last} // what goes through the HTTP router
)

// Request is one request of the corpus. Requests of REST have a method and a target, events have attributes.
type Request struct {
	Index int
	Kind  string // what it is and what was done to it, for people and for lines

	Method, Target string      // of HTTP; the target is escaped
	Header         [][2]string // of HTTP, in order; a name may come twice
	UnknownLength  bool        // the body is sent without its length

	Attributes map[string]string // of an event in binary mode; nil = the body is the whole event

	Body string
}

// At returns request i of the corpus.
func At(i int) Request {
	g := gen{rand.NewPCG(seed, uint64(i)), i >= Events.First} //nolint:gosec // a corpus must be the same every time; i is not negative
	var r Request
	switch {
	case i < Refunds.Last:
		r = g.refundRequest(i)
	case i < Payments.Last:
		r = g.paymentRequest(i)
	default:
		r = g.event(i)
	}
	r.Index = i
	return r
}

// gen draws from the seed of one request. It uses the generator's bits directly, so that the corpus does not depend on how
// the library makes numbers of them.
type gen struct {
	*rand.PCG
	single bool // metadata have at most one invalid text: an event reports its first fault only, in an order that was not fixed once
}

// below returns a number from 0 to n-1.
func (g gen) below(n int) int {
	return int(g.Uint64() % uint64(n)) //nolint:gosec // n is a small positive number
}

// between returns a number from a to b.
func (g gen) between(a, b int) int { return a + g.below(b-a+1) }

// anyByte returns one byte, which need not be text.
func (g gen) anyByte() string {
	return string([]byte{byte(g.below(256))}) //nolint:gosec // from 0 to 255
}

// chance is true in so many cases of a hundred.
func (g gen) chance(percent int) bool { return g.below(100) < percent }

func pick[T any](g gen, list []T) T { return list[g.below(len(list))] }

// weighted is one of several things to do, done in weight cases of the sum of weights.
type weighted[T any] struct {
	weight int
	name   string
	do     T
}

func choose[T any](g gen, list []weighted[T]) weighted[T] {
	sum := 0
	for _, w := range list {
		sum += w.weight
	}
	n := g.below(sum)
	for _, w := range list {
		if n < w.weight {
			return w
		}
		n -= w.weight
	}
	return list[0]
}
