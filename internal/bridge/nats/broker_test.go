package nats_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/bridge/bridgetest"
	natsbridge "github.com/refundry/refundry/internal/bridge/nats"
)

const (
	stream   = "REFUNDRY"
	subjects = "refundry.in.>"
	subject  = "refundry.in.demo.refund.requested"
)

// Settings of the broker in the suite.
const (
	ackWait         = 3 * time.Second
	duplicateWindow = 300 * time.Millisecond
	largestBody     = 10 << 20
	payload         = largestBody + 1<<20 // with its headers
)

// broker is a server with the connection of an administrator.
type broker struct {
	server server
	addr   string
	admin  *nats.Conn
	js     jetstream.JetStream
}

func newBroker(t *testing.T, s server) *broker {
	b := &broker{server: s}
	b.addr = s.start(t, "127.0.0.1:0")
	t.Cleanup(func() { s.kill(t) })
	var err error
	if b.admin, err = nats.Connect(b.addr, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(0, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.admin.Close)
	if b.js, err = jetstream.New(b.admin, jetstream.WithPublishAsyncMaxPending(500)); err != nil {
		t.Fatal(err)
	}
	return b
}

// Prepare creates the stream. Consumers start with the first message of the stream and need no preparation.
func (b *broker) Prepare(t testing.TB, _ ...string) {
	if _, err := b.js.CreateOrUpdateStream(t.Context(),
		jetstream.StreamConfig{Name: stream, Subjects: []string{subjects}, Storage: jetstream.FileStorage, Duplicates: duplicateWindow}); err != nil {
		t.Fatal(err)
	}
}

func (b *broker) Window() int                    { return natsbridge.MaxAckPending }
func (b *broker) AckWait() time.Duration         { return ackWait }
func (b *broker) DuplicateWindow() time.Duration { return duplicateWindow }
func (b *broker) LargestBody() int               { return largestBody }

// Via returns the proxy's address: the route to a server of NATS is its host:port.
func (b *broker) Via(_ testing.TB, front func(string) string) any { return front(b.addr) }

func (b *broker) at(route any) string {
	if addr, ok := route.(string); ok {
		return addr
	}
	return b.addr
}

func (b *broker) Opener(t testing.TB, consumer string, route any) bridge.Opener {
	open, err := natsbridge.Opener(natsbridge.Config{URL: "nats://" + b.at(route), Stream: stream, Durable: "refundry-" + consumer, Subjects: []string{subjects},
		AckWait: ackWait, Wait: 4 * time.Second, Dial: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// Publish uses a new connection if there is a route.
func (b *broker) Publish(ctx context.Context, route any, msgs ...bridgetest.Message) (stored int, err error) {
	js := b.js
	if route != nil {
		conn, err := nats.Connect(b.at(route), nats.FlusherTimeout(time.Second), nats.Timeout(2*time.Second))
		if err != nil {
			return 0, err
		}
		defer conn.Close()
		if js, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(256)); err != nil {
			return 0, err
		}
	}
	acks := make([]jetstream.PubAckFuture, 0, len(msgs))
	for _, m := range msgs {
		msg := &nats.Msg{Subject: subject, Data: m.Body, Header: nats.Header{}}
		for name, value := range m.Header {
			msg.Header.Set(name, value)
		}
		opts := []jetstream.PublishOpt{jetstream.WithStallWait(30 * time.Second)}
		if m.TransportID != "" {
			opts = append(opts, jetstream.WithMsgID(m.TransportID))
		}
		ack, err := js.PublishMsgAsync(msg, opts...)
		if err != nil {
			return stored, err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case ok := <-ack.Ok():
			if !ok.Duplicate {
				stored++
			}
		case err := <-ack.Err():
			return stored, err
		case <-ctx.Done():
			return stored, ctx.Err()
		}
	}
	return stored, nil
}

func (b *broker) Kill(t testing.TB) { b.server.kill(t) }

func (b *broker) Start(t testing.TB) {
	if addr := b.server.start(t, b.addr); addr != b.addr {
		t.Fatalf("the restarted broker listens on %s, want %s", addr, b.addr)
	}
	b.retry(t, "restart of the broker", func(ctx context.Context) error {
		_, err := b.js.Stream(ctx, stream)
		return err
	})
}

// retry repeats a request that may fail while the connection is restored.
func (b *broker) retry(t testing.TB, what string, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		one, done := context.WithTimeout(ctx, 5*time.Second)
		err := do(one)
		done()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (b *broker) DeleteConsumer(t testing.TB, consumer string) {
	b.retry(t, "deletion of the consumer", func(ctx context.Context) error { return b.js.DeleteConsumer(ctx, stream, "refundry-"+consumer) })
}

// Redeliver creates a missing consumer and naks its oldest message so many times.
func (b *broker) Redeliver(t testing.TB, consumer string, times int) {
	source, err := b.Opener(t, consumer, nil)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := b.js.Consumer(t.Context(), stream, "refundry-"+consumer)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		m, err := c.Next(jetstream.FetchMaxWait(20 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Nak(); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *broker) Lag(t testing.TB, consumer string) (lag int) {
	b.retry(t, "count of the broker", func(ctx context.Context) error {
		info, err := b.js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		lag = int(info.CachedInfo().State.LastSeq) // without a consumer, all messages
		c, err := info.Consumer(ctx, "refundry-"+consumer)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil
		}
		if err == nil {
			lag -= int(c.CachedInfo().AckFloor.Stream)
		}
		return err
	})
	return lag
}
