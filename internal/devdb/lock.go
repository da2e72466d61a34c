package devdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/refundry/refundry/internal/clock"
)

// Lock is an advisory lock on a file. The kernel releases it when the process ends, also after a kill -9.
type Lock struct{ f *os.File }

// ErrLocked means that another process, or another part of this process, holds the lock.
var ErrLocked = errors.New("locked by another process")

// TryLock takes the lock at path or returns ErrLocked at once. A lock has several shared holders or one exclusive holder.
func TryLock(path string, shared bool) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if err != nil {
		closeErr := f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), closeErr)
	}
	return &Lock{f: f}, nil
}

// WaitLock takes the lock at path, exclusive unless shared, and waits for it until ctx ends.
func WaitLock(ctx context.Context, path string, shared bool) (*Lock, error) {
	for {
		l, err := TryLock(path, shared)
		if !errors.Is(err, ErrLocked) {
			return l, err
		}
		if err := clock.Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, fmt.Errorf("waiting for %s: %w", path, errors.Join(ErrLocked, err))
		}
	}
}

// Release releases the lock. A nil lock does nothing.
func (l *Lock) Release() error {
	if l == nil || l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
