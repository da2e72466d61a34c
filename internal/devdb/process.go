package devdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/refundry/refundry/internal/clock"
)

// stopServer stops the server with this pid and waits for its end. It signals only while the pid file of the data directory
// has this pid, or while the process is a child that has not written the file yet.
func stopServer(ctx context.Context, f files, pid int) error {
	if !serves(f, pid) {
		return nil
	}
	if err := signal(pid, syscall.SIGINT); err != nil {
		return err
	}
	for serves(f, pid) {
		if err := clock.Pause(ctx, 10*time.Millisecond); err != nil {
			return errors.Join(err, stopAtOnce(context.WithoutCancel(ctx), f, pid))
		}
	}
	return nil
}

// stopAtOnce stops a server that does not end in time. SIGQUIT makes it exit without a checkpoint; committed work is in its
// log.
func stopAtOnce(ctx context.Context, f files, pid int) error {
	if err := signal(pid, syscall.SIGQUIT); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for serves(f, pid) {
		if clock.Pause(ctx, 10*time.Millisecond) != nil {
			return fmt.Errorf("process %d does not end", pid)
		}
	}
	return nil
}

// serves reports whether pid is running and is the server of the data directory.
func serves(f files, pid int) bool {
	if !alive(pid) {
		return false
	}
	pf, ok := f.readPidFile()
	if ok {
		return pf.pid == pid
	}
	// Without the file, only a child of this process is known to be the server: it has not written the file yet, or has
	// removed it and is about to end.
	return isChild(pid)
}

func signal(pid int, sig syscall.Signal) error {
	err := syscall.Kill(pid, sig)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d: %w", pid, err)
	}
	return nil
}

// alive reports whether the process runs. A zombie does not. It also reaps a child, since nothing else waits for the
// server.
func alive(pid int) bool {
	if reap(pid) {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	return !zombie(pid)
}

// reap reaps an ended child and reports whether it did.
func reap(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid
}

// isChild reports whether pid is a running child of this process.
func isChild(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == 0
}

// zombie reports whether the process is a zombie, on Linux; elsewhere it returns false.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// "pid (name) state …"; the name can contain anything.
	i := bytes.LastIndexByte(b, ')')
	return i >= 0 && i+2 < len(b) && b[i+2] == 'Z'
}
