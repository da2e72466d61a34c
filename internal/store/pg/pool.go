package pg

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// HotConfig says how the pool of the hot path is opened. Every field but AfterConnect is needed.
type HotConfig struct {
	URL, Schema  string
	Params       Params
	MaxConns     int32
	LockTimeout  time.Duration
	ProbeTimeout time.Duration                                   // of the ping before a pooled connection is reused
	AfterConnect func(ctx context.Context, conn *pgx.Conn) error // on every new connection, after its settings; nil = nothing
}

// OpenHot opens the pool of the hot path, and its first connection. A connection without the settings that the hot path relies on is
// refused.
// Errors: refund.ErrUnavailable with an explanation of what is in the way, *SettingsError.
func OpenHot(ctx context.Context, cfg HotConfig) (*pgxpool.Pool, error) {
	pc, err := hotPool(cfg)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := firstConnection(ctx, pool, cfg.use()); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func (cfg HotConfig) use() connectionUse {
	if cfg.Params == ParamsRole {
		return useRole
	}
	return useHot
}

// hotPool gives every connection of the hot path its settings, or relies on those of the role, and compares what each new one has. A
// pooler in transaction mode hands every transaction to any of its server connections, so nothing of ours may stay on one: statements are described and
// not prepared there.
func hotPool(cfg HotConfig) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	pc.MaxConns = cfg.MaxConns
	pc.MaxConnLifetimeJitter = 5 * time.Minute
	pc.PingTimeout = cfg.ProbeTimeout
	settings := HotSettings(cfg.Schema, cfg.LockTimeout)
	pc.ConnConfig.RuntimeParams["application_name"] = "refundry"
	if cfg.Params == ParamsRole {
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	} else {
		maps.Copy(pc.ConnConfig.RuntimeParams, settings)
	}
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := compareSettings(ctx, conn, cfg.use(), settings); err != nil {
			return err
		}
		if cfg.AfterConnect != nil {
			return cfg.AfterConnect(ctx, conn)
		}
		return nil
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	return pc, nil
}

// OpenPool opens another pool on the same schema, for a part that brings its own statements (River). Its sessions have
// the planner's defaults and stay the caller's as long as it keeps a connection: url must not go through a pooler in transaction mode.
// Errors: refund.ErrUnavailable, *SettingsError.
func OpenPool(ctx context.Context, url, schema string, maxConns int32) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	pc.MaxConns, pc.MaxConnLifetimeJitter, pc.PingTimeout = maxConns, 5*time.Minute, 2*time.Second
	return OpenOwn(ctx, pc, "refundry-jobs", OwnSettings(schema, map[string]string{"statement_timeout": "60000", "idle_in_transaction_session_timeout": "30000"}))
}

// OpenOwn opens a pool of sessions with settings of their own, and its first connection. A session without them is refused.
func OpenOwn(ctx context.Context, pc *pgxpool.Config, name string, settings map[string]string) (*pgxpool.Pool, error) {
	pc.ConnConfig.RuntimeParams["application_name"] = name
	maps.Copy(pc.ConnConfig.RuntimeParams, settings)
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return compareSettings(ctx, conn, useOwn, settings) }
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if err := firstConnection(ctx, pool, useOwn); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}
