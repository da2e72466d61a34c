package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// BeginSnapshotSQL and EndSnapshotSQL enclose the reads of a Snapshot.
const (
	BeginSnapshotSQL = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`
	EndSnapshotSQL   = `COMMIT`
)

// Snapshot runs reads on one state of the database, in one REPEATABLE READ READ ONLY transaction. Every step queues the reads of one
// round trip, and a later step may use the results of the earlier ones. BEGIN travels with the first step and COMMIT with the last, so
// n steps take n round trips. Errors: the classes of Translate.
func Snapshot(ctx context.Context, pool *pgxpool.Pool, steps ...func(b *pgx.Batch)) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return Translate(err)
	}
	defer conn.Release()
	for i, step := range steps {
		b := &pgx.Batch{}
		if i == 0 {
			b.Queue(BeginSnapshotSQL)
		}
		step(b)
		if i == len(steps)-1 {
			b.Queue(EndSnapshotSQL)
		}
		if err := conn.SendBatch(ctx, b).Close(); err != nil {
			leaveSnapshot(ctx, conn.Conn())
			return Translate(err)
		}
	}
	return nil
}

// leaveSnapshot ends the transaction that a failed step left open. The pool discards a connection that does not answer within 2 s.
func leaveSnapshot(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = conn.Exec(ctx, `ROLLBACK`)
}
