package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connectionUse is the purpose of a connection, which decides how it gets its settings.
type connectionUse int

const (
	useHot  connectionUse = iota // the hot path, settings sent at its start
	useRole                      // the hot path, settings of the role
	useOwn                       // a session of its own, outside of the hot path
)

const (
	adviceHot = "Let the database role have the settings: `refundry migrate --role NAME`, then --database-params=role, " +
		"and the address of PostgreSQL itself in --database-url-direct (docs/operations.md)."
	adviceRole = "Leave out what --database-url has behind its question mark, except for TLS."
	adviceOwn  = "Migrations, job notifications and verification need sessions of their own: give the address of PostgreSQL itself, " +
		"without the pooler, in --database-url-direct (docs/operations.md)."
)

const (
	stateProtocolViolation  = "08P01" // how PgBouncer refuses a startup parameter; PostgreSQL itself answers 42704 or 22023
	stateTooManyConnections = "53300"
)

// firstConnection opens the pool's first connection. Errors: refund.ErrUnavailable with an explanation, *SettingsError.
func firstConnection(ctx context.Context, pool *pgxpool.Pool, use connectionUse) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return explainConnect(ctx, pool.Config().ConnConfig, use, err)
	}
	conn.Release()
	return nil
}

// explainConnect translates the error of a connection attempt and adds a remedy where one is known.
func explainConnect(ctx context.Context, cc *pgx.ConnConfig, use connectionUse, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return Translate(err)
	}
	switch {
	case pg.Code == stateTooManyConnections:
		return fmt.Errorf("store: PostgreSQL has no free connection for this program: max_connections of the server, or the CONNECTION LIMIT of the "+
			"role or the database, is used up. Raise it, run fewer processes, or put a pooler in front (docs/operations.md): %w", Translate(err))
	case pg.Code == stateProtocolViolation && connectsWithoutParams(ctx, cc):
		advice := map[connectionUse]string{useHot: adviceHot, useRole: adviceRole, useOwn: adviceOwn}[use]
		return fmt.Errorf("store: the database URL leads to a pooler (PgBouncer or the like) that refuses settings when a connection starts. %s %w", advice,
			Translate(err))
	}
	return Translate(err)
}

// connectsWithoutParams reports whether the same connection succeeds without startup parameters, as it does through a pooler that refuses
// them.
func connectsWithoutParams(ctx context.Context, cc *pgx.ConnConfig) bool {
	if len(cc.RuntimeParams) == 0 {
		return false
	}
	bare := cc.Copy()
	clear(bare.RuntimeParams)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, bare)
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)
	return true
}
