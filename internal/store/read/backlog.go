package read

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/store/pg"
)

// Backlog is how much is open, for the gauges.
type Backlog struct {
	Refunds map[string]int           // by state: refunds with a timer
	Oldest  map[string]time.Duration // by state: age of the oldest in that state
	Parked  map[string]int           // by reason
	Cases   int
	Unread  map[string]int // by account: notices with a valid signature that cannot be read
	Alarms  int            // parked messages that have waited too long for their payment
	Blocked int            // tables whose default partition holds rows, which block the partition of their month or day
}

// All are answered from indexes of open rows, whose size does not grow with the history.
const (
	sqlBacklogRefunds = `SELECT state, count(*), extract(epoch FROM clock_timestamp() - min(state_since))::float8 FROM refunds
    WHERE next_action_at IS NOT NULL GROUP BY state`
	sqlBacklogParked  = `SELECT reason, count(*) FROM parked WHERE done_at IS NULL GROUP BY reason`
	sqlBacklogAlarms  = `SELECT count(*) FROM parked WHERE done_at IS NULL AND alarm_at <= now()`
	sqlBacklogBlocked = `SELECT (EXISTS (SELECT FROM receipts_default))::int + (EXISTS (SELECT FROM deliveries_default))::int`
	sqlBacklogCases   = `SELECT count(*) FROM cases WHERE closed_at IS NULL`
	sqlBacklogUnread  = `SELECT account, count(*) FROM notices WHERE unread IS NOT NULL AND ended_at IS NULL GROUP BY account`
)

// Backlog counts what is open. Errors: refund.ErrUnavailable.
func (r *Reader) Backlog(ctx context.Context) (Backlog, error) {
	out := Backlog{Refunds: map[string]int{}, Oldest: map[string]time.Duration{}, Parked: map[string]int{}, Unread: map[string]int{}}
	err := pg.Snapshot(ctx, r.pool, func(b *pgx.Batch) { queueBacklog(b, &out) })
	return out, err
}

func queueBacklog(b *pgx.Batch, out *Backlog) {
	b.Queue(sqlBacklogRefunds).Query(func(rows pgx.Rows) error {
		var state string
		var n int
		var age float64
		_, err := pgx.ForEachRow(rows, []any{&state, &n, &age}, func() error {
			out.Refunds[state], out.Oldest[state] = n, time.Duration(age*float64(time.Second))
			return nil
		})
		return err
	})
	b.Queue(sqlBacklogParked).Query(func(rows pgx.Rows) error { return countsInto(rows, out.Parked) })
	b.Queue(sqlBacklogUnread).Query(func(rows pgx.Rows) error { return countsInto(rows, out.Unread) })
	b.Queue(sqlBacklogAlarms).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Alarms) })
	b.Queue(sqlBacklogBlocked).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Blocked) })
	b.Queue(sqlBacklogCases).QueryRow(func(row pgx.Row) error { return row.Scan(&out.Cases) })
}

func countsInto(rows pgx.Rows, counts map[string]int) error {
	var name string
	var n int
	_, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { counts[name] = n; return nil })
	return err
}
