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

// underSchemaLock lets one replica at a time work on a schema, and creates the schema first. The lock is an advisory lock of a session of
// its own and ends with it, also when the process is killed. It encloses goose, because goose searches for pending steps and creates its
// version table before it would take a lock.
//
// It polls instead of waiting inside the server: a waiting statement holds a snapshot, and an index that is built concurrently would wait
// for that snapshot for ever.
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

// makeSchema checks before it creates: CREATE SCHEMA IF NOT EXISTS needs the right to create a schema even where it exists, which the role
// of a cell may lack.
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
