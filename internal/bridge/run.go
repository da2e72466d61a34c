package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/fault"
)

// run processes the messages of one Source in three stages: one group is fetched (fetching, run.go) while another is decided (storing,
// storing.go) and a third is acknowledged (acknowledging, acknowledging.go). The Door gets groups one after another, in the broker's
// order. A fourth goroutine renews the messages of all stages at the broker (renewing).
type run struct {
	b      *Bridge
	source Source
	worked atomic.Bool // a message was acknowledged, or a fetch found none

	ctx   context.Context // ends when the Source has to be closed
	abort context.CancelCauseFunc

	fetched chan []*item  // unbuffered: a waiting sender holds one group
	stored  chan []*item  // unbuffered
	ending  chan struct{} // closed when fetching has ended; every group was taken from fetched before
	stages  sync.WaitGroup

	mu       sync.Mutex
	held     map[*item]bool // fetched and not acknowledged yet: renewed at the broker
	fetchErr error
}

// errGivenBack means that a Source was closed with messages that are not stored. The broker delivers them again.
var errGivenBack = errors.New("bridge: closed with messages that could not be stored")

func newRun(b *Bridge, source Source) *run {
	return &run{b: b, source: source, fetched: make(chan []*item), stored: make(chan []*item), ending: make(chan struct{}),
		held: map[*item]bool{}}
}

// work runs the stages and returns when all of them have ended. Stop, or an error of Fetch, ends fetching; then the other stages finish
// the groups that were fetched. Open messages, which are busy or have failed, are not tried again: they stay unacknowledged, and
// Source.Close returns them to the broker. The first error is returned; nil = Stop ended the run in order.
func (r *run) work() error {
	r.ctx, r.abort = context.WithCancelCause(r.b.running)
	defer r.abort(nil)
	renew, stopRenewing := context.WithCancel(r.ctx)
	var renewer sync.WaitGroup
	renewer.Go(func() { r.renewing(renew) })
	r.stages.Go(r.fetching)
	r.stages.Go(r.acknowledging)
	err := r.storing()
	close(r.stored)
	if err != nil {
		r.abort(err)
	}
	r.stages.Wait()
	stopRenewing()
	renewer.Wait()
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetchErr
}

// fetching passes group after group to storing, also the messages that came with an error or with Stop. It ends with Stop, with an
// error of Fetch or with r.ctx, and closes ending and fetched.
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

// allowance waits until the rate limit allows a message and returns how many it allows now. false = ctx has ended.
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

// decode decodes messages and adds them to the held ones.
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
