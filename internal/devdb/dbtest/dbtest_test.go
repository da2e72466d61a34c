package dbtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

const childMode = "DBTEST_TEST_CHILD"

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m) // the shared server leaves nothing in the process
}

func run(url, sql string, into ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	if len(into) == 0 {
		_, err = conn.Exec(ctx, sql)
	} else {
		err = conn.QueryRow(ctx, sql).Scan(into...)
	}
	return errors.Join(err, conn.Close(ctx))
}

func TestNewIsEmptyAndAlone(t *testing.T) {
	t.Parallel()
	a, b := dbtest.New(t), dbtest.New(t)
	if a == b {
		t.Fatal("two tests share a database")
	}
	if err := run(a, "CREATE TABLE here ()"); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := run(b, "SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'", &n); err != nil || n != 0 {
		t.Errorf("%d tables in a new database, %v; want 0", n, err)
	}
}

func TestDatabaseIsDroppedAtTheEnd(t *testing.T) {
	t.Parallel()
	var url string
	t.Run("user", func(t *testing.T) {
		url = dbtest.New(t)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if err := conn.Ping(t.Context()); err != nil { // it stays connected during the drop
			t.Fatal(err)
		}
	})
	if err := run(url, "SELECT 1"); err == nil {
		t.Error("the database is still there")
	}
}

func TestTemplateIsBuiltOnceAndCopied(t *testing.T) {
	t.Parallel()
	var built atomic.Int32
	build := func(url string) error {
		built.Add(1)
		return run(url, "CREATE TABLE seed AS SELECT 1 AS n")
	}
	// A new name in every run, since the server may be that of the last run.
	name := "Once, and copied " + time.Now().String()
	urls := make(chan string)
	for range 4 {
		go func() { urls <- dbtest.Template(t, name, build) }()
	}
	for range 4 {
		url := <-urls
		var n int
		if err := run(url, "WITH up AS (UPDATE seed SET n = n + 1 RETURNING n) SELECT n FROM up", &n); err != nil || n != 2 {
			t.Errorf("n = %d, %v; want 2: every copy starts from the template", n, err)
		}
	}
	if got := built.Load(); got != 1 {
		t.Errorf("built %d times, want 1", got)
	}
}

// TestManyProcessesAtOnce starts several processes at once, as `go test ./...` does. They use one server.
func TestManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		out string
		err error
	}
	results := make(chan result)
	const n = 4
	for range n {
		go func() {
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$", "-test.v")
			cmd.Env = append(os.Environ(), childMode+"=1")
			out, err := cmd.CombinedOutput()
			results <- result{string(out), err}
		}()
	}
	servers := map[string]bool{}
	for range n {
		r := <-results
		if r.err != nil {
			t.Errorf("child: %v\n%s", r.err, r.out)
			continue
		}
		_, rest, _ := strings.Cut(r.out, "server started ")
		at, _, _ := strings.Cut(rest, "\n")
		servers[at] = true
	}
	if len(servers) != 1 || servers[""] {
		t.Errorf("the children used %d servers: %v, want 1", len(servers), servers)
	}
}

// TestChild is run by TestManyProcessesAtOnce; on its own it reads the start time of the server.
func TestChild(t *testing.T) {
	var at string
	if err := run(dbtest.New(t), "SELECT pg_postmaster_start_time()::text", &at); err != nil {
		t.Fatal(err)
	}
	if os.Getenv(childMode) != "" {
		t.Logf("server started %s", at)
	}
}

func TestStopLeavesAServerInUse(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t) // from now on this process is a user
	did, err := dbtest.StopShared(t.Context())
	if err != nil || !strings.Contains(did, "in use") {
		t.Errorf("StopShared: %q, %v; want that it is in use", did, err)
	}
	if err := run(url, "SELECT 1"); err != nil {
		t.Errorf("the server in use was stopped: %v", err)
	}
}

func TestSibling(t *testing.T) {
	t.Parallel()
	got := dbtest.Sibling("postgres://u:p@127.0.0.1:5/refundry?sslmode=disable", "other")
	if want := "postgres://u:p@127.0.0.1:5/other?sslmode=disable"; got != want {
		t.Errorf("Sibling = %s, want %s", got, want)
	}
}
