// Package dbtest gives tests real PostgreSQL databases.
//
// New and Template use one server that all test packages of a user share,
// however many processes `go test` starts at once: the first one that needs it
// starts it, the others attach. It lives in <temp>/refundry-test-<uid> and stays
// up between runs; `go run ./internal/devdb/dbtest/stopserver` stops it.
//
// The shared server runs with fsync off: its databases end with their test, so
// they need not survive a power cut. A commit is otherwise what it is in
// production. Tests that kill or stop PostgreSQL, or look at durability, take a
// server of their own from Server, which keeps fsync on.
//
// A machine without PostgreSQL fails the tests; it does not skip them.
package dbtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb"
)

// patience bounds every single thing done here; machines that build and test at
// the same time are slow.
const patience = 2 * time.Minute

// settings of the shared server.
var settings = map[string]string{
	"fsync":                      "off", // see the package comment
	"full_page_writes":           "off", // guards against what fsync=off gives up anyway
	"max_connections":            "300",
	"shared_buffers":             "128MB",
	"max_wal_size":               "2GB",
	"checkpoint_timeout":         "30min",
	"autovacuum_naptime":         "10min", // hundreds of short-lived databases, none worth a visit
	"log_min_duration_statement": "-1",
	"log_checkpoints":            "off",
}

// New makes an empty database for this test and returns its connection string.
// It is dropped when the test ends, with whatever is still connected to it.
func New(t testing.TB) string {
	t.Helper()
	return server(t).create(t, "template0")
}

// Template returns a copy of a database that build has prepared: migrations run
// once, every test gets the result. build receives the connection string of an
// empty database and must close its connections. The prepared database serves
// every test that names it and runs from the same test binary, so a changed
// migration, being part of the binary, never meets an old preparation.
func Template(t testing.TB, name string, build func(url string) error) string {
	t.Helper()
	s := server(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tmpl, err := s.template(ctx, name, build)
	if err != nil {
		t.Fatalf("database template %q: %v", name, err)
	}
	return s.create(t, tmpl)
}

// Server starts a PostgreSQL for this test alone, with fsync on unless settings
// say otherwise, to be stopped, killed and restarted at will. It ends with the
// test, and its folder is removed.
func Server(t testing.TB, settings map[string]string) *devdb.DB {
	t.Helper()
	dir, err := Dir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the server's folder: %v", err)
		}
	})
	all := map[string]string{"max_connections": "300"}
	for k, v := range settings {
		all[k] = v
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db, err := devdb.Start(ctx, devdb.Config{Dir: dir, Settings: all, StartTimeout: patience})
	if err != nil {
		t.Fatalf("start a PostgreSQL for the test: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := db.Stop(ctx); err != nil {
			t.Errorf("stop the test's PostgreSQL: %v", err)
		}
	})
	return db
}

// Dir makes a new folder that the server's user can enter, for a test that calls
// devdb.Start itself; t.TempDir is closed to other users. The caller removes it.
func Dir() (string, error) {
	dir, err := os.MkdirTemp("", "refundry-pg-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

// shared is the connection to the server that test processes share.
type shared struct {
	db    *devdb.DB
	users *devdb.Lock // held, shared, as long as this process lives: stopserver leaves the server alone
}

// attachShared runs once for a test process: its result is the same for all tests in it.
var attachShared = sync.OnceValues(startShared)

func server(t testing.TB) *shared {
	t.Helper()
	s, err := attachShared()
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	return s
}

// SharedDir is the folder of the shared server.
func SharedDir() string {
	return filepath.Join(os.TempDir(), "refundry-test-"+strconv.Itoa(os.Getuid()))
}

// usersLock is held by everybody who uses the shared server.
func usersLock() string { return filepath.Join(SharedDir(), "users.lock") }

func startShared() (*shared, error) {
	dir := SharedDir()
	if err := ownFolder(dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	users, err := devdb.WaitLock(ctx, usersLock(), true)
	if err != nil {
		return nil, err
	}
	db, err := devdb.Start(ctx, devdb.Config{Dir: dir, Settings: settings, StartTimeout: patience})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n(if a power cut has damaged it, remove %s: it holds nothing but test data)", err, dir), users.Release())
	}
	s := &shared{db: db, users: users}
	if _, err := s.drop(ctx, time.Now().Add(-leftoverAge)); err != nil {
		return nil, errors.Join(err, users.Release())
	}
	return s, nil
}

// ownFolder makes the folder, and refuses one that somebody else may have laid
// out under a name that can be guessed.
func ownFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != os.Getuid() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of our own (%s): remove it, or set TMPDIR", dir, st.Mode())
	}
	return nil
}

// create makes a database from a template and drops it when the test ends.
func (s *shared) create(t testing.TB, from string) string {
	t.Helper()
	name := databaseName(time.Now())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+from); err != nil {
		t.Fatalf("create a test database from %s: %v", from, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	return s.url(name)
}

// exec runs one statement on the maintenance database.
func (s *shared) exec(ctx context.Context, sql string) error {
	return s.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql)
		return err
	})
}

func (s *shared) with(ctx context.Context, do func(*pgx.Conn) error) (err error) {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return do(conn)
}

func (s *shared) url(database string) string { return Sibling(s.db.URL(), database) }

// databasePart is what Sibling replaces.
var databasePart = regexp.MustCompile(`/[^/?]*(\?|$)`)

// Sibling is the connection string of another database on the same server.
func Sibling(url, database string) string {
	return databasePart.ReplaceAllString(url, "/"+database+"$1")
}

// databaseName tells when the database was made, for drop: PostgreSQL does not.
func databaseName(now time.Time) string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // never fails, see its documentation
	return fmt.Sprintf("t_%010d_%s", now.Unix(), hex.EncodeToString(raw))
}
