package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// connect connects until ctx ends.
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

// subscribe finds the stream and the consumer, and creates missing ones where the configuration allows it.
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
			return fmt.Errorf("create stream %s: %w", s.cfg.Stream, err)
		}
		s.cfg.Logger.Info("stream created", "stream", s.cfg.Stream, "subjects", s.cfg.Subjects)
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

// matches reports whether a consumer has the configuration that the bridge relies on.
func (s *source) matches(have jetstream.ConsumerConfig) bool {
	want := s.cfg.consumer()
	subjects := have.FilterSubjects
	if have.FilterSubject != "" {
		subjects = []string{have.FilterSubject}
	}
	return have.AckPolicy == want.AckPolicy && have.MaxDeliver == want.MaxDeliver && have.AckWait == want.AckWait && len(have.BackOff) == 0 &&
		slices.Equal(subjects, want.FilterSubjects)
}
