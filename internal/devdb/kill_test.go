package devdb_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

func TestRestartAfterKill(t *testing.T) {
	t.Parallel()
	db := dbtest.Server(t, nil)
	url, pid := db.URL(), db.Pid()
	exec1(t, url, "CREATE TABLE kept AS SELECT 7 AS n")
	for range 3 {
		if err := db.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := db.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if db.Pid() == pid {
		t.Error("the pid did not change")
	}
	if db.URL() != url {
		t.Errorf("the URL changed from %s to %s", url, db.URL())
	}
	if n := query[int](t, url, "SELECT n FROM kept"); n != 7 {
		t.Errorf("committed row = %d, want 7", n)
	}
}

// TestOwnerDies kills the owner. The server continues, and the next Start owns it. Then both are killed.
func TestOwnerDies(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	url := startAndKillChild(t, dir)
	if !reachable(url) {
		t.Fatal("the server ended with the process that started it")
	}
	db := start(t, devdb.Config{Dir: dir})
	if db.URL() != url {
		t.Fatalf("attached to %s, want %s", db.URL(), url)
	}
	stop(t, db)
	if reachable(url) {
		t.Fatal("the new owner could not stop the server")
	}

	startAndKillChild(t, dir)
	pidText, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	db = start(t, devdb.Config{Dir: dir})
	if first, _, _ := strings.Cut(string(pidText), "\n"); first == "" {
		t.Fatal("no pid in postmaster.pid")
	}
	if err := db.Kill(); err != nil { // not a child of this process
		t.Fatal(err)
	}
	if err := db.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !reachable(url) {
		t.Fatal("no server after the restart")
	}
}

func startAndKillChild(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, readErr := out.Read(buf)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, as asked
	url, ok := strings.CutPrefix(strings.TrimSpace(string(buf[:n])), "ready ")
	if !ok {
		t.Fatalf("child said %q, %v", buf[:n], readErr)
	}
	return url
}

func TestStopWithEndedContextStillStops(t *testing.T) {
	t.Parallel()
	db := dbtest.Server(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err := db.Stop(ctx)
	if err == nil {
		return // it stopped in time
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %v, want the end of the context", err)
	}
	if reachable(db.URL()) {
		t.Error("the server still runs")
	}
	if err := db.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}
