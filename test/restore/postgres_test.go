package restore

import (
	"context"
	"errors"
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
	"github.com/refundry/refundry/test/e2e/harness"
)

// postgres is a PostgreSQL whose data a test can copy, put back and replicate.
type postgres struct {
	t   *testing.T
	dir string
	db  *devdb.DB
}

// startPostgres starts the server of a folder, a new one or one that a test has prepared. Port 0 = any.
func startPostgres(t *testing.T, dir string, port int, settings map[string]string) *postgres {
	t.Helper()
	all := map[string]string{"max_connections": "200", "fsync": "off"} // no scenario cuts the power
	for name, value := range settings {
		all[name] = value
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	db, err := devdb.Start(ctx, devdb.Config{Dir: dir, Port: port, Settings: all, StartTimeout: harness.Patience})
	if err != nil {
		t.Fatal(err)
	}
	p := &postgres{t: t, dir: dir, db: db}
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *postgres) stop() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	if err := p.db.Stop(ctx); err != nil {
		p.t.Error(err)
	}
}

func (p *postgres) start() {
	p.t.Helper()
	if err := p.db.Restart(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *postgres) url() string { return p.db.URL() }

func (p *postgres) data() string { return filepath.Join(p.dir, "postgres", "data") }

// copied returns a copy of the data directory, taken while the server is stopped.
func (p *postgres) copied() string {
	p.t.Helper()
	to := filepath.Join(harness.NewDir(p.t), "copy")
	p.stop()
	p.command("cp", "-a", p.data(), to)
	p.start()
	return to
}

// putBack replaces the data directory by a copy. The server is stopped before and runs after.
func (p *postgres) putBack(from string) {
	p.t.Helper()
	p.stop()
	if err := os.RemoveAll(p.data()); err != nil {
		p.t.Fatal(err)
	}
	p.command("cp", "-a", from, p.data())
	p.start()
}

// program runs one of PostgreSQL's client programs.
func (p *postgres) program(name string, args ...string) {
	p.t.Helper()
	p.command(filepath.Join(one[string](p.t, p.url(), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`), name), args...)
}

// restoreOver restores a dump over the objects that are there. PostgreSQL reports that it cannot drop the constraints of partitions by
// themselves; it drops them with their tables.
func (p *postgres) restoreOver(dump string) {
	p.t.Helper()
	bin := one[string](p.t, p.url(), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`)
	ctx, cancel := context.WithTimeout(p.t.Context(), harness.Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "pg_restore"), "--clean", "--if-exists", "-d", p.url(), dump).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "error:") && !strings.Contains(line, "cannot drop inherited constraint") {
			p.t.Fatalf("pg_restore: %s", line)
		}
	}
}

func (p *postgres) command(name string, args ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), harness.Patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%s: %v\n%s", filepath.Base(name), err, out)
	}
}

// baseBackup returns a folder that startPostgres can start from.
func (p *postgres) baseBackup(more ...string) string {
	p.t.Helper()
	dir := harness.NewDir(p.t)
	home := filepath.Join(dir, "postgres")
	password, err := os.ReadFile(filepath.Join(p.dir, "postgres", "password"))
	if err == nil {
		err = os.Mkdir(home, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "password"), password, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.program("pg_basebackup", append([]string{"-d", dbtest.Sibling(p.url(), ""), "-D", filepath.Join(home, "data"), "--checkpoint=fast",
		"--wal-method=stream", "--no-sync"}, more...)...)
	p.own(home)
	return dir
}

// own makes the server's user the owner of a folder.
func (p *postgres) own(dir string) {
	p.t.Helper()
	owner, err := os.Stat(p.data())
	if err != nil {
		p.t.Fatal(err)
	}
	sys := owner.Sys().(*syscall.Stat_t)
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(sys.Uid), int(sys.Gid))
	}); err != nil {
		p.t.Fatal(err)
	}
}

// one runs a statement that returns one value, on a connection of its own.
func one[T any](t *testing.T, url, sql string, args ...any) (v T) {
	t.Helper()
	with(t, url, func(ctx context.Context, conn *pgx.Conn) error { return conn.QueryRow(ctx, sql, args...).Scan(&v) })
	return v
}

// execute runs statements without a result, on a connection of its own.
func execute(t *testing.T, url, sql string) {
	t.Helper()
	with(t, url, func(ctx context.Context, conn *pgx.Conn) error {
		for s := range strings.SplitSeq(sql, ";") {
			if _, err := conn.Exec(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func with(t *testing.T, url string, do func(context.Context, *pgx.Conn) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `SET search_path = refundry`); err != nil {
		t.Fatal(err)
	}
	if err := do(ctx, conn); err != nil {
		t.Fatal(err)
	}
}
