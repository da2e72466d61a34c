package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/internal/bridge"
)

// Opener returns the bridge.Opener of a subscription. Errors: an invalid configuration.
func Opener(cfg Config) (bridge.Opener, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	if _, err := cfg.options(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (bridge.Source, error) { return open(ctx, cfg) }, nil
}

// source is a bridge.Source with a connection of its own.
type source struct {
	cfg      Config
	conn     *nats.Conn
	consumer jetstream.Consumer
	pending  uint64 // messages at the server after the last delivered one; used by Fetch only
	closed   atomic.Bool

	mu  sync.Mutex
	out map[*message]bool // delivered and not acknowledged yet
}

func open(ctx context.Context, cfg Config) (bridge.Source, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, cfg, options)
	if err != nil {
		return nil, fmt.Errorf("nats: %w", err)
	}
	s := &source{cfg: cfg, conn: conn, out: map[*message]bool{}}
	if err := s.subscribe(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("nats: %w", err)
	}
	return s, nil
}

// Fetch implements bridge.Source. It waits for one message and then pulls those that are at the server already, so that a single
// message is not delayed and a backlog gives full groups. The bytes of a group are bounded.
func (s *source) Fetch(ctx context.Context, most int) ([]bridge.Message, error) {
	var out []bridge.Message
	if s.pending == 0 {
		first, err := s.pull(ctx, 1, s.cfg.Wait, jetstream.FetchHeartbeat(s.cfg.Wait/4))
		if len(first) == 0 || err != nil || s.pending == 0 || most == 1 {
			return first, err
		}
		out, most = first, most-1
	}
	n := most
	if s.pending < uint64(n) { // #nosec G115 -- n is a small positive number
		n = int(s.pending)
	}
	memory := max(s.cfg.Memory, int(s.conn.MaxPayload())+64<<10)
	s.pending = 0 // updated by each message
	more, err := s.pull(ctx, n, min(s.cfg.Wait, gatherTime), jetstream.FetchMaxBytes(memory))
	return append(out, more...), err
}

// gatherTime bounds the wait for messages that were at the server a moment ago: another process may have pulled them.
const gatherTime = 500 * time.Millisecond

// pull sends one request to the server. The end of ctx and an empty answer are not errors.
func (s *source) pull(ctx context.Context, n int, longest time.Duration, option jetstream.FetchOpt) ([]bridge.Message, error) {
	wait, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	batch, err := s.consumer.Fetch(n, jetstream.FetchContext(wait), option)
	if err != nil {
		return nil, err
	}
	var out []bridge.Message
	for m := range batch.Messages() {
		one, err := s.deliver(m)
		if err != nil {
			return out, err
		}
		out = append(out, one)
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return out, err
	}
	return out, nil
}

func (s *source) deliver(m jetstream.Msg) (bridge.Message, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("message without metadata: %w", err)
	}
	s.pending = meta.NumPending
	one := &message{source: s, msg: m, position: fmt.Sprintf("%s/%d", meta.Stream, meta.Sequence.Stream), deliveries: int(min(meta.NumDelivered, 1<<30)),
		stored: meta.Timestamp} // #nosec G115 -- bounded
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out[one] = true
	return one, nil
}

// AckAll implements bridge.GroupAcker. The server confirms each acknowledgement; they are sent concurrently.
func (s *source) AckAll(ctx context.Context, msgs []bridge.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(msgs))
	for _, m := range msgs {
		go func() {
			err := m.Ack(ctx)
			if err != nil {
				err = fmt.Errorf("%s: %w", m.Position(), err)
			}
			failed <- err
		}()
	}
	var first error
	for range msgs {
		if err := <-failed; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

// Lag implements bridge.Lagger. It counts undelivered and unacknowledged messages.
func (s *source) Lag(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Dial)
	defer cancel()
	info, err := s.consumer.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(min(info.NumPending, 1<<62)) + int64(info.NumAckPending), nil // #nosec G115 -- bounded
}

// Close implements bridge.Source. It naks unacknowledged messages once, so that another process does not wait for AckWait.
func (s *source) Close(ctx context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	defer s.conn.Close()
	s.mu.Lock()
	left := make([]*message, 0, len(s.out))
	for m := range s.out {
		left = append(left, m)
	}
	s.mu.Unlock()
	if !s.conn.IsConnected() || len(left) == 0 {
		return nil
	}
	for _, m := range left {
		if err := m.msg.Nak(); err != nil {
			return fmt.Errorf("nats: returning messages: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, min(s.cfg.Dial, 2*time.Second))
	defer cancel()
	if err := s.conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("nats: returning messages: %w", err)
	}
	return nil
}
