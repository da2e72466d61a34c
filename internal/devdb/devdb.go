// Package devdb runs a PostgreSQL with the programs that are installed on the system, as the database of `refundry dev` and
// of the tests.
//
// It listens on 127.0.0.1 only, requires a generated password (scram-sha-256), keeps fsync on, works as root (the server
// then runs as user postgres, otherwise nobody) and as a normal user, and never deletes a data directory.
//
// The files are in Dir/postgres, a folder that only the server's user and root can enter:
//
//	data/        the data directory
//	password     the password of user "refundry", mode 0600
//	port         the TCP port, kept from run to run
//	server.log   the server's log
//	start.lock   held while a process starts or stops the server
//	owner.lock   held by the process whose Stop stops the server
//
// The first process that calls Start on a Dir owns the server while it runs. A second process attaches as a guest, and its Stop
// leaves the server running. When the owner is killed, the server continues, and the next Start attaches and becomes the owner.
package devdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	// Database is the name of the database that Start creates.
	Database = "refundry"
	// Role is the superuser that owns the database.
	Role = "refundry"
)

// Config configures Start.
type Config struct {
	// Dir is the folder of the server; it is created when missing. Default: DefaultDir().
	Dir string
	// Port on 127.0.0.1. 0 = the port of the last run; a free one on the first run, and when another program uses that port.
	Port int
	// Logger logs starts, attaches and stops. Default: no log.
	Logger *slog.Logger
	// Settings are server parameters by name. They take effect when this call starts the server, not when it attaches to a
	// running one. Address, port and sockets cannot be set.
	Settings map[string]string
	// BinDir is the folder of postgres and initdb. Default: $PG_BIN_DIR, then PATH and the folders of the usual packages; the
	// newest suitable version is used.
	BinDir string
	// StartTimeout limits Start, including crash recovery. Default 60 s.
	StartTimeout time.Duration
}

// reserved settings are those that finding and protecting the server depends on.
var reserved = []string{"listen_addresses", "port", "unix_socket_directories", "data_directory", "hba_file"}

func (c Config) complete(ctx context.Context) (Config, error) {
	if c.Dir == "" {
		c.Dir = defaultDir(ctx)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, err
	}
	c.Dir = dir
	if c.Port < 0 || c.Port > 65535 {
		return c, fmt.Errorf("devdb: port %d is not between 0 and 65535", c.Port)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, name := range reserved {
		if _, set := c.Settings[name]; set {
			return c, fmt.Errorf("devdb: setting %q is set by the launcher", name)
		}
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout = 60 * time.Second
	}
	return c, nil
}

// DB is a running server. Its methods can be called from several goroutines. They are in devdb.go, server.go and launch.go.
type DB struct {
	cfg      Config
	files    files
	acct     account
	password string

	mu      sync.Mutex
	port    int
	pid     int
	started bool  // this DB started it
	owner   *Lock // nil = guest
}

// Start attaches to the running server of cfg.Dir or starts it, the first time with a new data directory. It returns when
// the server answers and has the database. The errors say what to do: no PostgreSQL (ErrNotInstalled), data of another
// major version, a folder that the server's user cannot enter, a port in use (ErrPortTaken), a server that does not start.
func Start(ctx context.Context, cfg Config) (*DB, error) {
	cfg, err := cfg.complete(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()

	acct, err := serverAccount()
	if err != nil {
		return nil, fmt.Errorf("devdb: %w", err)
	}
	db := &DB{cfg: cfg, acct: acct, files: filesIn(cfg.Dir)}
	if err := db.files.prepare(ctx, acct); err != nil {
		return nil, fmt.Errorf("devdb: %w", err)
	}
	if err := db.lockAndBringUp(ctx); err != nil {
		return nil, fmt.Errorf("devdb: %w", err)
	}
	return db, nil
}

// URL returns the connection string of the database:
// postgres://refundry:<password>@127.0.0.1:<port>/refundry?sslmode=disable.
func (db *DB) URL() string { return db.urlOf(Database) }

func (db *DB) urlOf(database string) string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return connString(db.port, db.password, database)
}

// Pid returns the process id of the server's main process.
func (db *DB) Pid() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.pid
}

// Port returns the TCP port on 127.0.0.1.
func (db *DB) Port() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.port
}

// Stop ends the server in PostgreSQL's "fast" mode, which cuts off running statements, if this DB owns or started it. A
// guest's Stop only detaches. When ctx ends first, the server is stopped at once, recovers at its next start, and Stop
// returns the error of ctx. A second Stop does nothing.
func (db *DB) Stop(ctx context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.owner == nil && !db.started {
		return nil
	}
	start, err := WaitLock(ctx, db.files.startLock, false)
	if err != nil {
		return fmt.Errorf("devdb: %w", err)
	}
	err = stopServer(ctx, db.files, db.pid)
	db.started = false
	err = errors.Join(err, db.owner.Release(), start.Release())
	db.owner = nil
	if err != nil {
		return fmt.Errorf("devdb: stop: %w", err)
	}
	db.cfg.Logger.Info("PostgreSQL stopped", "dir", db.cfg.Dir, "pid", db.pid)
	return nil
}

// Restart starts the server on the same port after Stop or a crash. On a running server it only checks that it answers.
func (db *DB) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, db.cfg.StartTimeout)
	defer cancel()
	if err := db.lockAndBringUp(ctx); err != nil {
		return fmt.Errorf("devdb: restart: %w", err)
	}
	return nil
}

func connString(port int, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(Role, password),
		Host:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}
