// Package store accepts requests, claims calls, enters answers, lines, notices and decisions, and writes payments, tenants, keys and epochs.
// It turns rows into domain values and back, and database errors into the classes of package refund.
//
// Its sub-packages: read has the API's lists and single views; verify checks the promises, writes anchors and exports evidence; migrate
// changes the schema and creates partitions; pg has the connections, settings, transactions, errors and rows that all of them share.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// Enqueuer inserts jobs in the transaction that makes them due.
type Enqueuer interface {
	EnqueueTx(ctx context.Context, tx pgx.Tx, w []refund.Wakeup) error
}

// Config configures a Store. URL is required.
type Config struct {
	URL          string
	Schema       string        // default "refundry"; part of every advisory lock key, so that installations in one database do not share locks
	MaxConns     int32         // default 16
	Params       pg.Params     // how connections get their settings; default ParamsStartup
	Enqueuer     Enqueuer      // nil = no jobs (tools, tests of intakes alone)
	Accounts     Accounts      // nil = none
	Logger       *slog.Logger  // default: discards
	LockTimeout  time.Duration // default 2 s: longer = refund.ErrBusy
	NewRID       func() refund.RID
	ProbeTimeout time.Duration // default 2 s, of the ping before a pooled connection is reused
	// RefundEnded is called after COMMIT for every refund that entered a final state for the first time, with its age; nil = not called. It
	// must return at once. It is not called if the process ends right after COMMIT.
	RefundEnded func(state refund.State, took time.Duration)
	// CommitUnknown is called for every COMMIT whose answer was lost; nil = not called.
	CommitUnknown func()
	// FactRefused is called for every fact of a channel that a guard refused, with the guard's name; nil = not called. It must return at once.
	FactRefused func(guard string)
	// HoldOnRestore holds all sending as soon as a connection finds that the database was restored. A serving process sets it; tools do not.
	HoldOnRestore bool
	// HoldOnFailover does so after a failover too, and includes HoldOnRestore. A serving process sets it, except with --failover-lossless:
	// then WatchEpoch records the new server as the valid one, and sending goes on.
	HoldOnFailover bool
}

// Accounts gives the channel accounts that this process is configured with.
type Accounts interface {
	// Account gives an account's contract, and whether the tenant may use it.
	Account(name string, tenant refund.TenantID) (c refund.Contract, known, allowed bool)
}

// Store implements intake.Accepter and refund.Store. Each file of the package has the methods of one subject.
type Store struct {
	pool     *pgxpool.Pool
	cfg      Config
	log      *slog.Logger
	identity identity
	epochs   *epochWatch

	announcer    *announcer // notifies the workers of new jobs after COMMIT
	writeProbe   writeProbe
	farPasses    atomic.Uint32 // passes of sweepFar
	parkedPasses atomic.Uint32 // passes of sweepParked; picks the eighth of the payments that a pass reads
}

// identity is the installation row as Open read it. It is not read again.
type identity struct {
	installation string
	epoch        int
}

// Open connects, checks that the schema is there and reads the installation. The caller closes the store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Schema == "" {
		cfg.Schema = "refundry"
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 16
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.LockTimeout == 0 {
		cfg.LockTimeout = pg.DefaultLockTimeout
	}
	if cfg.ProbeTimeout == 0 {
		cfg.ProbeTimeout = 2 * time.Second
	}
	if cfg.NewRID == nil {
		cfg.NewRID = pg.NewRID
	}
	hot := pg.HotConfig{URL: cfg.URL, Schema: cfg.Schema, Params: cfg.Params, MaxConns: cfg.MaxConns, LockTimeout: cfg.LockTimeout, ProbeTimeout: cfg.ProbeTimeout}
	epochs := &epochWatch{log: cfg.Logger}
	if cfg.HoldOnFailover || cfg.HoldOnRestore {
		hot.AfterConnect = epochs.onConnect(!cfg.HoldOnFailover)
	}
	pool, err := pg.OpenHot(ctx, hot)
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, cfg: cfg, log: cfg.Logger, epochs: epochs, announcer: newAnnouncer()}
	if err := s.readIdentity(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// Close gives all connections back. Transactions under way end first.
func (s *Store) Close() {
	s.announcer.close()
	s.pool.Close()
}

// Pool is the hot path's pool, for parts that need statements of their own: the reader, the migrations' check, anchors.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping checks that the database answers. Errors: refund.ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error { return pg.Translate(s.pool.Ping(ctx)) }

func (s *Store) readIdentity(ctx context.Context) error {
	err := s.pool.QueryRow(ctx, `SELECT installation_id::text, epoch FROM installation`).Scan(&s.identity.installation, &s.identity.epoch)
	if err != nil {
		return fmt.Errorf("store: the schema %q is not ready (run `refundry migrate`): %w", s.cfg.Schema, pg.Translate(err))
	}
	return nil
}

// Installation is the id that is part of every dispatch number.
func (s *Store) Installation() string { return s.identity.installation }
