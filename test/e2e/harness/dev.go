package harness

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// Info is the line that `refundry dev --json` prints when it is ready.
type Info struct {
	API, APIKey, ApproverKey, Tenant, ChannelAccount, Simulator, DatabaseURL string
}

// Dev is `refundry dev` on a folder of its own. Its addresses change with every start; Client and Sim use the current ones.
type Dev struct {
	t    testing.TB
	Dir  string
	args []string
	proc *Process
	info atomic.Pointer[Info]
	open sync.Once
	pool *pgxpool.Pool
}

// NewDir creates a folder that the user of PostgreSQL can enter, and removes it with the test.
func NewDir(t testing.TB) string {
	t.Helper()
	dir, err := dbtest.Dir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

// StartDev starts `refundry dev` with more arguments and waits until it is ready. The process, its PostgreSQL and the
// folder end with the test.
func StartDev(t testing.TB, args ...string) *Dev {
	t.Helper()
	d := NewDev(t, args...)
	d.Start()
	return d
}

// NewDev prepares a folder for `refundry dev` and starts nothing.
func NewDev(t testing.TB, args ...string) *Dev {
	t.Helper()
	d := &Dev{t: t, Dir: NewDir(t), args: args}
	t.Cleanup(d.endDatabase)
	t.Cleanup(func() {
		if d.pool != nil {
			d.pool.Close()
		}
		d.stopAtEnd()
	})
	return d
}

// Launch starts `refundry dev` on the folder without waiting until it is ready.
func (d *Dev) Launch() {
	d.t.Helper()
	args := slices.Concat([]string{"dev", "--listen", "127.0.0.1:0", "--nats", "127.0.0.1:0", "--data", d.Dir, "--json", "--log-level", "warn"}, d.args)
	d.proc = start(d.t, "refundry dev", func(line string) bool { return strings.HasPrefix(line, `{"api":`) }, args...)
}

// Start starts `refundry dev` on the folder, for the first time or again, and waits until it is ready.
func (d *Dev) Start() {
	d.t.Helper()
	d.Launch()
	var info Info
	if err := json.Unmarshal([]byte(d.proc.waitReady()), &info); err != nil {
		d.t.Fatal(err)
	}
	d.info.Store(&info)
}

// Process returns the current process.
func (d *Dev) Process() *Process { return d.proc }

// Info returns the line that the last start has printed.
func (d *Dev) Info() Info { return *d.info.Load() }

// Kill kills the server. PostgreSQL keeps running, and the next start attaches to it.
func (d *Dev) Kill() { d.proc.Kill() }

// KillAll kills the server and its PostgreSQL, like a power cut that keeps the disk.
func (d *Dev) KillAll() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	db, err := devdb.Start(ctx, devdb.Config{Dir: d.Dir}) // attaches as a guest: the server owns it
	if err != nil {
		d.t.Fatal(err)
	}
	if err := syscall.Kill(db.Pid(), syscall.SIGKILL); err != nil {
		d.t.Errorf("kill PostgreSQL (pid %d): %v", db.Pid(), err)
	}
	d.proc.Kill()
}

// Stop drains the server and returns its exit code.
func (d *Dev) Stop() int {
	d.t.Helper()
	d.proc.Terminate()
	code, err := d.proc.Wait(Patience)
	if err != nil {
		d.t.Fatal(err)
	}
	return code
}

// Client returns a client with the key of the demo tenant.
func (d *Dev) Client() *Client { return d.ClientWith(d.Info().APIKey) }

// ClientWith returns a client with another key.
func (d *Dev) ClientWith(key string) *Client {
	return NewClient(d.t, func() string { return d.Info().API }, key)
}

// ClientFor is Client for a subtest, which it fails.
func (d *Dev) ClientFor(t testing.TB) *Client {
	return NewClient(t, func() string { return d.Info().API }, d.Info().APIKey)
}

// SimFor is Sim for a subtest, which it fails.
func (d *Dev) SimFor(t testing.TB) *Sim {
	return NewSim(t, func() string { return d.Info().Simulator })
}

// Sim returns the channel.
func (d *Dev) Sim() *Sim { return NewSim(d.t, func() string { return d.Info().Simulator }) }

// DB returns the database, with the program's schema as search path. PostgreSQL keeps its port between runs, so the pool
// survives restarts of the server.
func (d *Dev) DB() *DB {
	d.t.Helper()
	d.open.Do(func() { d.pool = openPool(d.t, d.Info().DatabaseURL) })
	return &DB{d.t, d.pool}
}

// DatabaseAnswers reports whether the port of PostgreSQL accepts connections.
func (d *Dev) DatabaseAnswers() bool {
	u, err := url.Parse(d.Info().DatabaseURL)
	if err != nil {
		d.t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// stopAtEnd stops the server properly if the test has left it running.
func (d *Dev) stopAtEnd() {
	if d.proc == nil {
		return
	}
	d.proc.Terminate()
	if _, err := d.proc.Wait(Patience); err != nil {
		d.t.Error(err)
		d.proc.Kill()
	}
}

// endDatabase stops a PostgreSQL that outlived its server.
func (d *Dev) endDatabase() {
	if _, err := os.Stat(filepath.Join(d.Dir, "postgres", "data", "postmaster.pid")); errors.Is(err, os.ErrNotExist) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	db, err := devdb.Start(ctx, devdb.Config{Dir: d.Dir})
	if err == nil {
		err = db.Stop(ctx)
	}
	if err != nil {
		d.t.Errorf("end PostgreSQL in %s: %v", d.Dir, err)
	}
}
