package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is one run of the program that continues until it is stopped.
type Process struct {
	t     testing.TB
	name  string
	cmd   *exec.Cmd
	ready chan string   // the ready line, once
	ended chan struct{} // closed when the process has ended and its output is read

	mu    sync.Mutex
	tail  []string // the last lines of both outputs
	alarm string   // the first line with an alarm
}

// alarms in the output fail the test in any case: the race detector's report, and panics.
var alarms = []string{"WARNING: DATA RACE", "panic: ", "fatal error: ", `"panic in a handler"`, "client-panic"}

// tailLines is the number of output lines that a failed test prints.
const tailLines = 60

// start starts the program and waits in its output for the line of isReady. The process is killed with the test.
func start(t testing.TB, name string, isReady func(line string) bool, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	cmd.Env, cmd.SysProcAttr = environment(nil), endWithParent()
	return startCommand(t, name, isReady, cmd)
}

// startCommand is start for another program.
func startCommand(t testing.TB, name string, isReady func(line string) bool, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, name: name, cmd: cmd, ready: make(chan string, 1), ended: make(chan struct{})}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		var errs io.ReadCloser
		if errs, err = p.cmd.StderrPipe(); err == nil {
			err = p.run(out, errs, isReady)
		}
	}
	if err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		p.Kill()
		if p.alarm != "" {
			t.Errorf("%s (pid %d) wrote %q", name, p.Pid(), p.alarm)
		}
		if t.Failed() {
			t.Logf("last lines of %s (pid %d):\n%s", name, p.Pid(), p.Tail())
		}
	})
	return p
}

func (p *Process) run(out, errs io.Reader, isReady func(string) bool) error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	var read sync.WaitGroup
	for _, r := range []io.Reader{out, errs} {
		read.Go(func() { p.watch(r, isReady) })
	}
	go func() {
		read.Wait()
		_ = p.cmd.Wait() // the exit code has the result
		close(p.ended)
	}()
	return nil
}

func (p *Process) watch(r io.Reader, isReady func(string) bool) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		p.mu.Lock()
		p.keep(line)
		p.mu.Unlock()
		if isReady(line) {
			select {
			case p.ready <- line:
			default:
			}
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line that is too long for the scanner must not block the process
}

// keep stores a line; the caller holds the lock.
func (p *Process) keep(line string) {
	p.tail = append(p.tail, line)
	if len(p.tail) > 4*tailLines && p.alarm == "" { // after an alarm all lines are kept
		p.tail = append([]string(nil), p.tail[len(p.tail)-tailLines:]...)
	}
	if p.alarm == "" && slices.ContainsFunc(alarms, func(a string) bool { return strings.Contains(line, a) }) {
		p.alarm = line
	}
}

// waitReady returns the line of a ready process, and ends the test if there is none.
func (p *Process) waitReady() string {
	p.t.Helper()
	line, err := p.readyLine()
	if err != nil {
		p.t.Fatal(err)
	}
	return line
}

func (p *Process) readyLine() (string, error) {
	limit := time.NewTimer(Patience)
	defer limit.Stop()
	select {
	case line := <-p.ready:
		return line, nil
	case <-p.ended:
		return "", fmt.Errorf("%s ended before it was ready, exit %d:\n%s", p.name, p.exit(), p.Tail())
	case <-limit.C:
		return "", fmt.Errorf("%s is not ready after %s:\n%s", p.name, Patience, p.Tail())
	}
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Tail returns the last lines of the process.
func (p *Process) Tail() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alarm != "" {
		return strings.Join(p.tail[:min(len(p.tail), 8*tailLines)], "\n")
	}
	return strings.Join(p.tail[max(0, len(p.tail)-tailLines):], "\n")
}

// Kill ends the process with SIGKILL and returns when it has ended.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Terminate sends SIGTERM and does not wait.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

// Pause stops the process at any point, like a suspended machine; Resume continues it.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// Wait waits for the end of the process and returns its exit code; -1 = ended by a signal.
func (p *Process) Wait(within time.Duration) (int, error) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-p.ended:
		return p.exit(), nil
	case <-limit.C:
		return 0, fmt.Errorf("%s still runs after %s:\n%s", p.name, within, p.Tail())
	}
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

func (p *Process) exit() int { return p.cmd.ProcessState.ExitCode() }

func (p *Process) signal(s syscall.Signal) {
	select {
	case <-p.ended: // another process may have its id by now
		return
	default:
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("signal %s (pid %d): %v", p.name, p.Pid(), err)
	}
}
