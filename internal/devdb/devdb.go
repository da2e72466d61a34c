// Package devdb runs a PostgreSQL of one's own on the programs that the system
// has installed: the database of `refundry dev` and of the tests.
//
// It binds 127.0.0.1 only, asks for a generated password (scram-sha-256), keeps
// fsync on, works as root (the server then runs as user postgres, else nobody)
// and as a normal user, and never deletes a data directory.
//
// Everything lives in Dir/postgres, a folder that only the server's user and root can enter:
//
//	data/        the data directory
//	password     password of user "refundry", mode 0600
//	port         the TCP port, kept from run to run
//	server.log   what the server says
//	start.lock   held while one process starts or stops the server
//	owner.lock   held by the process whose Stop stops the server
//
// Who stops it: the first process to Start on a Dir owns the server for as long
// as that process lives. A second one attaches as a guest, and its Stop leaves
// the server running. When the owner dies without Stop (kill -9), the server
// goes on, and the next Start finds it, attaches and is the owner.
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
	// Database is the database that Start makes and URL names.
	Database = "refundry"
	// Role is the superuser that owns it.
	Role = "refundry"
)

// Config says where and how the server runs.
type Config struct {
	// Dir is the folder of this server; it is made when missing. Default: DefaultDir().
	Dir string
	// Port on 127.0.0.1. 0 takes the port of the last run; the first time, and
	// when a stranger has taken that one meanwhile, a free one is picked.
	Port int
	// Logger hears about starts, attaches and stops. Default: none of it is logged.
	Logger *slog.Logger
	// Settings are server parameters, name to value. They take effect when this
	// call starts the server, not when it attaches to a running one. Address,
	// port and sockets cannot be set here.
	Settings map[string]string
	// BinDir holds postgres and initdb. Default: $PG_BIN_DIR, then PATH and the
	// folders of the usual packages; the newest version that fits is taken.
	BinDir string
	// StartTimeout bounds Start, crash recovery included. Default 60 s.
	StartTimeout time.Duration
}

// reserved settings are those on which finding and guarding the server depends.
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
			return c, fmt.Errorf("devdb: setting %q belongs to the launcher", name)
		}
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout = 60 * time.Second
	}
	return c, nil
}

// DB is a running server. Its methods may be called from several goroutines.
type DB struct {
	cfg      Config
	files    files
	acct     account
	password string

	mu      sync.Mutex
	port    int
	pid     int
	started bool  // by this DB, not found running
	owner   *Lock // nil for a guest
}

// Start finds the server of cfg.Dir running and attaches to it, or starts it, with
// a new data directory the first time. It returns when the server answers and has
// the database. Errors say what to do: no PostgreSQL (ErrNotInstalled), data of
// another major version, a folder that the server's user cannot enter, a port in
// other hands (ErrPortTaken), a server that does not come up.
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

// URL is the connection string of the database:
// postgres://refundry:<password>@127.0.0.1:<port>/refundry?sslmode=disable.
func (db *DB) URL() string { return db.urlOf(Database) }

func (db *DB) urlOf(database string) string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return connString(db.port, db.password, database)
}

// Pid is the process id of the server's main process.
func (db *DB) Pid() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.pid
}

// Port is the TCP port on 127.0.0.1.
func (db *DB) Port() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.port
}

// Stop ends the server, letting running statements be cut (PostgreSQL's "fast"
// mode), when this DB owns it or started it; a guest's Stop only lets go. When
// ctx ends first the server is told to drop everything at once, which its log
// makes good at the next start, and the end of ctx is returned. A second Stop
// does nothing.
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

// Restart brings the server back on the same port after Stop or a crash. On a
// running server it only makes sure that it answers.
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
