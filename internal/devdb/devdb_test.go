package devdb_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// The launcher's own child: started by TestOwnerDies, it brings the server up,
// says so and waits to be killed.
const childDir = "DEVDB_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(runChild(dir))
	}
	goleak.VerifyTestMain(m)
}

func runChild(dir string) int {
	db, err := devdb.Start(context.Background(), devdb.Config{Dir: dir})
	if err != nil {
		slog.Error("child", "err", err)
		return 1
	}
	if _, err := os.Stdout.WriteString("ready " + db.URL() + "\n"); err != nil {
		return 1
	}
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent kills us or ends
	return 0
}

func newDir(t *testing.T) string {
	t.Helper()
	dir, err := dbtest.Dir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func start(t *testing.T, cfg devdb.Config) *devdb.DB {
	t.Helper()
	db, err := devdb.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, db) })
	return db
}

func stop(t *testing.T, db *devdb.DB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := db.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var v T
	if err := conn.QueryRow(t.Context(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func reachable(url string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false
	}
	return conn.Close(ctx) == nil
}

func TestStartStopStartAgain(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	db := start(t, devdb.Config{Dir: dir, Settings: map[string]string{"work_mem": "5MB"}})
	url := db.URL()

	for name, want := range map[string]string{
		"fsync": "on", "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "work_mem": "5MB",
		"server_encoding": "UTF8", "data_checksums": "on",
	} {
		if got := query[string](t, url, "SELECT current_setting('"+name+"')"); got != want {
			t.Errorf("setting %s = %q, want %q", name, got, want)
		}
	}
	if got := query[string](t, url, "SELECT current_database()"); got != "refundry" {
		t.Errorf("database %q, want refundry", got)
	}
	query[int](t, url, "WITH x AS (SELECT 1) SELECT count(*)::int FROM x")
	exec1(t, url, "CREATE TABLE kept AS SELECT 7 AS n")

	st, err := os.Stat(filepath.Join(dir, "postgres", "password"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("password file: %v %v, want mode 0600", st, err)
	}
	stop(t, db)
	if reachable(url) {
		t.Fatal("the server answers after Stop")
	}
	stop(t, db) // a second Stop does nothing

	again := start(t, devdb.Config{Dir: dir})
	if again.URL() != url {
		t.Errorf("URL changed from %s to %s: scripts would break", url, again.URL())
	}
	if n := query[int](t, again.URL(), "SELECT n FROM kept"); n != 7 {
		t.Errorf("kept row = %d, want 7", n)
	}
}

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	t.Parallel()
	db := dbtest.Server(t, nil)
	cfg, err := pgx.ParseConfig(db.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Password = "guess"
	_, err = pgx.ConnectConfig(t.Context(), cfg)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "28P01" {
		t.Errorf("connecting with a wrong password: %v, want SQLSTATE 28P01", err)
	}
}

func TestGuestLeavesTheOwnersServer(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	owner := start(t, devdb.Config{Dir: dir})
	guest := start(t, devdb.Config{Dir: dir})
	if guest.Pid() != owner.Pid() || guest.URL() != owner.URL() {
		t.Fatalf("guest has pid %d, owner %d: not the same server", guest.Pid(), owner.Pid())
	}
	stop(t, guest)
	if !reachable(owner.URL()) {
		t.Fatal("the guest's Stop ended the owner's server")
	}
	if err := guest.Kill(); err == nil {
		t.Error("a guest may not kill the server")
	}
	stop(t, owner)
	if reachable(owner.URL()) {
		t.Fatal("the owner's Stop left the server running")
	}
}

func TestManyStartsAtOnceGiveOneServer(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	type result struct {
		db  *devdb.DB
		err error
	}
	results := make(chan result)
	const n = 6
	for range n {
		go func() {
			db, err := devdb.Start(context.Background(), devdb.Config{Dir: dir})
			results <- result{db, err}
		}()
	}
	pids := map[int]bool{}
	for range n {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
			continue
		}
		t.Cleanup(func() { stop(t, r.db) })
		pids[r.db.Pid()] = true
	}
	if len(pids) != 1 {
		t.Errorf("%d different servers %v, want 1", len(pids), pids)
	}
}

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
		t.Errorf("URL changed from %s to %s", url, db.URL())
	}
	if n := query[int](t, url, "SELECT n FROM kept"); n != 7 {
		t.Errorf("committed row = %d, want 7", n)
	}
}

