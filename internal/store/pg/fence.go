package pg

import (
	"context"
	"errors"
	"time"
)

const (
	journalTopSQL = `SELECT last_value FROM journal_pos_seq`
	// transactions that may still write a position drawn before
	journalWritersSQL = `SELECT coalesce(array_agg(virtualtransaction), '{}') FROM pg_locks WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation = 'journal'::regclass AND pid IS DISTINCT FROM pg_backend_pid()`
	journalStillSQL = `SELECT count(*) FROM pg_locks WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation = 'journal'::regclass AND virtualtransaction = ANY($1)`
)

// ErrFenceBusy reports that a writer of the journal did not end within the fence's patience. A reader waits and reports its lag; it never
// skips a row.
var ErrFenceBusy = errors.New("store: a transaction that writes the journal has been open for too long")

// Fence returns a position below which no further journal row can appear: every transaction that had drawn a lower one has ended. Errors:
// ErrFenceBusy, the database's own.
func Fence(ctx context.Context, q Querier, patience time.Duration) (top int64, err error) {
	if err := q.QueryRow(ctx, journalTopSQL).Scan(&top); err != nil {
		return 0, err
	}
	var writers []string
	if err := q.QueryRow(ctx, journalWritersSQL).Scan(&writers); err != nil {
		return 0, err
	}
	for end := time.Now().Add(patience); len(writers) > 0; {
		var n int
		if err := q.QueryRow(ctx, journalStillSQL, writers).Scan(&n); err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			return 0, ErrFenceBusy
		}
		wait := time.NewTimer(5 * time.Millisecond)
		select {
		case <-ctx.Done():
			wait.Stop()
			return 0, ctx.Err()
		case <-wait.C:
		}
	}
	return top, nil
}
