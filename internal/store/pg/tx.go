package pg

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
)

// Querier is implemented by pools, connections and transactions.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Undo rolls back within 2 s. The pool discards a connection that does not answer.
func Undo(ctx context.Context, tx pgx.Tx) {
	if tx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// OneRow returns refund.ErrNotOwner unless a guarded UPDATE touched exactly one row.
func OneRow(n int64, what string) error {
	if n != 1 {
		return fmt.Errorf("%w: %s touched %d rows", refund.ErrNotOwner, what, n)
	}
	return nil
}

// InTx runs fn in one READ COMMITTED transaction on a connection of the pool. Errors are translated; a lost COMMIT is
// refund.ErrCommitUnknown.
func InTx(ctx context.Context, pool *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return Translate(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return Translate(err)
	}
	if err := fn(ctx, tx); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return Translate(err)
	}
	return CommitError(tx.Commit(ctx))
}
