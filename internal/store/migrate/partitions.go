package migrate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/store/pg"
)

// PartitionsConfig says which partitions shall exist.
type PartitionsConfig struct {
	// Schema that holds the tables. Default "refundry".
	Schema string
	// Months of receipts after the current one. Default 3.
	Months int
	// Days of deliveries after today. Default 7.
	Days int
	// LockTimeout bounds the wait for each partition's locks. Creating one locks the default partition for a moment, and readers of receipts
	// queue behind the request. Default 2 s.
	LockTimeout time.Duration
	// Now is the clock; months and days are counted in UTC. Default: the database's.
	Now func() time.Time
}

// PartitionsResult says what became of partitions that did not exist, by name.
type PartitionsResult struct {
	// Created were made now.
	Created []string
	// Blocked were not created because the default partition holds rows of that month or day. Nothing is lost; an operator must move the
	// rows.
	Blocked []string
	// Postponed were not created because a lock was not obtained in time (a dump, a long read). The next call tries again.
	Postponed []string
}

// wantedPartition is one partition of parent that holds keys from its first day up to, not including, its last.
type wantedPartition struct {
	parent, name, key string
	from, upto        time.Time
}

// EnsurePartitions makes the partitions of this month and the next ones for receipts, of today and the next days for deliveries. It is
// idempotent, may run on several replicas at once, and writers go on meanwhile. Migrate and maintenance call it.
func EnsurePartitions(ctx context.Context, pool *pgxpool.Pool, cfg PartitionsConfig) (PartitionsResult, error) {
	var res PartitionsResult
	cfg, err := cfg.withDefaults()
	if err != nil {
		return res, err
	}
	now, err := cfg.now(ctx, pool)
	if err != nil {
		return res, err
	}
	for _, w := range wantedPartitions(now, cfg.Months, cfg.Days) {
		created, err := makePartition(ctx, pool, cfg, w)
		var pe *pgconn.PgError
		switch {
		case err == nil && created:
			res.Created = append(res.Created, w.name)
		case err == nil:
		case errors.As(err, &pe) && pe.Code == "23514": // check_violation: rows in the default partition
			res.Blocked = append(res.Blocked, w.name)
		case errors.As(err, &pe) && pe.Code == "55P03": // lock_not_available
			res.Postponed = append(res.Postponed, w.name)
		default:
			return res, fmt.Errorf("make partition %s: %w", w.name, err)
		}
	}
	return res, nil
}

func (cfg PartitionsConfig) withDefaults() (PartitionsConfig, error) {
	if cfg.Schema == "" {
		cfg.Schema = DefaultSchema
	}
	if cfg.Months <= 0 {
		cfg.Months = 3
	}
	if cfg.Days <= 0 {
		cfg.Days = 7
	}
	if cfg.LockTimeout <= 0 {
		cfg.LockTimeout = 2 * time.Second
	}
	return cfg, pg.CheckSchemaName(cfg.Schema)
}

func (cfg PartitionsConfig) now(ctx context.Context, pool *pgxpool.Pool) (time.Time, error) {
	if cfg.Now != nil {
		return cfg.Now(), nil
	}
	var now time.Time
	if err := pool.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
		return now, fmt.Errorf("database time: %w", err)
	}
	return now, nil
}

func wantedPartitions(now time.Time, months, days int) []wantedPartition {
	now = now.UTC()
	var wanted []wantedPartition
	for i := range months + 1 {
		from := time.Date(now.Year(), now.Month()+time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		wanted = append(wanted, wantedPartition{"receipts", "receipts_" + from.Format("2006_01"),
			"tenant_id, consumer, source, event_id, month", from, from.AddDate(0, 1, 0)})
	}
	for i := range days + 1 {
		from := time.Date(now.Year(), now.Month(), now.Day()+i, 0, 0, 0, 0, time.UTC)
		wanted = append(wanted, wantedPartition{"deliveries", "deliveries_" + from.Format("2006_01_02"),
			"tenant_id, delivery_id, day", from, from.AddDate(0, 0, 1)})
	}
	return wanted
}

// makePartition makes one partition in a transaction of its own, so that its locks are short. The table is made beside its parent and
// then attached: unlike PARTITION OF this does not lock the parent against its writers, and the primary key gets a name. guard_partition gives
// it the guards of its parent.
func makePartition(ctx context.Context, pool *pgxpool.Pool, cfg PartitionsConfig, w wantedPartition) (created bool, err error) {
	parent, part := pgx.Identifier{cfg.Schema, w.parent}.Sanitize(), pgx.Identifier{cfg.Schema, w.name}.Sanitize()
	exists := func(q interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}) (found bool, err error) {
		err = q.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, part).Scan(&found)
		return found, err
	}
	if found, err := exists(pool); err != nil || found {
		return false, err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, fmt.Sprintf("%dms", cfg.LockTimeout.Milliseconds())); err != nil {
			return err
		}
		// replicas queue here; readers and writers do not
		if _, err := tx.Exec(ctx, `LOCK TABLE ONLY `+parent+` IN SHARE UPDATE EXCLUSIVE MODE`); err != nil {
			return err
		}
		if found, err := exists(tx); err != nil || found {
			return err
		}
		created = true
		for _, ddl := range []string{
			fmt.Sprintf(`CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING COMMENTS)`, part, parent),
			fmt.Sprintf(`ALTER TABLE %s ADD CONSTRAINT %s PRIMARY KEY (%s)`, part, pgx.Identifier{w.name + "_pk"}.Sanitize(), w.key),
			fmt.Sprintf(`COMMENT ON TABLE %s IS 'The part of %s from %s. Made by migrate or maintenance.'`, part, w.parent, w.from.Format(time.DateOnly)),
			fmt.Sprintf(`ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')`, parent, part, w.from.Format(time.DateOnly), w.upto.Format(time.DateOnly)),
			fmt.Sprintf(`SELECT %s(%s::regclass)`, pgx.Identifier{cfg.Schema, "guard_partition"}.Sanitize(), quoteLiteral(part)),
		} {
			if _, err := tx.Exec(ctx, ddl); err != nil {
				return err
			}
		}
		fault.Point(fault.MigratePartition)
		return nil
	})
	fault.Point(fault.MigratePartitioned)
	return created && err == nil, err
}

// quoteLiteral returns the text of a table name as an SQL literal.
func quoteLiteral(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }
