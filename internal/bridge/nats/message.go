package nats

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/refundry/refundry/internal/bridge"
)

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

// Header implements bridge.Message. It leaves out headers of the client library.
func (m *message) Header() map[string][]string {
	out := map[string][]string{}
	for name, values := range m.msg.Headers() {
		if len(values) > 0 && !strings.HasPrefix(strings.ToLower(name), "nats-expected-") {
			out[name] = values
		}
	}
	return bridge.Canonical(out)
}

// Bound implements bridge.Message: the server checks the permission to publish to a subject.
func (m *message) Bound() bridge.Bound { return boundOf(m.source.cfg.SubjectForm, m.msg.Subject()) }

// Time implements bridge.Message: the time when the server stored the message.
func (m *message) Time() time.Time { return m.stored }

// Ack implements bridge.Message. Its timeout is that of any request: a server that was restarted does not answer old ones.
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
