package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// fakeBroker redelivers unacknowledged messages, and fails as the test configures it.
type fakeBroker struct {
	mu        sync.Mutex
	left      []*fakeMessage // not acknowledged, in order
	given     map[*fakeMessage]bool
	openings  int
	fetches   int
	holds     int
	closes    int
	acked     []string
	changed   chan struct{}
	fetchErr  []error // of the next fetches, given together with messages
	openErr   []error
	ackErr    map[string]int // by position: how many acknowledgements fail
	staleAcks int            // acknowledgements of messages of a closed source
}

func newFakeBroker(msgs ...*fakeMessage) *fakeBroker {
	return &fakeBroker{left: msgs, given: map[*fakeMessage]bool{}, changed: make(chan struct{}, 1), ackErr: map[string]int{}}
}

func (b *fakeBroker) touch() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

func (b *fakeBroker) open(context.Context) (Source, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.openings++
	if len(b.openErr) > 0 {
		err := b.openErr[0]
		if b.openErr = b.openErr[1:]; err != nil {
			return nil, err
		}
	}
	b.given = map[*fakeMessage]bool{}
	return &fakeSource{b: b}, nil
}

func (b *fakeBroker) publish(msgs ...*fakeMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = append(b.left, msgs...)
	b.touch()
}

// fakeSource is one Source of a fakeBroker.
type fakeSource struct {
	b      *fakeBroker
	closed bool
}

func (s *fakeSource) Fetch(ctx context.Context, most int) ([]Message, error) {
	for {
		s.b.mu.Lock()
		s.b.fetches++
		var out []Message
		for _, m := range s.b.left {
			if !s.b.given[m] && len(out) < most {
				s.b.given[m] = true
				m.delivered++
				out = append(out, &fakeDelivery{fakeMessage: m, source: s, times: m.delivered})
			}
		}
		var err error
		if len(s.b.fetchErr) > 0 {
			err, s.b.fetchErr = s.b.fetchErr[0], s.b.fetchErr[1:]
		}
		s.b.mu.Unlock()
		if len(out) > 0 || err != nil {
			return out, err
		}
		select {
		case <-s.b.changed:
		case <-time.After(5 * time.Millisecond):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *fakeSource) Close(context.Context) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.closed = true
	s.b.closes++
	return nil
}

// fakeMessage is a message of the broker; fakeDelivery is one delivery of it.
type fakeMessage struct {
	position  string
	body      []byte
	header    map[string][]string
	delivered int // delivered

	undated bool // the broker has no time
	bound   Bound
}

type fakeDelivery struct {
	*fakeMessage
	source *fakeSource
	times  int
}

func (m *fakeDelivery) Body() []byte                { return m.body }
func (m *fakeDelivery) Header() map[string][]string { return m.header }
func (m *fakeDelivery) Position() string            { return m.position }
func (m *fakeDelivery) Bound() Bound                { return m.bound }
func (m *fakeDelivery) Deliveries() int             { return m.times }

func (m *fakeDelivery) Time() time.Time {
	if m.undated {
		return time.Time{}
	}
	return stored
}

// stored is the time at which the broker stored every message.
var stored = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func (m *fakeDelivery) Ack(context.Context) error {
	b := m.source.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.source.closed {
		b.staleAcks++
		return ErrStale
	}
	if b.ackErr[m.position] > 0 {
		b.ackErr[m.position]--
		return errors.New("connection lost")
	}
	for i, left := range b.left {
		if left == m.fakeMessage {
			b.left = append(b.left[:i:i], b.left[i+1:]...)
			b.acked = append(b.acked, m.position)
			return nil
		}
	}
	return nil // acknowledged before
}

func (m *fakeDelivery) Hold(context.Context) error {
	m.source.b.mu.Lock()
	defer m.source.b.mu.Unlock()
	m.source.b.holds++
	return nil
}

// validMessage is a refund.requested that can be decoded.
func validMessage(id string) *fakeMessage {
	return &fakeMessage{position: "q/" + id,
		body: fmt.Appendf(nil, `{"specversion":"1.0","id":"evt-%[1]s","source":"/shop","type":"refund.requested","tenantid":"demo",`+
			`"data":{"refundId":"%[1]s","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}}`, id)}
}

func validMessages(from, to int) []*fakeMessage {
	var out []*fakeMessage
	for i := from; i < to; i++ {
		out = append(out, validMessage(fmt.Sprintf("rf-%d", i)))
	}
	return out
}
