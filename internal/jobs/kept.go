package jobs

import (
	"context"
	"sync"

	"github.com/refundry/refundry/internal/clock"
)

// Bounds of the answers that are kept. An answer beyond them is lost, as it is when the process is killed: the channel is asked
// again then, or a case opens.
const (
	maxKept      = 10_000
	maxKeptBytes = 64 << 20
)

// keptAnswers has the answers that could not be stored within Times.Enter. They are tried again, the oldest first, until the
// process ends.
type keptAnswers struct {
	mu    sync.Mutex
	list  []answered
	bytes int
	added chan struct{} // has a token when the list may have grown
}

func newKeptAnswers() *keptAnswers { return &keptAnswers{added: make(chan struct{}, 1)} }

// add returns false when there is no room.
func (k *keptAnswers) add(a answered) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) >= maxKept || k.bytes+a.size() > maxKeptBytes {
		return false
	}
	k.list, k.bytes = append(k.list, a), k.bytes+a.size()
	select {
	case k.added <- struct{}{}:
	default:
	}
	return true
}

// first returns the oldest answer.
func (k *keptAnswers) first() (answered, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) == 0 {
		return answered{}, false
	}
	return k.list[0], true
}

// drop removes the oldest answer. Only the goroutine that calls first calls it.
func (k *keptAnswers) drop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bytes -= k.list[0].size()
	k.list[0] = answered{}
	k.list = k.list[1:]
}

func (k *keptAnswers) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.list)
}

// keep keeps an answer that could not be stored, and logs its essentials: the log outlives the process.
func (r *Runner) keep(ctx context.Context, a answered, cause error) {
	if !r.kept.add(a) {
		r.log.ErrorContext(ctx, "an answer could not be stored and is lost: too many are kept already", "answer", a, "error", cause)
		r.answerLost()
		return
	}
	r.log.ErrorContext(ctx, "an answer could not be stored and is kept", "answer", a, "error", cause)
	r.tellKept()
}

// storeKept stores kept answers as they come, until ctx ends.
func (r *Runner) storeKept(ctx context.Context) {
	for {
		select {
		case <-r.kept.added:
			r.emptyKept(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// emptyKept tries until no answer is kept, or until ctx ends.
func (r *Runner) emptyKept(ctx context.Context) {
	retry := storeBackoff()
	for ctx.Err() == nil {
		a, ok := r.kept.first()
		if !ok {
			return
		}
		try, cancel := context.WithTimeout(ctx, r.cfg.Times.Enter)
		err := r.storeOnce(try, a)
		cancel()
		if isOutage(err) || ctx.Err() != nil && err != nil {
			_ = clock.Pause(ctx, retry.Next()) // the loop ends with ctx
			continue
		}
		retry.Reset()
		r.kept.drop()
		r.tellKept()
		if err != nil {
			r.log.ErrorContext(ctx, "a kept answer was refused by the database", "answer", a, "error", err)
			r.answerLost()
			continue
		}
		r.log.InfoContext(ctx, "a kept answer is stored", "answer", a)
	}
}

// giveUpKept logs the answers that the process takes with it.
func (r *Runner) giveUpKept(ctx context.Context) {
	for {
		a, ok := r.kept.first()
		if !ok {
			return
		}
		r.kept.drop()
		r.log.ErrorContext(ctx, "a kept answer is lost: the process ends before the database is back", "answer", a)
		r.answerLost()
		r.tellKept()
	}
}

func (r *Runner) tellKept() {
	if r.cfg.Observer != nil {
		r.cfg.Observer.Kept(r.kept.count())
	}
}

func (r *Runner) answerLost() {
	if r.cfg.Observer != nil {
		r.cfg.Observer.Lost()
	}
}
