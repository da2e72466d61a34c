package channel

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// watch cancels a call whose time is over: by the budget before the first byte, by the read timeout after it.
type watch struct {
	attempt     *attempt
	readTimeout time.Duration
	ctx         context.Context
	cancel      context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	readEnd time.Time // zero until the first byte was sent
	stopped bool
}

func (w *watch) start(parent context.Context) context.Context {
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(max(0, w.attempt.budget.left()), w.over)
	return w.ctx
}

// sent starts the read timeout. The attempt calls it while it holds its own lock.
func (w *watch) sent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readEnd = time.Now().Add(w.readTimeout)
	if !w.stopped {
		w.timer.Reset(w.readTimeout)
	}
}

func (w *watch) over() {
	if sent, _ := w.attempt.end(errPastBudget); !sent {
		w.cancel(errPastBudget)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// The budget's timer can fire while the first byte is being written. The read timeout has then just started.
	if left := time.Until(w.readEnd); left > 0 {
		if !w.stopped {
			w.timer.Reset(left)
		}
		return
	}
	w.cancel(errReadTimeout)
}

func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	w.timer.Stop()
	w.mu.Unlock()
	w.cancel(nil)
}

// failed classifies an error by what the attempt has sent.
func (w *watch) failed(err error) *CallError {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause // the reason for the cancellation, not the operation it interrupted
	}
	if reason := w.attempt.reason(); reason != nil {
		err = reason
	}
	sent, at := w.attempt.end(err)
	return &CallError{Sent: sent, SentAt: at, Err: err}
}

// watchedBody keeps the read timeout running until the body is closed.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.watch.failed(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	err := b.ReadCloser.Close()
	b.watch.stop()
	return err
}
