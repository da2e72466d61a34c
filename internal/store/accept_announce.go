package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// PipelineEnqueuer is an Enqueuer whose jobs travel in the pipeline of the accepting transaction. Workers are notified after COMMIT, off
// the request path, so that COMMIT waits for no notification of another transaction.
type PipelineEnqueuer interface {
	Enqueuer
	// QueueJobs adds the insert of the jobs to b and names their queues.
	QueueJobs(b *pgx.Batch, w []refund.Wakeup) (queues []string, err error)
	// Announce notifies the fetchers of queues. A fetcher that misses it finds the jobs with its next poll.
	Announce(ctx context.Context, conn *pgx.Conn, queues []string) error
}

// announceEvery is the shortest time between two announcements. The next announcement covers the commits in between.
const announceEvery = 10 * time.Millisecond

// announcer notifies the workers' fetchers of committed jobs, off the request path. It collects the queues that got jobs and announces them
// at most once per announceEvery, in one goroutine that ends when nothing is left.
type announcer struct {
	mu      sync.Mutex
	queues  []string // to be announced
	running bool
	closed  bool
	stop    chan struct{}
	done    sync.WaitGroup
}

func newAnnouncer() *announcer { return &announcer{stop: make(chan struct{})} }

// announce notes queues with new jobs. At most one goroutine announces at a time; it ends when nothing is left.
func (s *Store) announce(e PipelineEnqueuer, queues []string) {
	a := s.announcer
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range queues {
		if !slices.Contains(a.queues, q) {
			a.queues = append(a.queues, q)
		}
	}
	if a.running || a.closed || len(a.queues) == 0 {
		return
	}
	a.running = true
	a.done.Go(func() { s.announceQueues(e) })
}

func (s *Store) announceQueues(e PipelineEnqueuer) {
	for {
		queues, more := s.announcer.take()
		if !more {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.LockTimeout)
		conn, err := s.pool.Acquire(ctx)
		if err == nil {
			err = e.Announce(ctx, conn.Conn(), queues)
			conn.Release()
		}
		cancel()
		if err != nil {
			s.log.Warn("new jobs not announced; workers find them with their next poll", "error", err)
		}
		timer := time.NewTimer(announceEvery)
		select {
		case <-timer.C:
		case <-s.announcer.stop:
			timer.Stop()
		}
	}
}

// take returns the queues to announce. more is false when nothing is left or the announcer is closed.
func (a *announcer) take() (queues []string, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	queues, a.queues = a.queues, nil
	a.running = len(queues) > 0 && !a.closed
	return queues, a.running
}

// close stops the announcer and waits for it. Workers find jobs that were not announced with their next poll.
func (a *announcer) close() {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.stop)
	}
	a.mu.Unlock()
	a.done.Wait()
}
