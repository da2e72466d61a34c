package bridge

import (
	"context"
	"errors"
	"time"
)

// Message is one delivery of a broker. Its methods belong to the incarnation of the Source that gave it: once that is
// closed, Ack and Hold do nothing but return ErrStale, and the broker delivers again.
type Message interface {
	Body() []byte
	// Header is what the broker carries beside the body, in the form of Canonical; never nil-valued entries.
	Header() map[string][]string
	// Time is the broker's own time of the message, the same for every delivery: when it was published or stored. Zero = it
	// keeps none. It stands in for the time of an event that tells none.
	Time() time.Time
	// Position names where the message lies at the broker, the same for every delivery of it.
	Position() string
	// Deliveries is the broker's count of deliveries, from 1; 0 = it does not count. A hint for causes, never a proof.
	Deliveries() int
	// Ack tells the broker that the message is done with. It is called after a known COMMIT only.
	Ack(ctx context.Context) error
	// Hold tells the broker that the message is still worked on.
	Hold(ctx context.Context) error
}

// Source is one incarnation of a subscription. A broken one is closed and opened anew; it is never repaired.
type Source interface {
	// Fetch waits for messages and gives at most max of them. No message within the source's own waiting time is an empty
	// answer. An error ends the incarnation, after what came with it is done. The end of ctx is not a failure: what has come
	// is given.
	Fetch(ctx context.Context, max int) ([]Message, error)
	// Close gives everything back that was not acknowledged.
	Close(ctx context.Context) error
}

// GroupAcker is a Source that acknowledges many messages faster together than one by one. The first error ends the
// incarnation; what became of the others is then unknown to us, and a redelivery tells.
type GroupAcker interface {
	AckAll(ctx context.Context, msgs []Message) error
}

// Opener makes an incarnation.
type Opener func(ctx context.Context) (Source, error)

// Lagger is a Source that can say how many messages wait at the broker, by the broker's own count.
type Lagger interface {
	Lag(ctx context.Context) (pending int64, err error)
}

// ErrStale: the message's incarnation is over.
var ErrStale = errors.New("bridge: the delivery belongs to an incarnation that is over")
