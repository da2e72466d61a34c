package devdb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

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
		t.Errorf("the URL changed from %s to %s, want the same one", url, again.URL())
	}
	if n := query[int](t, again.URL(), "SELECT n FROM kept"); n != 7 {
		t.Errorf("kept row = %d, want 7", n)
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
		t.Error("a guest could kill the server")
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
	t.Run("a folder that is no data directory", func(t *testing.T) {
		t.Parallel()
		dir := newDir(t)
		note := filepath.Join(dir, "postgres", "data", "diary.txt")
		if err := os.MkdirAll(filepath.Dir(note), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(note, []byte("another file"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := devdb.Start(t.Context(), devdb.Config{Dir: dir}); err == nil {
			t.Error("started on a folder that is no data directory")
		}
		if _, err := os.Stat(note); err != nil {
			t.Errorf("the file of another program: %v", err)
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
			t.Errorf("unknown setting: %v, want the server's message", err)
		}
	})
	t.Run("a setting of the launcher", func(t *testing.T) {
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
