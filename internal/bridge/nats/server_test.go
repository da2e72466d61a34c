package nats_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/refundry/refundry/internal/devnats"
)

// server is a nats-server that can be killed and restarted with its data and its address.
type server interface {
	start(t testing.TB, listen string) (addr string)
	kill(t testing.TB)
}

// embedded is a server in the process of the test.
type embedded struct {
	dir     string
	running *devnats.Server
}

func (e *embedded) start(t testing.TB, listen string) string {
	var err error
	if e.running, err = devnats.Start(devnats.Config{Dir: e.dir, Listen: listen, MaxPayload: payload}); err != nil {
		t.Fatal(err)
	}
	return e.running.Addr()
}

func (e *embedded) kill(testing.TB) { e.running.Stop() }

// process is a server in a process of its own: this test binary, run as TestServerProcess.
type process struct {
	dir string
	cmd *exec.Cmd
}

const listenVar = "NATS_TEST_LISTEN"

// TestServerProcess is the server of process. It does nothing in an ordinary run.
func TestServerProcess(t *testing.T) {
	listen := os.Getenv(listenVar)
	if listen == "" {
		return
	}
	s, err := devnats.Start(devnats.Config{Dir: os.Getenv(listenVar + "_DIR"), Listen: listen, MaxPayload: payload})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("listening on " + s.Addr())
	<-ctx.Done()
	s.Stop()
}

func (p *process) start(t testing.TB, listen string) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(self, "-test.run=^TestServerProcess$", "-test.timeout=0")
	p.cmd.Env = append(os.Environ(), listenVar+"="+listen, listenVar+"_DIR="+p.dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			return addr
		}
	}
	_ = p.cmd.Wait()
	t.Fatalf("the nats-server process has ended before it was ready")
	return ""
}

func (p *process) kill(testing.TB) {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
