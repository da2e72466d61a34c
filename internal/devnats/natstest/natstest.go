// Package natstest runs a nats-server in a process of its own, so that a test can kill it as abruptly as a machine does. The process is
// the test binary itself, started again: the package that uses it has a test that calls Serve.
package natstest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/refundry/refundry/internal/devnats"
)

const (
	listenVar  = "NATSTEST_LISTEN"
	dirVar     = "NATSTEST_DIR"
	payloadVar = "NATSTEST_MAX_PAYLOAD"
	ready      = "listening on "
)

// Serve runs the server until SIGTERM if Start has started this test binary; else it does nothing. It is the whole body of
// TestNATSServerProcess, the test that Start runs.
func Serve(t *testing.T) {
	t.Helper()
	listen := os.Getenv(listenVar)
	if listen == "" {
		return
	}
	payload, err := strconv.Atoi(os.Getenv(payloadVar))
	if err != nil {
		t.Fatal(err)
	}
	s, err := devnats.Start(devnats.Config{Dir: os.Getenv(dirVar), Listen: listen, MaxPayload: payload})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	_, _ = fmt.Fprintln(os.Stdout, ready+s.Addr())
	<-ctx.Done()
	s.Stop()
}

// Process is a running server.
type Process struct {
	cmd  *exec.Cmd
	addr string
}

// Start starts a server and returns when it listens. Of the configuration it uses Dir, Listen, which has host and port, and MaxPayload.
func Start(t testing.TB, cfg devnats.Config) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestNATSServerProcess$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), listenVar+"="+cfg.Listen, dirVar+"="+cfg.Dir, payloadVar+"="+strconv.Itoa(cfg.MaxPayload))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{cmd: cmd}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), ready); ok {
			p.addr = addr
			return p
		}
	}
	p.Kill()
	t.Fatal("the nats-server process ended before it was ready (does this package have TestNATSServerProcess?)")
	return nil
}

// Addr is the host:port on which the server listens.
func (p *Process) Addr() string { return p.addr }

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
