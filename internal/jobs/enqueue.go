package jobs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/refundry/refundry/internal/refund"
)

// Enqueuer inserts jobs in transactions of others. It needs no connection of its own and no running workers, so it exists
// before the store.
type Enqueuer struct {
	client        *river.Client[pgx.Tx]
	insert, topic string // see QueueJobs and Announce
}

// NewEnqueuer returns an Enqueuer for the tables of jobs in schema ("" = "refundry").
func NewEnqueuer(schema string) (*Enqueuer, error) {
	if schema == "" {
		schema = defaultSchema
	}
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{Schema: schema, FetchCooldown: cooldown, MaxAttempts: maxAttempts})
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &Enqueuer{client: client, insert: fmt.Sprintf(insertJobsSQL, pgx.Identifier{schema}.Sanitize()), topic: schema + ".river_insert"}, nil
}

// EnqueueTx inserts the jobs in tx; they exist when it commits. After an error, roll the transaction back.
func (e *Enqueuer) EnqueueTx(ctx context.Context, tx pgx.Tx, w []refund.Wakeup) error {
	if len(w) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(w))
	for i := range w {
		params[i] = river.InsertManyParams{Args: argsOf(w[i])}
	}
	n, err := e.client.InsertManyFastTx(ctx, tx, params)
	if err != nil {
		return err
	}
	if n != len(w) {
		return fmt.Errorf("jobs: %d of %d jobs inserted", n, len(w))
	}
	return nil
}
