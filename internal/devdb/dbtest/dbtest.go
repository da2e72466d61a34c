// Package dbtest gives tests real PostgreSQL databases.
//
// New and Template use one server that all test packages of a user share, in any number of processes: the first one starts
// it, the others attach. It is in <temp>/refundry-test-<uid> and runs on between test runs; `go run
// ./internal/devdb/dbtest/stopserver` stops it.
//
// The shared server has fsync off: its databases end with their test, so they need not survive a power cut. Otherwise a
// commit is that of production. Tests that kill or stop PostgreSQL, or check durability, use Server, which keeps fsync on.
//
// A machine without PostgreSQL fails the tests; they are not skipped.
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

// patience limits every single operation; machines that build and test at the same time are slow.
const patience = 2 * time.Minute

// settings are those of the shared server.
var settings = map[string]string{
	"fsync":                      "off", // see the package comment
	"full_page_writes":           "off", // of no use with fsync=off
	"max_connections":            "300",
	"shared_buffers":             "128MB",
	"max_wal_size":               "2GB",
	"checkpoint_timeout":         "30min",
	"autovacuum_naptime":         "10min", // the hundreds of databases are too short-lived for it
	"log_min_duration_statement": "-1",
	"log_checkpoints":            "off",
}

// New creates an empty database for this test and returns its connection string. It is dropped when the test ends, also
// while connections are open.
func New(t testing.TB) string {
	t.Helper()
	return server(t).create(t, "template0")
}

// Template returns a copy of a database that build has prepared, so that the migrations run once for all tests. build gets
// the connection string of an empty database and must close its connections. The prepared database is used by all tests
// with the same name and test binary; a changed migration, being part of the binary, gets a new one.
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

// Server starts a PostgreSQL for this test alone, with fsync on unless settings change it. The test can stop, kill and
// restart it. It ends with the test, and its folder is removed.
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

// Dir creates a folder that the server's user can enter, for a test that calls devdb.Start; t.TempDir is closed to other
// users. The caller removes it.
func Dir() (string, error) {
	dir, err := os.MkdirTemp("", "refundry-pg-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

// shared is the connection of this process to the shared server.
type shared struct {
	db    *devdb.DB
	users *devdb.Lock // held, shared, while this process runs, so that stopserver does not stop the server
}

// attachShared attaches once per process; all tests of the process get its result.
var attachShared = sync.OnceValues(startShared)

func server(t testing.TB) *shared {
	t.Helper()
	s, err := attachShared()
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	return s
}

// SharedDir returns the folder of the shared server.
func SharedDir() string {
	return filepath.Join(os.TempDir(), "refundry-test-"+strconv.Itoa(os.Getuid()))
}

// usersLock is the lock that every user of the shared server holds.
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
		return nil, errors.Join(fmt.Errorf("%w\n(if a power cut has damaged it, remove %s: it has test data only)", err, dir), users.Release())
	}
	s := &shared{db: db, users: users}
	if _, err := s.drop(ctx, time.Now().Add(-leftoverAge)); err != nil {
		return nil, errors.Join(err, users.Release())
	}
	return s, nil
}

// ownFolder creates the folder. It returns an error for one that another user may have created under this predictable name.
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
		return fmt.Errorf("%s is not a folder of this user (%s): remove it, or set TMPDIR", dir, st.Mode())
	}
	return nil
}

// create creates a database from a template and drops it when the test ends.
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

// Sibling returns the connection string of another database on the same server.
func Sibling(url, database string) string {
	return databasePart.ReplaceAllString(url, "/"+database+"$1")
}

// databaseName returns a new name with the time of creation, which PostgreSQL does not store, for drop.
func databaseName(now time.Time) string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // it never fails, see its documentation
	return fmt.Sprintf("t_%010d_%s", now.Unix(), hex.EncodeToString(raw))
}
