package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/internal/bridge"
)

// Opener checks the configuration and gives what opens incarnations of the subscription.
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

// source is one incarnation: a connection of its own and the durable consumer.
type source struct {
	cfg      Config
	conn     *nats.Conn
	consumer jetstream.Consumer
	pending  uint64 // messages that waited at the server after the last one that came; used by Fetch only
	closed   atomic.Bool

	mu  sync.Mutex
	out map[*message]bool // delivered and not acknowledged
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

// connect dials, and gives up when ctx ends.
func connect(ctx context.Context, cfg Config, options []nats.Option) (*nats.Conn, error) {
	type result struct {
		conn *nats.Conn
		err  error
	}
	dialed := make(chan result, 1)
	go func() {
		conn, err := nats.Connect(cfg.URL, options...)
		dialed <- result{conn, err}
	}()
	select {
	case r := <-dialed:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-dialed; r.conn != nil {
				r.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// subscribe finds the stream and the consumer, and makes what is missing and may be made.
func (s *source) subscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*s.cfg.Dial)
	defer cancel()
	js, err := jetstream.New(s.conn)
	if err != nil {
		return err
	}
	consumer, err := js.Consumer(ctx, s.cfg.Stream, s.cfg.Durable)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && s.cfg.CreateStream:
		if _, err := js.CreateStream(ctx, s.cfg.stream()); err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("make stream %s: %w", s.cfg.Stream, err)
		}
		s.cfg.Logger.Info("stream made", "stream", s.cfg.Stream, "subjects", s.cfg.Subjects)
		consumer, err = js.CreateConsumer(ctx, s.cfg.Stream, s.cfg.consumer())
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		consumer, err = js.CreateConsumer(ctx, s.cfg.Stream, s.cfg.consumer())
	case err == nil && !s.matches(consumer.CachedInfo().Config):
		consumer, err = js.UpdateConsumer(ctx, s.cfg.Stream, s.cfg.consumer())
	}
	if err != nil {
		return fmt.Errorf("consumer %s of stream %s: %w", s.cfg.Durable, s.cfg.Stream, err)
	}
	s.consumer = consumer
	return nil
}

// matches says whether a consumer does what the bridge relies on. One that does not is changed, or refused by the server.
func (s *source) matches(have jetstream.ConsumerConfig) bool {
	want := s.cfg.consumer()
	subjects := have.FilterSubjects
	if have.FilterSubject != "" {
		subjects = []string{have.FilterSubject}
	}
	return have.AckPolicy == want.AckPolicy && have.MaxDeliver == want.MaxDeliver && have.AckWait == want.AckWait && len(have.BackOff) == 0 &&
		slices.Equal(subjects, want.FilterSubjects)
}

// Fetch implements bridge.Source. It waits for one message and takes with it what else lies at the server, so that an idle
// stream adds no delay and a full one gives full groups. The bytes of a group are bounded.
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
	s.pending = 0 // unless a message says otherwise
	more, err := s.pull(ctx, n, min(s.cfg.Wait, gatherTime), jetstream.FetchMaxBytes(memory))
	return append(out, more...), err
}

// gatherTime bounds the wait for messages that lay at the server a moment ago: another process may have got them.
const gatherTime = 500 * time.Millisecond

// pull is one request to the server. The end of ctx and an empty answer are no errors.
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
		return nil, fmt.Errorf("a message without metadata: %w", err)
	}
	s.pending = meta.NumPending
	one := &message{source: s, msg: m, position: fmt.Sprintf("%s/%d", meta.Stream, meta.Sequence.Stream), deliveries: int(min(meta.NumDelivered, 1<<30)), stored: meta.Timestamp} // #nosec G115 -- bounded
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out[one] = true
	return one, nil
}

// AckAll implements bridge.GroupAcker: each message is confirmed by the server, all of them at once.
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

// Lag implements bridge.Lagger: what was not delivered yet, and what was delivered and not acknowledged.
func (s *source) Lag(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Dial)
	defer cancel()
	info, err := s.consumer.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(min(info.NumPending, 1<<62)) + int64(info.NumAckPending), nil // #nosec G115 -- bounded
}

// Close implements bridge.Source. What was delivered and not acknowledged is given back once, so that another process need
// not wait for AckWait.
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
			return fmt.Errorf("nats: giving back: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, min(s.cfg.Dial, 2*time.Second))
	defer cancel()
	if err := s.conn.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("nats: giving back: %w", err)
	}
	return nil
}

// message is one delivery.
type message struct {
	source     *source
	msg        jetstream.Msg
	position   string
	deliveries int
	stored     time.Time
}

func (m *message) Body() []byte     { return m.msg.Data() }
func (m *message) Position() string { return m.position }
func (m *message) Deliveries() int  { return m.deliveries }

// Header leaves out what the server and the client library write for themselves.
func (m *message) Header() map[string][]string {
	out := map[string][]string{}
	for name, values := range m.msg.Headers() {
		if len(values) > 0 && !strings.HasPrefix(strings.ToLower(name), "nats-expected-") {
			out[name] = values
		}
	}
	return bridge.Canonical(out)
}

// Time is when the server stored the message.
func (m *message) Time() time.Time { return m.stored }

// Ack waits for the server's word as long as for any request: a server that died meanwhile has forgotten the question.
func (m *message) Ack(ctx context.Context) error {
	if m.source.closed.Load() {
		return bridge.ErrStale
	}
	ctx, cancel := context.WithTimeout(ctx, m.source.cfg.Dial)
	defer cancel()
	err := m.msg.DoubleAck(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return err
	}
	m.source.mu.Lock()
	defer m.source.mu.Unlock()
	delete(m.source.out, m)
	return nil
}

func (m *message) Hold(context.Context) error {
	if m.source.closed.Load() {
		return bridge.ErrStale
	}
	return m.msg.InProgress()
}
