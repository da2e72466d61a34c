package intake

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// GroupAccepter accepts one group in one transaction. Lost outcomes are to be tried again with the same intakes.
// Errors: ErrCommitUnknown, ErrUnavailable; any other error is surprising and concerns the group as a whole.
type GroupAccepter interface {
	AcceptGroup(ctx context.Context, g []Intake) ([]Outcome, error)
}

// DoorConfig configures a Door. Gate and NewRID are needed.
type DoorConfig struct {
	Accepter  GroupAccepter
	NewRID    func() refund.RID
	MaxGroup  int           // items of one transaction; default 128
	Queue     int           // single requests that may wait; default 4096, more = ErrOverloaded
	Flushers  int           // groups under way at once; default 2
	Direct    int           // ready-made groups under way at once; default 4
	BusyAfter time.Duration // a row locked for longer makes an item Busy; default 2 s
	Patience  time.Duration // of one transaction; default 10 s
	Clock     func() time.Time
	Logger    *slog.Logger
	// Observe is told every outcome that leaves the door and how long it took; nil = nobody.
	Observe func(in Intake, o Outcome, took time.Duration)
	// CommitUnknown is told when a COMMIT's answer was lost; nil = nobody.
	CommitUnknown func()
}

// Door is the one way in. Single requests gather into groups by themselves: whatever queued while the previous group
// committed forms the next one, so an idle door adds no wait.
type Door struct {
	cfg    DoorConfig
	queue  chan *request
	groups chan struct{}
	stop   chan struct{}
	done   sync.WaitGroup

	mu     sync.RWMutex // held for reading while a ticket enters the queue
	closed bool
}

// NewDoor opens a door; Stop shuts it.
func NewDoor(cfg DoorConfig) *Door {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&cfg.MaxGroup, 128)
	def(&cfg.Queue, 4096)
	def(&cfg.Flushers, 2)
	def(&cfg.Direct, 4)
	if cfg.BusyAfter <= 0 {
		cfg.BusyAfter = 2 * time.Second
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 10 * time.Second
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
	if cfg.CommitUnknown == nil {
		cfg.CommitUnknown = func() {}
	}
	d := &Door{cfg: cfg, queue: make(chan *request, cfg.Queue), groups: make(chan struct{}, cfg.Direct), stop: make(chan struct{})}
	for range cfg.Flushers {
		d.done.Add(1)
		go d.runQueue()
	}
	return d
}

// Stop lets what is inside finish and refuses what comes later with ErrUnavailable.
func (d *Door) Stop() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
	d.mu.Unlock()
	d.done.Wait()
	for len(d.queue) > 0 { // what was about to try again
		(<-d.queue).fail(refund.ErrUnavailable)
	}
}

// Accept takes intakes through the door and returns one outcome for each, in order. No outcome is ever Lost.
// An error means that nothing is known to be decided: ErrUnavailable, ErrOverloaded, or the caller's context. The
// caller may repeat the same intakes; that is what they carry identities for.
func (d *Door) Accept(ctx context.Context, g []Intake) ([]Outcome, error) {
	results, err := d.AcceptEach(ctx, g)
	if err != nil {
		return nil, err
	}
	out := make([]Outcome, len(results))
	for i, r := range results {
		if r.Err != nil {
			return nil, r.Err // a group's caller repeats the whole group
		}
		out[i] = r.Outcome
	}
	return out, nil
}

// Result is the fate of one item: an outcome, or the error that kept it from having one.
type Result struct {
	Outcome
	Err error
}

// AcceptEach is Accept for callers that can repeat single items: an item that the database refuses (ErrBadData) does not
// hide what became of its neighbours. The error is about all of them.
func (d *Door) AcceptEach(ctx context.Context, g []Intake) ([]Result, error) {
	tickets := make([]*request, len(g))
	for i, in := range g {
		if in.RID.IsZero() {
			in.RID = d.cfg.NewRID()
		}
		tickets[i] = &request{in: in, since: d.cfg.Clock(), answered: make(chan struct{})}
	}
	if len(tickets) == 1 {
		if err := d.enqueue(tickets[0]); err != nil {
			return nil, err
		}
	} else if err := d.submitGroup(ctx, tickets); err != nil {
		return nil, err
	}
	return d.await(ctx, tickets)
}

// enqueue puts a single request into the bounded queue.
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

// submitGroup takes a ready-made group through, as few transactions as its size allows, in order.
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
		for rest := d.process(ts[:n]); len(rest) > 0; rest = d.process(rest) { //nolint:contextcheck // a caller who leaves does not undo what his group shares with others
			if !pause(d.stop) {
				failAll(append(rest, ts[n:]...))
				return nil
			}
		}
		ts = ts[n:]
	}
	return nil
}

// begin makes Stop wait for a group that walks in; false = the door is shut.
func (d *Door) begin() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if !d.closed {
		d.done.Add(1)
	}
	return !d.closed
}

// await waits until every ticket is told.
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

// runQueue is one of the goroutines that turn the queue into groups.
func (d *Door) runQueue() {
	defer d.done.Done()
	for {
		select {
		case t := <-d.queue:
			d.retryLost(d.process(d.gather(t)))
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

// drain answers what is still queued when the door shuts.
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
