package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// GroupAccepter accepts one group in one transaction. Intakes with the outcome NotLocked must be tried again unchanged.
// Errors: ErrUnavailable; any other error is unexpected and concerns the whole group.
type GroupAccepter interface {
	AcceptGroup(ctx context.Context, g []Intake) ([]Outcome, error)
}

// DoorConfig configures a Door. Accepter and NewRID are required.
type DoorConfig struct {
	Accepter           GroupAccepter
	NewRID             func() refund.RID
	MaxGroup           int           // intakes of one transaction; default 128
	Queue              int           // single intakes that may wait; default 4096, beyond it ErrOverloaded
	QueueWorkers       int           // groups from the queue in progress at once; default 2
	CallerGroups       int           // groups of callers in progress at once; default 4
	BusyAfter          time.Duration // an intake whose row is locked for longer is Busy; default 2 s
	TransactionTimeout time.Duration // timeout of one transaction; default 10 s
	Clock              func() time.Time
	Logger             *slog.Logger
	// Observe is called with every outcome and its duration; nil = not called.
	Observe func(in Intake, o Outcome, took time.Duration)
}

// Door accepts all intakes, from every transport. Single intakes form groups: those that arrived while the previous group was
// committed are the next group, so that an idle Door adds no wait. Its methods are here and in door_groups.go.
type Door struct {
	cfg    DoorConfig
	queue  chan *request
	groups chan struct{}
	stop   chan struct{}
	done   sync.WaitGroup

	mu     sync.RWMutex // held for reading while an intake enters the queue
	closed bool
}

// NewDoor returns a Door that accepts intakes until Stop.
func NewDoor(cfg DoorConfig) *Door {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&cfg.MaxGroup, 128)
	def(&cfg.Queue, 4096)
	def(&cfg.QueueWorkers, 2)
	def(&cfg.CallerGroups, 4)
	if cfg.BusyAfter <= 0 {
		cfg.BusyAfter = 2 * time.Second
	}
	if cfg.TransactionTimeout <= 0 {
		cfg.TransactionTimeout = 10 * time.Second
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Intake, Outcome, time.Duration) {}
	}
	d := &Door{cfg: cfg, queue: make(chan *request, cfg.Queue), groups: make(chan struct{}, cfg.CallerGroups), stop: make(chan struct{})}
	for range cfg.QueueWorkers {
		d.done.Add(1)
		go d.runQueue()
	}
	return d
}

// Stop completes the intakes in progress and refuses later ones with ErrUnavailable.
func (d *Door) Stop() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
	d.mu.Unlock()
	d.done.Wait()
	for len(d.queue) > 0 { // intakes that were about to be tried again
		(<-d.queue).fail(refund.ErrUnavailable)
	}
}

// Accept decides intakes and returns one outcome for each, in order. No outcome is NotLocked. Errors: ErrUnavailable,
// ErrOverloaded, ErrBadData, that of the context, or an unexpected one of the accepter. After an error each intake may or may
// not have been accepted. Except after ErrBadData the caller may repeat the same intakes: their event ids make repeats safe.
//
// The accepter repeats a COMMIT whose outcome is unknown. Only when the repeats fail too, the error is ErrUnavailable joined
// with ErrCommitUnknown.
func (d *Door) Accept(ctx context.Context, g []Intake) ([]Outcome, error) {
	results, err := d.AcceptEach(ctx, g)
	if err != nil {
		return nil, err
	}
	out := make([]Outcome, len(results))
	for i, r := range results {
		if r.Err != nil {
			return nil, r.Err // the caller repeats the whole group
		}
		out[i] = r.Outcome
	}
	return out, nil
}

// Result is the outcome of one intake, or the error that prevented one.
type Result struct {
	Outcome
	Err error
}

// AcceptEach is Accept for callers that can repeat single intakes: one that the database refuses (ErrBadData) does not hide
// the outcomes of the others. The returned error concerns all intakes. An intake without RID gets one in the Door's copy, which
// is the same in all its tries; the caller's intake stays unchanged.
func (d *Door) AcceptEach(ctx context.Context, g []Intake) ([]Result, error) {
	requests := make([]*request, len(g))
	for i, in := range g {
		if in.RID.IsZero() {
			in.RID = d.cfg.NewRID()
		}
		requests[i] = &request{in: in, since: d.cfg.Clock(), answered: make(chan struct{})}
	}
	if len(requests) == 1 {
		if err := d.enqueue(requests[0]); err != nil {
			return nil, err
		}
	} else if err := d.submitGroup(ctx, requests); err != nil {
		return nil, err
	}
	return d.await(ctx, requests)
}

// enqueue adds a single intake to the bounded queue.
func (d *Door) enqueue(t *request) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return refund.ErrUnavailable
	}
	select {
	case d.queue <- t:
		return nil
	default:
		return refund.ErrOverloaded
	}
}

// submitGroup processes a caller's group in order, in as few transactions as its size allows.
func (d *Door) submitGroup(ctx context.Context, ts []*request) error {
	if !d.begin() {
		return refund.ErrUnavailable
	}
	defer d.done.Done()
	select {
	case d.groups <- struct{}{}:
		defer func() { <-d.groups }()
	case <-ctx.Done():
		return ctx.Err()
	case <-d.stop:
		return refund.ErrUnavailable
	}
	for len(ts) > 0 {
		n := min(len(ts), d.cfg.MaxGroup)
		for rest := d.process(ts[:n]); len(rest) > 0; rest = d.process(rest) { //nolint:contextcheck // a group is completed although its caller has left
			if !pause(d.stop) {
				failAll(append(rest, ts[n:]...))
				return nil
			}
		}
		ts = ts[n:]
	}
	return nil
}

// begin makes Stop wait for a caller's group. It returns false after Stop.
func (d *Door) begin() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.closed {
		d.done.Add(1)
	}
	return !d.closed
}

// await waits until every intake is answered.
func (d *Door) await(ctx context.Context, ts []*request) ([]Result, error) {
	out := make([]Result, len(ts))
	for i, t := range ts {
		select {
		case <-t.answered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		out[i] = Result{Outcome: t.outcome, Err: t.err}
	}
	return out, nil
}

// runQueue forms groups from the queue until Stop.
func (d *Door) runQueue() {
	defer d.done.Done()
	for {
		select {
		case t := <-d.queue:
			d.retryNotLocked(d.process(d.gather(t)))
		case <-d.stop:
			d.drain()
			return
		}
	}
}

func (d *Door) gather(first *request) []*request {
	ts := []*request{first}
	for len(ts) < d.cfg.MaxGroup {
		select {
		case t := <-d.queue:
			ts = append(ts, t)
		default:
			return ts
		}
	}
	return ts
}

// drain answers the intakes that are still queued at Stop.
func (d *Door) drain() {
	for {
		select {
		case t := <-d.queue:
			failAll(d.process(d.gather(t)))
		default:
			return
		}
	}
}
