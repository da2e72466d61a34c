package devdb_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// childDir makes the test program start a server, report its URL and wait to be killed. It is set by TestOwnerDies.
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
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent kills this process or ends
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
