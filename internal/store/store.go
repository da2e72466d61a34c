// Package store owns every line of SQL and every transaction. It turns rows into domain values and back,
// and database errors into the few classes of package refund.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// Enqueuer puts jobs into the transaction that makes them due.
type Enqueuer interface {
	EnqueueTx(ctx context.Context, tx pgx.Tx, w []refund.Wakeup) error
}

// Config of a store. URL and Schema are needed, the rest has defaults.
type Config struct {
	URL          string
	Schema       string        // default "refundry"; also the cell's name in advisory keys
	MaxConns     int32         // default 16
	Params       pg.Params     // how connections get their settings; default ParamsStartup
	Enqueuer     Enqueuer      // nil = no jobs (tools, tests of the bare door)
	Accounts     Accounts      // nil = none
	Logger       *slog.Logger  // default: discards
	LockTimeout  time.Duration // default 2 s: longer = refund.ErrBusy
	NewRID       func() refund.RID
	ProbeTimeout time.Duration // default 2 s, of the ping before a pooled connection is reused
	// Ended is called after COMMIT for every refund that entered a final state for the first time, with its age then; nil = nobody. It
	// must return at once. A process that dies after COMMIT, and an acceptance whose COMMIT is not answered, leave theirs uncalled.
	Ended func(state refund.State, took time.Duration)
	// HoldOnFailover holds all sending as soon as a connection finds the database restored or failed over. For processes that serve.
	HoldOnFailover bool
}

// Accounts tells which channel accounts this process is configured with. refund.Channels' configuration side.
type Accounts interface {
	// Account gives an account's contract, and whether the tenant may use it.
	Account(name string, tenant refund.TenantID) (c refund.Contract, known, allowed bool)
}

// Store is the database behind refund.Gate and refund.Store.
type Store struct {
	pool     *pgxpool.Pool
	cfg      Config
	log      *slog.Logger
	identity identity

	announcer *announcer
}

// identity is what the installation row says; it never changes while we run.
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
	if cfg.HoldOnFailover {
		hot.AfterConnect = holdIfMoved
	}
	pool, err := pg.OpenHot(ctx, hot)
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, cfg: cfg, log: cfg.Logger, announcer: newAnnouncer()}
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

// Pool is for the parts that need their own statements in our database: River and readiness.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping says whether the database answers. Errors: refund.ErrUnavailable.
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
