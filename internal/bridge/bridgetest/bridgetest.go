// Package bridgetest is the conformance suite of brokers: what a bridge must make of what a broker, a producer, an
// administrator or a crash does to it, on the real broker, the real door and a real PostgreSQL. A broker runs it with a Broker
// that can be told to publish, to die and to come back.
package bridgetest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/bridge"
)

// Message is one message for a broker.
type Message struct {
	TransportID string // by which the broker may know a repeat; "" = none
	Header      map[string]string
	Body        []byte
}

// Broker is a running broker, for one row. Addresses are host:port; "" stands for the broker's own.
type Broker interface {
	Addr() string
	// Prepare creates an empty topic and whatever the consumers need to miss nothing that is published from now on: stream,
	// topic, queues. The suite calls it before it publishes or opens anything, and again for consumers that come later.
	Prepare(t testing.TB, consumers ...string)
	// Opener subscribes the consumer, through addr.
	Opener(t testing.TB, consumer, addr string) bridge.Opener
	// Publish sends messages in order through addr and returns when the broker has all of them. stored = how many of them
	// it did not know already.
	Publish(ctx context.Context, addr string, msgs ...Message) (stored int, err error)
	// Kill ends the broker as hard as this kind allows; Start brings it back with its data on the same address.
	Kill(t testing.TB)
	Start(t testing.TB)
	// DeleteConsumer removes the subscription and its position.
	DeleteConsumer(t testing.TB, consumer string)
	// Redeliver makes the broker deliver its oldest message times times, without anybody acknowledging it.
	Redeliver(t testing.TB, consumer string, times int)
	// Lag is the broker's own count of what the consumer has not acknowledged.
	Lag(t testing.TB, consumer string) int

	// Window is how many messages of one consumer the broker hands out at most before acknowledgements come; 0 = no bound.
	Window() int
	// AckWait is after how long the broker delivers again what was neither acknowledged nor held. A few seconds keep the suite short.
	AckWait() time.Duration
	// DuplicateWindow is how long the broker drops a message whose TransportID it knows; 0 = it knows none.
	DuplicateWindow() time.Duration
	// LargestBody is the largest body in bytes that the broker carries, more than a bridge reads (1 MiB). About 10 MiB where the
	// broker can.
	LargestBody() int
}

// mostBody is the body in bytes that a bridge reads with the suite's configuration. A longer one is parked as it is.
const mostBody = 1 << 20

// full says whether the rows run at their full length, as `make conformance` does. Otherwise those that are only long are
// shortened: the outage of PostgreSQL and the backlog.
func full() bool { return os.Getenv("CONFORMANCE") == "full" }

func sized[T any](short, long T) T {
	if full() {
		return long
	}
	return short
}

// row is one line of the table.
type row struct {
	name  string
	test  func(*suite)
	alone bool // it measures the process, so no other row runs beside it
}

func rows() []row {
	return []row{
		{name: "crash before ack", test: crashBeforeAck},
		{name: "crash after COMMIT, before ack", test: crashAfterCommit},
		{name: "producer duplicate, new transport id", test: duplicateNewTransport},
		{name: "producer duplicate, inside and outside the window", test: duplicateWindow},
		{name: "same event id, another amount", test: sameEventOtherAmount},
		{name: "new event id for a known refund", test: newEventKnownRefund},
		{name: "second process mid-batch", test: secondProcess},
		{name: "consumer deleted by an admin", test: consumerDeleted},
		{name: "broker killed and restarted", test: brokerKilled},
		{name: "connection black hole", test: blackHole},
		{name: "publish hang", test: publishHang},
		{name: "PostgreSQL down", test: postgresDown, alone: true},
		{name: "poison in the middle of a batch", test: poisonMidBatch},
		{name: "large body", test: largeBody},
		{name: "unknown version", test: unknownVersion},
		{name: "1,000 redeliveries of one event", test: manyRedeliveries},
		{name: "backlog drained", test: backlog},
		{name: "graceful stop mid-batch", test: gracefulStop},
		{name: "two named consumers", test: twoConsumers},
		{name: "refund.requested before payment.captured", test: refundBeforePayment},
		{name: "event for another tenant", test: otherTenant},
	}
}

// Run runs the suite; fresh gives each row a broker of its own, which ends with the row's test.
func Run(t *testing.T, fresh func(t *testing.T) Broker) {
	t.Helper()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			if !r.alone { // the parallel ones start when those that are not have ended
				t.Parallel()
			}
			r.test(newSuite(t, fresh(t)))
		})
	}
}
