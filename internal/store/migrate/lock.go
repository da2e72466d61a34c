package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	migrateLockPoll   = 100 * time.Millisecond
	migrateUnlockWait = 10 * time.Second
)

// underSchemaLock lets one replica at a time work on a schema, and makes the schema as the first thing under the lock. The lock is an
// advisory one of a session of its own and goes with it if the process dies. It is taken around goose, not by goose: goose looks for
// pending steps, and makes its version table, before it would take a lock.
//
// It asks again and again instead of waiting inside the server: a waiting statement holds a snapshot, and an index that is built
// concurrently would wait for it for ever.
func underSchemaLock(ctx context.Context, pool *pgxpool.Pool, cfg Config, work func(context.Context) error) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("lock schema %s: %w", cfg.Schema, err)
	}
	defer conn.Release()
	if err := waitForSchemaLock(ctx, conn, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlockSchema(ctx, conn, cfg.Schema)) }()
	if err := makeSchema(ctx, conn, cfg.Schema); err != nil {
		return err
	}
	return work(ctx)
}

func waitForSchemaLock(ctx context.Context, conn *pgxpool.Conn, cfg Config) error {
	ctx, cancel := context.WithTimeout(ctx, cfg.LockTimeout)
	defer cancel()
	for {
		var locked bool
		if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, migrateLockKey(cfg.Schema)).Scan(&locked); err != nil {
			return fmt.Errorf("lock schema %s: %w", cfg.Schema, err)
		}
		if locked {
			return nil
		}
		wait := time.NewTimer(migrateLockPoll/2 + rand.N(migrateLockPoll))
		select {
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("lock schema %s: another replica is migrating: %w", cfg.Schema, ctx.Err())
		case <-wait.C:
		}
	}
}

// unlockSchema gives the lock back, also when ctx is done already.
func unlockSchema(ctx context.Context, conn *pgxpool.Conn, schema string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), migrateUnlockWait)
	defer cancel()
	var unlocked bool
	if err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, migrateLockKey(schema)).Scan(&unlocked); err != nil {
		return fmt.Errorf("unlock schema %s: %w", schema, err)
	}
	if !unlocked {
		return fmt.Errorf("unlock schema %s: the session did not hold the lock", schema)
	}
	return nil
}

// makeSchema looks before it creates: CREATE SCHEMA IF NOT EXISTS wants the right to create one even where it exists, and the role of a
// cell need not have it.
func makeSchema(ctx context.Context, conn *pgxpool.Conn, schema string) error {
	var exists bool
	err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)`, schema).Scan(&exists)
	if err == nil && !exists {
		_, err = conn.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+pgx.Identifier{schema}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("make schema %s: %w", schema, err)
	}
	return nil
}

// migrateLockKey is the first 64 bits of SHA-256 over the length-prefixed words (schema, "migrate", "", ""): advisory locks are shared
// by the whole database, so every key carries the cell's name.
func migrateLockKey(schema string) int64 {
	h := sha256.New()
	for _, field := range []string{schema, "migrate", "", ""} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(field))))
		h.Write([]byte(field))
	}
	return int64(binary.BigEndian.Uint64(h.Sum(nil)))
}
