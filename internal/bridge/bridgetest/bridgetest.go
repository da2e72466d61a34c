// Package bridgetest is the conformance suite of brokers. Its rows check a bridge against the behaviour of brokers, producers and
// administrators, and against crashes, with the real broker, the real Door and a real PostgreSQL. The test of a broker passes a Broker
// that can publish, be killed and be restarted.
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
	TransportID string // by which the broker may recognise a repeat; "" = none
	Header      map[string]string
	Body        []byte
}

// Broker is a running broker for one row. A route is how its clients reach it, in a form of the broker's own: an address, a list of them,
// the settings of its Kind. nil = directly.
type Broker interface {
	// Via returns a route on which every connection goes through a proxy. front starts a proxy of the TCP address target (host:port) and
	// returns the proxy's; the broker calls it for each of its addresses.
	Via(t testing.TB, front func(target string) (addr string)) (route any)
	// Prepare creates an empty topic and everything that the consumers need to get all messages published from now on: stream, topic,
	// queues. The suite calls it before it publishes or opens anything, and again for later consumers.
	Prepare(t testing.TB, consumers ...string)
	// Opener returns the Opener of a consumer that connects by route.
	Opener(t testing.TB, consumer string, route any) bridge.Opener
	// Publish sends messages in order by route and returns when the broker has stored all of them. stored is the number of messages that
	// the broker did not drop as duplicates.
	Publish(ctx context.Context, route any, msgs ...Message) (stored int, err error)
	// Kill ends the broker as abruptly as this kind allows. Start restarts it with its data on the same address.
	Kill(t testing.TB)
	Start(t testing.TB)
	// DeleteConsumer deletes the subscription with its position.
	DeleteConsumer(t testing.TB, consumer string)
	// Redeliver makes the broker deliver its oldest message so many times without an acknowledgement.
	Redeliver(t testing.TB, consumer string, times int)
	// Lag is the broker's count of messages that the consumer has not acknowledged.
	Lag(t testing.TB, consumer string) int

	// Window is the largest number of unacknowledged messages that the broker delivers to one consumer; 0 = no bound.
	Window() int
	// AckWait is the time after which the broker delivers a message again that was neither acknowledged nor held. A few seconds keep
	// the suite short.
	AckWait() time.Duration
	// DuplicateWindow is how long the broker drops repeats of a TransportID; 0 = never.
	DuplicateWindow() time.Duration
	// LargestBody is the largest body in bytes that the broker accepts. It exceeds the 1 MiB that a bridge decodes, and is about 10 MiB
	// where the broker allows it.
	LargestBody() int
}

// mostBody is the largest body in bytes that a bridge of the suite decodes. A longer one is parked.
const mostBody = 1 << 20

// full reports whether the rows run at full length, as in `make conformance`. Otherwise the outage of PostgreSQL and the backlog are
// shorter.
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
	alone bool // it measures the process, so no other row runs at the same time
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

// Run runs the suite. fresh returns a new broker for each row, which ends with the row's test.
func Run(t *testing.T, fresh func(t *testing.T) Broker) {
	t.Helper()
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			if !r.alone { // parallel rows start after the others have ended
				t.Parallel()
			}
			r.test(newSuite(t, fresh(t)))
		})
	}
}
