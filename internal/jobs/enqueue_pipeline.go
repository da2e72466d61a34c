package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/refundry/refundry/internal/refund"
)

// River's own insert is a COPY behind a statement that describes the table, then a NOTIFY: three round trips inside the accepting
// transaction, the last of which makes commits wait for each other. This is the same row in a pipeline that is sent anyway. A test
// holds it against the row that River writes: an upgrade of River that changes the row changes the test's result.
const insertJobsSQL = `INSERT INTO %s.river_job (args, kind, max_attempts, metadata, priority, queue, state, tags)
SELECT a::jsonb, k, m, '{}', 1, q, 'available', '{}' FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) WITH ORDINALITY AS u(a, k, m, q, n) ORDER BY n`

// announceSQL is River's message to the fetchers of a queue, in all processes.
const announceSQL = `SELECT pg_notify($1, json_build_object('queue', q)::text) FROM unnest($2::text[]) AS q`

// QueueJobs adds to b the statement that inserts the jobs, and names the queues that they are in. They are there when the transaction
// that b belongs to commits, and only then.
func (e *Enqueuer) QueueJobs(b *pgx.Batch, w []refund.Wakeup) (queues []string, err error) {
	var args, kinds, names []string
	var attempts []int16
	for i := range w {
		job := argsOf(w[i])
		text, err := json.Marshal(job)
		if err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
		queue, most := optsOf(job)
		args, kinds, names, attempts = append(args, string(text)), append(kinds, job.Kind()), append(names, queue), append(attempts, most)
		if !slices.Contains(queues, queue) {
			queues = append(queues, queue)
		}
	}
	if len(args) > 0 {
		b.Queue(e.insert, args, kinds, attempts, names)
	}
	return queues, nil
}

// optsOf is what the job says of itself, with River's defaults.
func optsOf(job river.JobArgs) (queue string, attempts int16) {
	var o river.InsertOpts
	if with, ok := job.(river.JobArgsWithInsertOpts); ok {
		o = with.InsertOpts()
	}
	if o.Queue == "" {
		o.Queue = river.QueueDefault
	}
	return o.Queue, int16(min(max(o.MaxAttempts, 1), maxAttempts)) // #nosec G115 -- bounded just now
}

// Announce tells the fetchers that the queues have new jobs: without it they find them at their next look. It stands outside of the
// transaction that inserted them.
func (e *Enqueuer) Announce(ctx context.Context, conn *pgx.Conn, queues []string) error {
	if _, err := conn.Exec(ctx, announceSQL, e.topic, queues); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}
