package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund/intake"
)

// run is the work of one incarnation, a pipeline of three: one group is being fetched while one is in the door and one is
// being acknowledged. Groups enter the door one after another, in the broker's order. A fourth hand renews at the broker
// whatever the other three hold, however long they take.
type run struct {
	b      *Bridge
	source Source
	worked atomic.Bool // something was acknowledged, or nothing was there to be

	ctx   context.Context // ends when the incarnation has to be given up
	abort context.CancelCauseFunc

	fetched chan []*item  // unbuffered: who waits here holds a group
	stored  chan []*item  // unbuffered
	ending  chan struct{} // closed: nothing more is fetched
	stages  sync.WaitGroup

	mu       sync.Mutex
	held     map[*item]bool // fetched and not acknowledged
	fetchErr error
}

// errGivenBack: the incarnation ended while messages were not stored; the broker gets them back.
var errGivenBack = errors.New("bridge: ended with messages that could not be stored")

func newRun(b *Bridge, source Source) *run {
	return &run{b: b, source: source, fetched: make(chan []*item), stored: make(chan []*item), ending: make(chan struct{}), held: map[*item]bool{}}
}

// work returns when every hand is idle. The bridge's stop ends fetching; the other stages then drain. nil = drained.
func (r *run) work() error {
	r.ctx, r.abort = context.WithCancelCause(r.b.running)
	defer r.abort(nil)
	holding, enough := context.WithCancel(r.ctx)
	var holder sync.WaitGroup
	holder.Go(func() { r.renewing(holding) })
	r.stages.Go(r.fetching)
	r.stages.Go(r.acknowledging)
	err := r.storing()
	close(r.stored)
	if err != nil {
		r.abort(err)
	}
	r.stages.Wait()
	enough()
	holder.Wait()
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetchErr
}

