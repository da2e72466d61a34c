package bridge

import (
	"context"
	"errors"
	"time"
)

// Message is one delivery of a broker. After its Source was closed, Ack and Hold return ErrStale, and the broker delivers the
// message again.
type Message interface {
	Body() []byte
	// Header are the headers of the message in the form of Canonical. Every entry has a value.
	Header() map[string][]string
	// Time is when the broker stored the message, or when it was published. It is the same for every delivery; zero = the broker has
	// none. It is used for events without a time of their own.
	Time() time.Time
	// Position identifies the message at the broker. It is the same for every delivery.
	Position() string
	// Bound is what the broker checked when it took the message. It is the same for every delivery.
	Bound() Bound
	// Deliveries is the broker's count of deliveries, from 1; 0 = the broker does not count. It is a hint that decides no outcome.
	Deliveries() int
	// Ack acknowledges the message. It is called after a known COMMIT only, and returns nil only if the broker has confirmed.
	Ack(ctx context.Context) error
	// Hold extends the time after which the broker delivers the message again.
	Hold(ctx context.Context) error
}

// Source is one connection of a subscription. A Source that has failed is closed and replaced by a new one.
type Source interface {
	// Fetch waits for messages and returns at most max of them, none after the Source's own waiting time. The messages returned with
	// an error are processed before the Source is closed. The end of ctx is not an error: the messages that have come are returned.
	Fetch(ctx context.Context, max int) ([]Message, error)
	// Close returns unacknowledged messages to the broker.
	Close(ctx context.Context) error
}

// GroupAcker is a Source that acknowledges a group faster than its messages one by one. After an error the Source is closed, and
// some of the other messages may have been acknowledged.
type GroupAcker interface {
	AckAll(ctx context.Context, msgs []Message) error
}

// Opener opens a Source.
type Opener func(ctx context.Context) (Source, error)

// Lagger is a Source that knows the broker's count of waiting messages.
type Lagger interface {
	Lag(ctx context.Context) (pending int64, err error)
}

// ErrStale means that the Source of a message has been closed.
var ErrStale = errors.New("bridge: the source of the message has been closed")
