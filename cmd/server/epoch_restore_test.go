package main

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// backedUp is a PostgreSQL with archived WAL, which can be restored to a point in time.
type backedUp struct {
	t            *testing.T
	dir, archive string
	db           *devdb.DB
}

func startBackedUp(t *testing.T) *backedUp {
	t.Helper()
	b := &backedUp{t: t}
	b.dir = b.folder()
	b.archive = filepath.Join(b.dir, "archive")
	if err := os.Mkdir(b.archive, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.archive, 0o777); err != nil { // the server's user writes here
		t.Fatal(err)
	}
	b.db = b.start(b.dir, map[string]string{"archive_mode": "on", "archive_command": "cp %p " + b.archive + "/%f", "max_connections": "200"})
	return b
}

func (b *backedUp) folder() string {
	b.t.Helper()
	dir, err := dbtest.Dir()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			b.t.Error(err)
		}
	})
	return dir
}

func (b *backedUp) start(dir string, settings map[string]string) *devdb.DB {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	db, err := devdb.Start(ctx, devdb.Config{Dir: dir, Settings: settings, StartTimeout: 2 * time.Minute})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := db.Stop(ctx); err != nil {
			b.t.Error(err)
		}
	})
	return db
}

// one runs a statement that returns one value.
func one[T any](t *testing.T, url, sql string, args ...any) (v T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // cleanups use it too
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `SET search_path = refundry`); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// backup makes a base backup in a folder that devdb can start from.
func (b *backedUp) backup() string {
	b.t.Helper()
	to := b.folder()
	from := filepath.Join(b.dir, "postgres")
	home := filepath.Join(to, "postgres")
	if err := os.Mkdir(home, 0o700); err != nil {
		b.t.Fatal(err)
	}
	password, err := os.ReadFile(filepath.Join(from, "password"))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "password"), password, 0o600); err != nil {
		b.t.Fatal(err)
	}
	bin := one[string](b.t, b.db.URL(), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`)
	cmd := exec.CommandContext(b.t.Context(), filepath.Join(bin, "pg_basebackup"), "-d", strings.Replace(b.db.URL(), "/refundry?", "/?", 1),
		"-D", filepath.Join(home, "data"), "--checkpoint=fast", "--wal-method=stream", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	return to
}

// restore starts a backup, recovered to a named point of the archive, and returns when the recovery has ended.
func (b *backedUp) restore(dir, point string) *devdb.DB {
	b.t.Helper()
	home := filepath.Join(dir, "postgres")
	if err := os.WriteFile(filepath.Join(home, "data", "recovery.signal"), nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	owner, err := os.Stat(filepath.Join(b.dir, "postgres", "data"))
	if err != nil {
		b.t.Fatal(err)
	}
	sys := owner.Sys().(*syscall.Stat_t)
	if err := filepath.WalkDir(home, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(sys.Uid), int(sys.Gid))
	}); err != nil {
		b.t.Fatal(err)
	}
	db := b.start(dir, map[string]string{"archive_mode": "off", "restore_command": "cp " + b.archive + "/%f %p",
		"recovery_target_name": point, "recovery_target_action": "promote", "max_connections": "200"})
	until(b.t, time.Minute, "the restored server is out of recovery", func() bool { return !one[bool](b.t, db.URL(), `SELECT pg_is_in_recovery()`) })
	return db
}

// archived closes the current WAL file and waits until it is in the archive.
func (b *backedUp) archived() {
	b.t.Helper()
	name := one[string](b.t, b.db.URL(), `SELECT pg_walfile_name(pg_switch_wal())`)
	until(b.t, time.Minute, "the WAL is archived", func() bool {
		return one[bool](b.t, b.db.URL(), `SELECT coalesce(last_archived_wal >= $1, false) FROM pg_stat_archiver`, name)
	})
}

// until polls a condition until it holds, and ends the test after patience.
func until(t *testing.T, patience time.Duration, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}
