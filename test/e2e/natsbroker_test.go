package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/internal/devnats"
	"github.com/refundry/refundry/internal/devnats/natstest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// natsBroker is a nats-server in a process of its own.
type natsBroker struct {
	dir, addr string
	proc      *natstest.Process
	conn      *nats.Conn
	js        jetstream.JetStream
	repeats   atomic.Int64
}

// TestNATSServerProcess is the server in its process; in an ordinary run it does nothing.
func TestNATSServerProcess(t *testing.T) { natstest.Serve(t) }

func startNATS(t *testing.T) *natsBroker {
	t.Helper()
	b := &natsBroker{dir: t.TempDir(), addr: "127.0.0.1:0"}
	b.start(t)
	t.Cleanup(b.kill)
	var err error
	if b.conn, err = nats.Connect(b.url(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(0, 0)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.conn.Close)
	if b.js, err = jetstream.New(b.conn); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *natsBroker) url() string { return "nats://" + b.addr }

func (b *natsBroker) start(t *testing.T) {
	t.Helper()
	b.proc = natstest.Start(t, devnats.Config{Dir: b.dir, Listen: b.addr})
	b.addr = b.proc.Addr()
}

func (b *natsBroker) kill() { b.proc.Kill() }

func (b *natsBroker) send(ctx context.Context, msgs []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	acks := make([]jetstream.PubAckFuture, 0, len(msgs))
	for _, m := range msgs {
		ack, err := b.js.PublishMsgAsync(m)
		if err != nil {
			return err
		}
		acks = append(acks, ack)
	}
	for _, ack := range acks {
		select {
		case <-ack.Ok():
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (b *natsBroker) consumer(ctx context.Context) (jetstream.Consumer, error) {
	return b.js.Consumer(ctx, "REFUNDRY", "refundry-orders")
}

func (b *natsBroker) untilStream(ctx context.Context, t *testing.T) {
	t.Helper()
	harness.Eventually(t, time.Minute, "the bridge has created stream and consumer", func() (bool, string) {
		_, err := b.consumer(ctx)
		return err == nil, fmt.Sprint(err)
	})
}

// giveBack fetches n messages as the bridge's consumer and returns each of them to the broker.
func (b *natsBroker) giveBack(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	c, err := b.consumer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(n, jetstream.FetchMaxWait(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for m := range batch.Messages() {
		got++
		if err := m.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.conn.FlushWithContext(ctx); err != nil || got != n {
		t.Fatalf("%d of %d messages were returned, %v", got, n, err)
	}
}

func (b *natsBroker) untilDrained(ctx context.Context, t *testing.T) {
	t.Helper()
	harness.Eventually(t, 4*time.Minute, "everything is acknowledged", func() (bool, string) {
		c, err := b.consumer(ctx)
		if err != nil {
			return false, err.Error()
		}
		info, err := c.Info(ctx)
		if err != nil {
			return false, err.Error()
		}
		return info.NumPending == 0 && info.NumAckPending == 0, fmt.Sprintf("%d pending, %d unacknowledged", info.NumPending, info.NumAckPending)
	})
}

// publish publishes messages until the broker has all of them, also when it is killed meanwhile.
func publish(ctx context.Context, t *testing.T, b *natsBroker, msgs []*nats.Msg) {
	for len(msgs) > 0 && ctx.Err() == nil {
		part := msgs[:min(len(msgs), 500)]
		if err := b.send(ctx, part); err != nil {
			b.repeats.Add(1)
			continue
		}
		msgs = msgs[len(part):]
	}
	if len(msgs) > 0 {
		t.Errorf("%d messages could not be published", len(msgs))
	}
}
