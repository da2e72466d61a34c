package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// PipelineEnqueuer is an Enqueuer whose jobs fit into a pipeline that is sent anyway, and whose workers are told afterwards:
// the accepting transaction gets no round trip more for its jobs, and its COMMIT waits for no other's announcement.
type PipelineEnqueuer interface {
	Enqueuer
	// QueueJobs adds the insert of the jobs to b and names their queues.
	QueueJobs(b *pgx.Batch, w []refund.Wakeup) (queues []string, err error)
	// Announce tells fetchers about new jobs in queues. Without it they find them at their next look.
	Announce(ctx context.Context, conn *pgx.Conn, queues []string) error
}

// announceEvery is the shortest time between two announcements; what commits in between is told by the next one.
const announceEvery = 10 * time.Millisecond

// announcer tells fetchers of committed jobs, behind the back of those who wait for the commit.
type announcer struct {
	mu      sync.Mutex
	queues  []string // to be told
	running bool
	closed  bool
	stop    chan struct{}
	done    sync.WaitGroup
}

func newAnnouncer() *announcer { return &announcer{stop: make(chan struct{})} }

// announce notes queues with new jobs. One goroutine at a time tells them, and ends when there is nothing more to tell.
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
			s.log.Warn("new jobs not announced, workers find them at their next look", "error", err)
		}
		timer := time.NewTimer(announceEvery)
		select {
		case <-timer.C:
		case <-s.announcer.stop:
			timer.Stop()
		}
	}
}

// take gives what is to be told, or ends the telling.
func (a *announcer) take() (queues []string, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	queues, a.queues = a.queues, nil
	a.running = len(queues) > 0 && !a.closed
	return queues, a.running
}

// close ends it; jobs that were not announced are found all the same.
func (a *announcer) close() {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.stop)
	}
	a.mu.Unlock()
	a.done.Wait()
}