// The owner dies without Stop; the server goes on, and the next Start owns it. Then both die.
func TestOwnerDies(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	url := startAndKillChild(t, dir)
	if !reachable(url) {
		t.Fatal("the server ended with the process that had started it")
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
	if err := db.Kill(); err != nil { // not our child: found running
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

func TestPortInOtherHands(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	done := make(chan struct{})
	go func() { // speaks, but not PostgreSQL
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
		t.Errorf("a foreign process on the port: %v, want ErrPortTaken that says so", err)
	}
	_ = l.Close()
	<-done

	other := dbtest.Server(t, nil)
	dir := newDir(t)
	_, err = devdb.Start(t.Context(), devdb.Config{Dir: dir, Port: other.Port()})
	if !errors.Is(err, devdb.ErrPortTaken) || !strings.Contains(err.Error(), "another PostgreSQL") {
		t.Errorf("a foreign PostgreSQL on the port: %v, want ErrPortTaken that says so", err)
	}
	if !reachable(other.URL()) {
		t.Fatal("the foreign PostgreSQL was disturbed")
	}

	// The same port only remembered, not asked for: the server moves.
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

func TestDataOfAnotherMajorVersionIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	db := start(t, devdb.Config{Dir: dir})
	stop(t, db)
	version := filepath.Join(dir, "postgres", "data", "PG_VERSION")
	if err := os.WriteFile(version, []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := devdb.Start(t.Context(), devdb.Config{Dir: dir})
	if !errors.Is(err, devdb.ErrNotInstalled) || !strings.Contains(err.Error(), "PostgreSQL 9") {
		t.Errorf("data of version 9: %v, want an error that names the version", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "postgres", "data", "global")); err != nil {
		t.Errorf("the data directory was touched: %v", err)
	}
}

func TestUnreadableStatesAreErrorsAndTouchNothing(t *testing.T) {
	t.Parallel()
	t.Run("a data folder that is none", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		note := filepath.Join(dir, "postgres", "data", "diary.txt")
		if err := os.MkdirAll(filepath.Dir(note), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(note, []byte("dear diary"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := devdb.Start(t.Context(), devdb.Config{Dir: dir}); err == nil {
			t.Error("started on a folder that is no data directory")
		}
		if _, err := os.Stat(note); err != nil {
			t.Errorf("a stranger's file: %v", err)
		}
	})
	t.Run("password gone", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		stop(t, start(t, devdb.Config{Dir: dir}))
		if err := os.Remove(filepath.Join(dir, "postgres", "password")); err != nil {
			t.Fatal(err)
		}
		_, err := devdb.Start(t.Context(), devdb.Config{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "password file") {
			t.Errorf("password file removed: %v, want an error that names it", err)
		}
	})
	t.Run("a setting the server refuses", func(t *testing.T) {
		t.Parallel()
		_, err := devdb.Start(t.Context(), devdb.Config{Dir: newDir(t), Settings: map[string]string{"no_such_thing": "1"}})
		if err == nil || !strings.Contains(err.Error(), "no_such_thing") {
			t.Errorf("unknown setting: %v, want the server's own words", err)
		}
	})
	t.Run("a setting that is the launcher's", func(t *testing.T) {
		t.Parallel()
		_, err := devdb.Start(t.Context(), devdb.Config{Dir: newDir(t), Settings: map[string]string{"listen_addresses": "*"}})
		if err == nil || !strings.Contains(err.Error(), "launcher") {
			t.Errorf("listening on all addresses: %v, want a refusal", err)
		}
	})
}

func TestFolderThatTheServersUserCannotEnter(t *testing.T) {
	t.Parallel()
	closed := t.TempDir()
	mode := os.FileMode(0o700) // as root: closed to user postgres
	if os.Geteuid() != 0 {
		mode = 0o500 // as a normal user: no new folder can be made in it
	}
	if err := os.Chmod(closed, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	_, err := devdb.Start(t.Context(), devdb.Config{Dir: filepath.Join(closed, "x")})
	if err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("closed folder: %v, want an error that names it", err)
	}
}

func TestStopWithEndedContextStillStops(t *testing.T) {
	t.Parallel()
	db := dbtest.Server(t, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err := db.Stop(ctx)
	if err == nil {
		return // it was fast enough
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
