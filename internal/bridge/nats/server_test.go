package nats_test

import (
	"testing"

	"github.com/refundry/refundry/internal/devnats"
	"github.com/refundry/refundry/internal/devnats/natstest"
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

// process is a server in a process of its own.
type process struct {
	dir     string
	running *natstest.Process
}

// TestNATSServerProcess is the server in its process; in an ordinary run it does nothing.
func TestNATSServerProcess(t *testing.T) { natstest.Serve(t) }

func (p *process) start(t testing.TB, listen string) string {
	p.running = natstest.Start(t, devnats.Config{Dir: p.dir, Listen: listen, MaxPayload: payload})
	return p.running.Addr()
}

func (p *process) kill(testing.TB) { p.running.Kill() }
