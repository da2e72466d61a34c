package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBroker redelivers what is not acknowledged, as brokers do, and misbehaves as it is told.
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
	ackErr    map[string]int // place: how many acknowledgements fail
	staleAcks int            // acknowledgements of messages of a closed incarnation
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

// fakeSource is one incarnation.
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

// fakeMessage lies at the broker; fakeDelivery is one delivery of it.
type fakeMessage struct {
	position  string
	body      []byte
	header    map[string][]string
	delivered int // delivered

	undated bool // the broker keeps no time
}

type fakeDelivery struct {
	*fakeMessage
	source *fakeSource
	times  int
}

func (m *fakeDelivery) Body() []byte                { return m.body }
func (m *fakeDelivery) Header() map[string][]string { return m.header }
func (m *fakeDelivery) Position() string            { return m.position }
func (m *fakeDelivery) Deliveries() int             { return m.times }

func (m *fakeDelivery) Time() time.Time {
	if m.undated {
		return time.Time{}
	}
	return stored
}

// stored is when the fake broker stored everything.
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
		return errors.New("the broker hung up")
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

// fakeDoor decides by refund id. Unknown ids are accepted once and replayed from then on.
type fakeDoor struct {
	mu     sync.Mutex
	known  map[string]int
	groups [][]string
	decide func(in intake.Intake, try int) *intake.Result // nil = the usual
	fail   func() error                                   // of the whole group
	tries  map[string]int
}

func newFakeDoor() *fakeDoor { return &fakeDoor{known: map[string]int{}, tries: map[string]int{}} }

func (d *fakeDoor) AcceptEach(_ context.Context, g []intake.Intake) ([]intake.Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		if err := d.fail(); err != nil {
			return nil, err
		}
	}
	out := make([]intake.Result, len(g))
	var names []string
	for i, in := range g {
		id := in.Refund.RefundID
		names = append(names, id)
		d.tries[id]++
		if d.decide != nil {
			if r := d.decide(in, d.tries[id]); r != nil {
				out[i] = *r
				continue
			}
		}
		d.known[id]++
		out[i].Verdict = intake.Taken
		if d.known[id] > 1 {
			out[i].Verdict, out[i].Cause = intake.Replayed, intake.CauseEvent
		}
		out[i].Refund = &refund.Refund{RefundRef: refund.RefundRef{RID: refund.RID{1}}}
	}
	d.groups = append(d.groups, names)
	return out, nil
}

// fakeDeadLetters keeps parked places and traces.
type fakeDeadLetters struct {
	mu     sync.Mutex
	parked map[string]string // place as parked: reason
	tries  map[string]int
	traces []intake.Delivery
	away   error
}

func newFakeDeadLetters() *fakeDeadLetters {
	return &fakeDeadLetters{parked: map[string]string{}, tries: map[string]int{}}
}

func (l *fakeDeadLetters) ParkUndecodable(ctx context.Context, t refund.TenantID, ev intake.EventID, reason string, p intake.Park) error {
	_, _, err := l.ParkBeforeRetry(ctx, t, ev, reason, p)
	return err
}

func (l *fakeDeadLetters) ParkBeforeRetry(_ context.Context, _ refund.TenantID, _ intake.EventID, reason string, p intake.Park) (refund.RID, int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil {
		return refund.RID{}, 0, l.away
	}
	l.parked[p.Position] = reason
	l.tries[p.Position]++
	return refund.RID{9}, l.tries[p.Position], nil
}

func (l *fakeDeadLetters) Trace(_ context.Context, d []intake.Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traces = append(l.traces, d...)
	return nil
}

func (l *fakeDeadLetters) reasons() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for _, reason := range l.parked {
		out[reason]++
	}
	return out
}

type fakeTenants struct{}

func (fakeTenants) BridgeTenant(_ context.Context, code string) (refund.Tenant, error) {
	if code != "demo" {
		return refund.Tenant{}, refund.ErrNotFound
	}
	return refund.Tenant{ID: 7, Code: code}, nil
}

// bench is a bridge with its fakes.
type harness struct {
	*testing.T
	*fakeBroker
	door *fakeDoor
	lot  *fakeDeadLetters
	b    *Bridge
}

// runBridge starts a bridge that retries quickly; tune changes its configuration.
func runBridge(t *testing.T, broker *fakeBroker, door *fakeDoor, tune func(*Config)) *harness {
	t.Helper()
	f := &harness{T: t, fakeBroker: broker, door: door, lot: newFakeDeadLetters()}
	cfg := Config{Name: "orders", Broker: "fake", Open: broker.open, Door: door, DeadLetters: f.lot, Tenants: fakeTenants{}, Allowed: []string{"demo"}, Retry: time.Millisecond, HoldEvery: 5 * time.Millisecond}
	if tune != nil {
		tune(&cfg)
	}
	var err error
	if f.b, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := f.b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stop() })
	return f
}

func (f *harness) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := f.b.Stop(ctx); err != nil {
		f.Errorf("stop: %v", err)
	}
}

// waitFor waits for a condition that is looked at under the broker's lock.
func (f *harness) waitFor(what string, ok func() bool) {
	f.Helper()
	end := time.NewTimer(20 * time.Second)
	defer end.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		f.mu.Lock()
		done := ok()
		f.mu.Unlock()
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			f.Fatalf("never happened: %s (left %d, acked %v, parked %v)", what, len(f.left), f.acked, f.lot.reasons())
		}
	}
}

func (f *harness) drained() {
	f.Helper()
	f.waitFor("everything acknowledged", func() bool { return len(f.left) == 0 })
}

// validMessage is a refund.requested that decodes.
func validMessage(id string) *fakeMessage {
	return &fakeMessage{position: "q/" + id, body: fmt.Appendf(nil, `{"specversion":"1.0","id":"evt-%[1]s","source":"/shop","type":"refund.requested","tenantid":"demo","data":{"refundId":"%[1]s","orderId":"o","paymentId":"p","amount":1,"currency":"USD"}}`, id)}
}

func validMessages(from, to int) []*fakeMessage {
	var out []*fakeMessage
	for i := from; i < to; i++ {
		out = append(out, validMessage(fmt.Sprintf("rf-%d", i)))
	}
	return out
}

func verdict(v intake.Verdict, code refund.Code) *intake.Result {
	return &intake.Result{Outcome: intake.Outcome{Verdict: v, Code: code}}
}

func failure(err error) *intake.Result { return &intake.Result{Err: err} }
