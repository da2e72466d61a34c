// Package store owns every line of SQL and every transaction. It turns rows into domain values and back,
// and database errors into the few classes of package refund.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
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
	Params       Params        // how connections get their settings; default ParamsStartup
	Enqueuer     Enqueuer      // nil = no jobs (tools, tests of the bare door)
	Accounts     Accounts      // nil = none
	Logger       *slog.Logger  // default: discards
	LockTimeout  time.Duration // default 2 s: longer = refund.ErrBusy
	NewRID       func() refund.RID
	ProbeTimeout time.Duration // default 2 s, of the ping before a pooled connection is reused
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
		cfg.LockTimeout = defaultLockTimeout
	}
	if cfg.ProbeTimeout == 0 {
		cfg.ProbeTimeout = 2 * time.Second
	}
	if cfg.NewRID == nil {
		cfg.NewRID = NewRID
	}
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s := &Store{pool: pool, cfg: cfg, log: cfg.Logger, announcer: newAnnouncer()}
	use, sent := useHot, hotSettings(cfg.Schema, cfg.LockTimeout)
	if cfg.Params == ParamsRole {
		use, sent = useRole, nil // every new connection is compared, see poolConfig
	}
	if err := firstConnection(ctx, pool, use, sent); err != nil {
		pool.Close()
		return nil, err
	}
	if err := s.readIdentity(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// poolConfig gives every connection of the hot path its settings, or has them compared with what the role gives. A pooler in transaction
// mode hands every transaction to any of its server connections, so nothing of ours may stay on one: statements are described and
// not prepared there.
func poolConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	pc.MaxConns = cfg.MaxConns
	pc.MaxConnLifetimeJitter = 5 * time.Minute
	pc.PingTimeout = cfg.ProbeTimeout
	settings := hotSettings(cfg.Schema, cfg.LockTimeout)
	pc.ConnConfig.RuntimeParams["application_name"] = "refundry"
	if cfg.Params == ParamsRole {
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	} else {
		maps.Copy(pc.ConnConfig.RuntimeParams, settings)
	}
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if cfg.Params == ParamsRole {
			if err := compareSettings(ctx, conn, useRole, settings); err != nil {
				return err
			}
		}
		if cfg.HoldOnFailover {
			return holdIfMoved(ctx, conn)
		}
		return nil
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	return pc, nil
}

// Close gives all connections back. Transactions under way end first.
func (s *Store) Close() {
	s.announcer.close()
	s.pool.Close()
}

// Pool is for the parts that need their own statements in our database: River and readiness.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping says whether the database answers. Errors: refund.ErrUnavailable.
func (s *Store) Ping(ctx context.Context) error { return translate(s.pool.Ping(ctx)) }

// OpenPool opens another pool on the same schema, for a part that brings its own statements (River). Its sessions have
// the planner's defaults and stay the caller's as long as it keeps a connection: url must not go through a pooler in transaction mode.
// Errors: refund.ErrUnavailable, *SettingsError.
func OpenPool(ctx context.Context, url, schema string, maxConns int32) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	pc.MaxConns, pc.MaxConnLifetimeJitter, pc.PingTimeout = maxConns, 5*time.Minute, 2*time.Second
	return openOwn(ctx, pc, "refundry-jobs", ownSettings(schema, map[string]string{"statement_timeout": "60000", "idle_in_transaction_session_timeout": "30000"}))
}

// openOwn opens a pool of sessions with settings of their own, and sees that they have them.
func openOwn(ctx context.Context, pc *pgxpool.Config, name string, settings map[string]string) (*pgxpool.Pool, error) {
	pc.ConnConfig.RuntimeParams["application_name"] = name
	maps.Copy(pc.ConnConfig.RuntimeParams, settings)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := firstConnection(ctx, pool, useOwn, settings); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func (s *Store) readIdentity(ctx context.Context) error {
	err := s.pool.QueryRow(ctx, `SELECT installation_id::text, epoch FROM installation`).Scan(&s.identity.installation, &s.identity.epoch)
	if err != nil {
		return fmt.Errorf("store: the schema %q is not ready (run `refundry migrate`): %w", s.cfg.Schema, translate(err))
	}
	return nil
}

// Installation is the id that is part of every dispatch number.
func (s *Store) Installation() string { return s.identity.installation }

// NewRID makes a time-ordered id: uuid version 7, monotone in this process.
func NewRID() refund.RID { return refund.RID(uuid.Must(uuid.NewV7())) }
