package devnats

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// TestManyStartOnOnePort starts several servers that have all seen the same free port. Each gets a port.
func TestManyStartOnOnePort(t *testing.T) {
	t.Parallel()
	const servers = 6
	listen := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
	addrs := make([]string, servers)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			s, err := Start(Config{Dir: t.TempDir(), Listen: listen, AnyPort: true})
			if err != nil {
				t.Errorf("server %d: %v", i, err)
				return
			}
			t.Cleanup(s.Stop)
			addrs[i] = s.Addr()
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, a := range addrs {
		if seen[a] {
			t.Errorf("two servers listen on %s: %v", a, addrs)
		}
		seen[a] = true
	}
}

// TestLostPortIsReportedAtOnce has another program take the port between the check and the start.
func TestLostPortIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	began := time.Now()
	cfg := Config{Dir: t.TempDir(), Patience: time.Minute, MaxPayload: 1 << 20, Logger: slog.New(slog.DiscardHandler)}
	s, err := run(cfg, "127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	if err == nil {
		s.Stop()
		t.Fatal("it runs on a port that is taken")
	}
	if took := time.Since(began); took > 30*time.Second || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("after %s: %v, want the address at once", took, err)
	}
}

func TestTakenPortWithoutAnotherIsAnError(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err := Start(Config{Dir: t.TempDir(), Listen: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error %v, want one that names %s", err, l.Addr())
	}
	for _, listen := range []string{"0.0.0.0:0", "192.0.2.1:4222", "nonsense", "127.0.0.1:http", "127.0.0.1:70000"} {
		if _, err := Start(Config{Dir: t.TempDir(), Listen: listen}); err == nil {
			t.Errorf("it runs on %s", listen)
		}
	}
}
