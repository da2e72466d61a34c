package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/migrations"
)

const (
	// DefaultSchema is the schema that is filled when MigrateConfig.Schema is empty.
	DefaultSchema = "refundry"

	versionTable      = "schema_version"
	draftVersionTable = "goose_db_version" // of databases made before the first release
	minServer         = 150000             // UNIQUE NULLS NOT DISTINCT came with PostgreSQL 15
	lockTimeout       = "30000"            // ms; a step that does not get its locks fails instead of blocking every statement behind it
)

// Config says what Migrate works on. One of URL and Pool is needed.
type Config struct {
	// URL of the database (postgres://…). Used when Pool is nil.
	URL string
	// Pool gives its connection settings. Up opens a small pool of its own, because it changes the search path of its sessions.
	Pool *pgxpool.Pool
	// Schema that holds everything, River's tables too; lower-case letters, digits and underscores, at most 46. Default "refundry".
	Schema string
	// InstallationID is the uuid that a new installation gets (after a total loss: the old one, so that dispatch numbers stay the same).
	// Empty: a new uuid v7. An existing installation with another id is an error.
	InstallationID string
	// LockTimeout bounds the wait for another replica that is migrating. Default 5 min.
	LockTimeout time.Duration
	// Logger gets one line per applied step. Default: nothing is logged.
	Logger *slog.Logger
}

// Result says what Migrate did and found.
type Result struct {
	// Applied names the steps of this run, in order; empty when the schema was up to date.
	Applied []string
	// InstallationID is the uuid of the installation, in its canonical text form.
	InstallationID string
	// ClusterChanged is true when the cluster, the timeline, the database or the table is not the one that the installation last agreed
	// to: after a restore or a failover. Migrate changes nothing about it; nothing may be sent until the epoch procedure has run.
	ClusterChanged bool
	// Partitions says which partitions were made.
	Partitions PartitionsResult
}

// Up brings the schema up to this binary's version: our SQL, River's tables, the installation row, and the partitions of the
// coming months and days. It is safe to call from several replicas at once (one works, the others wait) and cheap when nothing is to
// be done. A schema that is newer than the binary is left alone.
//
// Errors: ErrDraftSchema, bad configuration, PostgreSQL older than 15, another installation id, a lock that was not obtained in time, and whatever the
// database says. A failed step leaves the steps before it applied; the next call goes on from there.
func Up(ctx context.Context, cfg Config) (Result, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return Result{}, err
	}
	pool, err := openPool(ctx, cfg)
	if err != nil {
		return Result{}, err
	}
	defer pool.Close()
	if err := checkServerVersion(ctx, pool); err != nil {
		return Result{}, err
	}
	var res Result
	err = underSchemaLock(ctx, pool, cfg, func(ctx context.Context) (err error) {
		fault.Point(fault.MigrateLocked)
		if err := refuseDraft(ctx, pool, cfg.Schema); err != nil {
			return err
		}
		if res.Applied, err = applySteps(ctx, pool, cfg); err != nil {
			return err
		}
		fault.Point(fault.MigrateApplied)
		if err = recordInstallation(ctx, pool, cfg, &res); err != nil {
			return err
		}
		fault.Point(fault.MigrateInstalled)
		res.Partitions, err = EnsurePartitions(ctx, pool, PartitionsConfig{Schema: cfg.Schema})
		fault.Point(fault.MigrateDone)
		return err
	})
	if err != nil {
		return res, err
	}
	for _, name := range slices.Concat(res.Partitions.Blocked, res.Partitions.Postponed) {
		cfg.Logger.WarnContext(ctx, "partition not made", "partition", name)
	}
	return res, nil
}

func (cfg Config) withDefaults() (Config, error) {
	if cfg.URL == "" && cfg.Pool == nil {
		return cfg, errors.New("migrate: URL or Pool is needed")
	}
	if cfg.Schema == "" {
		cfg.Schema = DefaultSchema
	}
	if err := pg.CheckSchemaName(cfg.Schema); err != nil {
		return cfg, err
	}
	if cfg.LockTimeout <= 0 {
		cfg.LockTimeout = 5 * time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg, nil
}

// openPool opens a pool whose sessions see the schema only. Four connections: the locker, the step that runs, River's migrator,
// and one to spare. A pooler in transaction mode is refused: the locker's session holds the lock.
func openPool(ctx context.Context, cfg Config) (*pgxpool.Pool, error) {
	var pc *pgxpool.Config
	if cfg.Pool != nil {
		pc = cfg.Pool.Config()
	} else {
		var err error
		if pc, err = pgxpool.ParseConfig(cfg.URL); err != nil {
			return nil, fmt.Errorf("migrate: database URL: %w", err)
		}
	}
	pc.MaxConns, pc.MinConns, pc.MinIdleConns = 4, 0, 0
	pool, err := pg.OpenOwn(ctx, pc, "refundry-migrate", pg.OwnSettings(cfg.Schema, map[string]string{"statement_timeout": "0",
		"idle_in_transaction_session_timeout": "0", "lock_timeout": lockTimeout}))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return pool, nil
}

func checkServerVersion(ctx context.Context, pool *pgxpool.Pool) error {
	var version int
	if err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return fmt.Errorf("migrate: server version: %w", err)
	}
	if version < minServer {
		return fmt.Errorf("migrate: PostgreSQL 15 or newer is needed, the server says %d", version)
	}
	return nil
}

// applySteps runs what is not applied yet and returns the names of what it ran.
func applySteps(ctx context.Context, pool *pgxpool.Pool, cfg Config) (applied []string, err error) {
	db := stdlib.OpenDBFromPool(pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := newProvider(db, pool, cfg)
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		results = partial.Applied
	}
	for _, r := range results {
		applied = append(applied, stepName(r.Source))
		cfg.Logger.InfoContext(ctx, "migrated", "step", stepName(r.Source), "schema", cfg.Schema, "duration", r.Duration)
	}
	if err != nil {
		return applied, fmt.Errorf("migrate schema %s: %w", cfg.Schema, err)
	}
	return applied, nil
}

func newProvider(db *sql.DB, pool *pgxpool.Pool, cfg Config) (*goose.Provider, error) {
	steps := make([]*goose.Migration, 0, len(riverSteps()))
	for _, s := range riverSteps() {
		steps = append(steps, s.migration(pool, cfg))
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS,
		goose.WithDisableGlobalRegistry(true),
		goose.WithTableName(versionTable),
		goose.WithSlog(slog.New(slog.DiscardHandler)),
		goose.WithGoMigrations(steps...))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return provider, nil
}

func stepName(s *goose.Source) string {
	if s.Type == goose.TypeGo {
		return fmt.Sprintf("%04d_river", s.Version)
	}
	return path.Base(s.Path)
}
