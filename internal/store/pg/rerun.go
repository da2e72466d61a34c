package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund"
)

const (
	// reruns bounds how often a transaction is run again after a lost COMMIT.
	reruns = 3
	// firstRerunPause is the mean pause before the first rerun; each further pause is four times as long.
	firstRerunPause = 20 * time.Millisecond
)

// Rerun runs a transaction and, if the answer to its COMMIT is lost, runs it again up to three times after growing, jittered pauses. what
// names the transaction in the log.
//
// run is one whole transaction. It first takes the same row or advisory locks as its earlier runs; once it has them, an earlier COMMIT is
// either visible or has failed. Then it looks for the work of the earlier runs and, where it finds it, returns its result and writes nothing
// more. A rerun that meets ErrUnavailable or ErrBusy says nothing about the earlier runs, so it is repeated too.
//
// ctx bounds the pauses alone: its end stops further reruns, and run has the context of its closure. The first run is always made.
//
// Errors: those of run. When the outcome stays unknown, the error matches both ErrUnavailable and, with errors.Is, ErrCommitUnknown. Rerun
// has used up its tries then: a caller does not pass the transaction to Rerun once more, it reports ErrUnavailable. Repeating the whole
// operation later is safe where the operation says so.
func Rerun(ctx context.Context, log *slog.Logger, what string, run func() error) error {
	err := run()
	if !errors.Is(err, refund.ErrCommitUnknown) {
		return err
	}
	pause := firstRerunPause
	for range reruns {
		log.WarnContext(ctx, "outcome of COMMIT unknown, running the transaction again", "transaction", what, "error", err.Error())
		if clock.Pause(ctx, clock.Jitter(pause, 0.5)) != nil {
			break
		}
		pause *= 4
		again := run()
		switch {
		case errors.Is(again, refund.ErrCommitUnknown):
			err = again
		case errors.Is(again, refund.ErrUnavailable), errors.Is(again, refund.ErrBusy):
		default:
			return again
		}
	}
	return fmt.Errorf("%w: %w", refund.ErrUnavailable, err)
}
