package e2e

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

const (
	natsListen = "E2E_NATS_LISTEN"
	natsDir    = "E2E_NATS_DIR"
)

// TestNATSServerProcess is a nats-server when startNATSProcess starts the test program again; in an ordinary run it does
// nothing.
func TestNATSServerProcess(t *testing.T) {
	listen := os.Getenv(natsListen)
	if listen == "" {
		return
	}
	s, err := devnats.Start(devnats.Config{Dir: os.Getenv(natsDir), Listen: listen})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("listening on " + s.Addr())
	<-ctx.Done()
	s.Stop()
}

// natsProcess is the process of the nats-server.
type natsProcess struct {
	cmd  *exec.Cmd
	addr string
}

func startNATSProcess(t *testing.T, dir, listen string) *natsProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestNATSServerProcess$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), natsListen+"="+listen, natsDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &natsProcess{cmd: cmd}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.addr = addr
			return p
		}
	}
	p.kill()
	t.Fatal("the nats-server process ended before it was ready")
	return nil
}

// kill kills the process with SIGKILL.
func (p *natsProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
