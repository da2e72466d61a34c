package devdb_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

func TestPortOfAnotherProgram(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	done := make(chan struct{})
	go func() { // a server of another protocol
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.0 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listening on %v", l.Addr())
	}
	port := addr.Port
	_, err = devdb.Start(t.Context(), devdb.Config{Dir: newDir(t), Port: port})
	if !errors.Is(err, devdb.ErrPortTaken) || !strings.Contains(err.Error(), "does not speak PostgreSQL") {
		t.Errorf("another program on the port: %v, want ErrPortTaken with its kind", err)
	}
	_ = l.Close()
	<-done

	other := dbtest.Server(t, nil)
	dir := newDir(t)
	_, err = devdb.Start(t.Context(), devdb.Config{Dir: dir, Port: other.Port()})
	if !errors.Is(err, devdb.ErrPortTaken) || !strings.Contains(err.Error(), "another PostgreSQL") {
		t.Errorf("another PostgreSQL on the port: %v, want ErrPortTaken with its kind", err)
	}
	if !reachable(other.URL()) {
		t.Fatal("the other PostgreSQL does not answer any more")
	}

	// A port that is only remembered is given up for another one.
	portFile := filepath.Join(dir, "postgres", "port")
	if err := os.WriteFile(portFile, []byte(cfgPort(t, other.URL())), 0o600); err != nil {
		t.Fatal(err)
	}
	moved := start(t, devdb.Config{Dir: dir})
	if moved.Port() == other.Port() || !reachable(moved.URL()) {
		t.Errorf("on port %d, want another one than %d", moved.Port(), other.Port())
	}
}

func cfgPort(t *testing.T, url string) string {
	t.Helper()
	_, rest, ok := strings.Cut(url, "127.0.0.1:")
	port, _, ok2 := strings.Cut(rest, "/")
	if !ok || !ok2 {
		t.Fatalf("no port in %s", url)
	}
	return port
}

func TestAnotherPortThanTheRunningOne(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	db := start(t, devdb.Config{Dir: dir})
	_, err := devdb.Start(t.Context(), devdb.Config{Dir: dir, Port: db.Port() + 1})
	if err == nil || !strings.Contains(err.Error(), "already runs on port") {
		t.Errorf("asking a running server for another port: %v", err)
	}
}
