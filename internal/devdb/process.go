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

// stopServer asks the server with this pid to end and waits until it has. It
// signals only while the pid file of the data directory names that process, or
// while the process is a child that has not got so far as to write the file.
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

// stopAtOnce is for a server that does not end in time. SIGQUIT makes it leave
// without a checkpoint; committed work is in its log.
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

// serves tells whether pid lives and is the server of the data directory.
func serves(f files, pid int) bool {
	if !alive(pid) {
		return false
	}
	pf, ok := f.readPidFile()
	if ok {
		return pf.pid == pid
	}
	// Without the file, only a child of ours is known to be the server: it has
	// not written the file yet, or has removed it and is about to end.
	return isChild(pid)
}

func signal(pid int, sig syscall.Signal) error {
	err := syscall.Kill(pid, sig)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %d: %w", pid, err)
	}
	return nil
}

// alive tells whether the process runs. A zombie does not; one of our own is
// reaped by the way, since nothing else here waits for the server.
func alive(pid int) bool {
	if reap(pid) {
		return false
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	return !zombie(pid)
}

// reap collects an ended child and reports whether it did.
func reap(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid
}

// isChild tells whether pid is a running child of this process.
func isChild(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == 0
}

// zombie reads the state that Linux gives; elsewhere nobody is one.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// "pid (name) state …", and the name may hold anything.
	i := bytes.LastIndexByte(b, ')')
	return i >= 0 && i+2 < len(b) && b[i+2] == 'Z'
}