// fetching hands over group after group. What came with an error, or with the end of the bridge, is still handed over.
func (r *run) fetching() {
	defer close(r.fetched)
	defer close(r.ending)
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(r.b.accepting, cancel)()
	for ctx.Err() == nil {
		most, ok := r.b.allowance(ctx)
		if !ok {
			return
		}
		msgs, err := r.source.Fetch(ctx, most)
		if len(msgs) > 0 {
			fault.Point(fault.BridgeFetched)
		}
		r.b.limit.AllowN(time.Now(), len(msgs))
		if items := r.decode(msgs); len(items) > 0 {
			select {
			case r.fetched <- items:
			case <-r.ctx.Done():
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			r.mu.Lock()
			r.fetchErr = fmt.Errorf("fetching: %w", err)
			r.mu.Unlock()
			return
		}
		if err == nil && len(msgs) == 0 {
			r.worked.Store(true)
		}
	}
}

// allowance waits until the rate allows a message and says how many it allows by now.
func (b *Bridge) allowance(ctx context.Context) (int, bool) {
	if b.limit.Limit() == rate.Inf {
		return b.cfg.MaxBatch, true
	}
	for {
		tokens := b.limit.Tokens()
		if tokens >= 1 {
			return min(int(tokens), b.cfg.MaxBatch), true
		}
		if clock.Pause(ctx, time.Duration((1-tokens)/float64(b.limit.Limit())*float64(time.Second))) != nil {
			return 0, false
		}
	}
}

// decode turns messages into items and holds them.
func (r *run) decode(msgs []Message) []*item {
	items := make([]*item, 0, len(msgs))
	for _, m := range msgs {
		if m != nil {
			items = append(items, r.b.decode(m))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, it := range items {
		r.held[it] = true
	}
	return items
}

// storing takes groups through the door until there are none left, or until what it holds cannot be stored and the
// incarnation ends.
func (r *run) storing() error {
	var open []*item // busy or failing on their own: tried again beside their successors
	for {
		due, wait := split(open, r.b.cfg.Clock())
		group, more := r.next(open, due, wait)
		if !more {
			return nil
		}
		err := r.b.store(r.ctx, group)
		for tries := 1; err != nil; tries++ { // the database is away: hold, and fetch nothing
			if group = r.deliver(group); !r.waitForDatabase(r.b.backoff(tries), len(group), err) {
				return errGivenBack
			}
			err = r.b.store(r.ctx, group)
		}
		open = merge(open, r.deliver(group))
	}
}

// waitForDatabase waits before the next try of a group; false = it is given back.
func (r *run) waitForDatabase(d time.Duration, held int, err error) bool {
	r.b.log.Warn("messages held, the database does not take them", "messages", held, "again", d, "error", err.Error())
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.ending:
	case <-r.ctx.Done():
	}
	return false
}

// next gives the group to be stored: what came, and what of open is due again. When too much is open nothing new is taken.
// false = that was all.
func (r *run) next(open, due []*item, wait time.Duration) ([]*item, bool) {
	fetched := r.fetched
	if len(open) >= r.b.cfg.MaxBatch {
		fetched = nil
	}
	var again <-chan time.Time
	if len(open) > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		again = t.C
	}
	select {
	case group, ok := <-fetched:
		return append(due, group...), ok
	case <-again:
		return due, true
	case <-r.ending:
	case <-r.ctx.Done():
		return nil, false
	}
	group, ok := <-r.fetched // fetching has ended: the last group, if there is one, or closed
	return group, ok
}

// deliver hands what is durable to be acknowledged and returns the rest.
func (r *run) deliver(group []*item) (open []*item) {
	var done []*item
	for _, it := range group {
		if it.done {
			done = append(done, it)
		} else {
			open = append(open, it)
		}
	}
	if len(done) > 0 {
		select {
		case r.stored <- done:
		case <-r.ctx.Done():
		}
	}
	return open
}

// acknowledging traces and acknowledges what is durable. The first failed acknowledgement ends the incarnation: what was not
// acknowledged comes again and is a replay.
func (r *run) acknowledging() {
	for done := range r.stored {
		if r.ctx.Err() != nil {
			continue
		}
		fault.Point(fault.BridgeStored)
		r.trace(done)
		fault.Point(fault.BridgeTraced)
		if err := r.acknowledge(done); err != nil {
			r.b.cfg.Observe.AckFailed(r.b.cfg.Name)
			r.abort(fmt.Errorf("acknowledging: %w", err))
			continue
		}
		r.worked.Store(true)
		fault.Point(fault.BridgeAcked)
		r.mu.Lock()
		for _, it := range done {
			delete(r.held, it)
		}
		r.mu.Unlock()
	}
}

// traceTime bounds what the trace may cost.
const traceTime = 5 * time.Second

// trace notes the deliveries of a group, before they are acknowledged: after a crash between the two the broker delivers
// again, and both are true.
func (r *run) trace(done []*item) {
	ctx, cancel := context.WithTimeout(r.ctx, traceTime)
	defer cancel()
	rows := make([]intake.Delivery, len(done))
	for i, it := range done {
		rows[i] = intake.Delivery{Tenant: it.in.Tenant.ID, Event: it.in.Event, Transport: it.in.Transport + "#" + strconv.Itoa(it.msg.Deliveries()),
			Outcome: it.outcome, Cause: it.cause, RID: it.rid, ReplayBatch: it.in.ReplayBatch}
		r.b.cfg.Observe.Delivered(r.b.cfg.Name, it.outcome, it.duplicate)
		if it.parked != "" {
			r.b.cfg.Observe.Parked(r.b.cfg.Name, it.parked)
		}
	}
	if err := r.b.cfg.DeadLetters.Trace(ctx, rows); err != nil {
		r.b.log.Warn("deliveries not traced", "messages", len(done), "error", err.Error())
	}
}

func (r *run) acknowledge(done []*item) error {
	ctx, cancel := context.WithTimeout(r.ctx, r.b.cfg.Patience)
	defer cancel()
	msgs := make([]Message, len(done))
	for i, it := range done {
		msgs[i] = it.msg
	}
	if all, can := r.source.(GroupAcker); can {
		return all.AckAll(ctx, msgs)
	}
	for _, m := range msgs {
		if err := m.Ack(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.Position(), err)
		}
	}
	return nil
}

// renewing renews everything that is held. A message that cannot be renewed comes again by itself: that is no failure.
func (r *run) renewing(ctx context.Context) {
	for clock.Pause(ctx, r.b.cfg.HoldEvery) == nil {
		r.mu.Lock()
		held := make([]*item, 0, len(r.held))
		for it := range r.held {
			held = append(held, it)
		}
		r.mu.Unlock()
		for _, it := range held {
			if err := it.msg.Hold(ctx); err != nil && ctx.Err() == nil {
				r.b.log.Warn("a held message could not be renewed", "place", it.msg.Position(), "error", err.Error())
				break
			}
		}
	}
}

// split gives the open items that are due again, and how long until the first one is.
func split(open []*item, now time.Time) (due []*item, wait time.Duration) {
	wait = time.Hour
	for _, it := range open {
		left := it.retryAt.Sub(now)
		if left <= 0 {
			due = append(due, it)
		}
		wait = min(wait, max(left, 0))
	}
	return due, wait
}

// merge is what is open after a group was tried: its own rest, and what was not part of it.
func merge(open, rest []*item) []*item {
	in := map[*item]bool{}
	var out []*item
	for _, it := range append(rest, open...) {
		if !in[it] && !it.done {
			in[it] = true
			out = append(out, it)
		}
	}
	return out
}
