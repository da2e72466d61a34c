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

// River's own insert takes three round trips in the accepting transaction: a statement that describes the table, a COPY,
// and a NOTIFY, which also makes commits wait for each other. This statement inserts the same row in a pipeline that is
// sent anyway. A test compares it with the row that River writes, so that an upgrade of River that changes the row is
// noticed.
const insertJobsSQL = `INSERT INTO %s.river_job (args, kind, max_attempts, metadata, priority, queue, state, tags)
SELECT a::jsonb, k, m, '{}', 1, q, 'available', '{}' FROM unnest($1::text[], $2::text[], $3::smallint[], $4::text[]) WITH ORDINALITY AS u(a, k, m, q, n) ORDER BY n`

// announceSQL sends River's notification of new jobs to the fetchers of all processes.
const announceSQL = `SELECT pg_notify($1, json_build_object('queue', q)::text) FROM unnest($2::text[]) AS q`

// QueueJobs adds the statement that inserts the jobs to b and returns their queues. The jobs exist when the transaction of
// b commits.
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

// optsOf returns the insert options of a job, with River's defaults.
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

// Announce notifies the fetchers of new jobs in the queues; without it they find the jobs at their next poll. It runs after
// the transaction that inserted them.
func (e *Enqueuer) Announce(ctx context.Context, conn *pgx.Conn, queues []string) error {
	if _, err := conn.Exec(ctx, announceSQL, e.topic, queues); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	return nil
}
