package jobs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund"
)

// answered is the result of a call that is to be stored. The channel does not repeat it, so neither the end of the job nor an
// outage of the database may lose it while the process lives.
type answered struct {
	ref                                  refund.RefundRef
	refundID, paymentID, account, number string
	callResult
	contract refund.Contract
}

// store stores the result of a call. It repeats that for Times.Enter while the database is unavailable; after that the result
// is kept, see keptAnswers, and the error is that of the database.
func (r *Runner) store(ctx context.Context, a answered) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Times.Enter)
	defer cancel()
	retry := storeBackoff()
	for {
		err := r.storeOnce(ctx, a)
		if !isOutage(err) {
			return err
		}
		if clock.Pause(ctx, retry.Next()) != nil {
			r.keep(ctx, a, err)
			return err
		}
	}
}

// storeOnce stores the lines of a list and the facts of the answer. When a list does not have the number, the other lines come
// first: one of them may be the refund, and then its absence must not lead to another send. Where these lines cannot be entered, the
// absence proves nothing, and the answer is entered all the same. Doing it again is safe.
func (r *Runner) storeOnce(ctx context.Context, a answered) error {
	facts := slices.Clone(a.facts)
	if !a.found() {
		err := r.enterLines(ctx, a)
		if errors.Is(err, refund.ErrLinesKept) {
			facts[0].Kind, facts[0].Rule, err = refund.Unknown, ruleLinesKept, nil
		}
		if err != nil {
			return err
		}
	}
	for _, f := range facts {
		if _, err := r.cfg.Store.Enter(ctx, a.ref, f, a.contract); err != nil {
			return err
		}
	}
	if !a.found() {
		return nil
	}
	if err := r.enterLines(ctx, a); !errors.Is(err, refund.ErrLinesKept) {
		return err
	}
	return nil
}

// ruleLinesKept is the rule of a list whose other lines could not be entered.
const ruleLinesKept = "lines-kept"

// enterLines enters the lines of a list that have other numbers or none.
func (r *Runner) enterLines(ctx context.Context, a answered) error {
	if len(a.others) == 0 {
		return nil
	}
	return r.cfg.Store.EnterLines(ctx, a.ref.Tenant, a.paymentID, "list", a.others, a.complete, a.contract)
}

// storeBackoff are the pauses between two tries to store an answer.
func storeBackoff() clock.Backoff {
	return clock.Backoff{First: 50 * time.Millisecond, Longest: 2 * time.Second, Share: jitter}
}

// isOutage reports errors that pass by themselves.
func isOutage(err error) bool {
	return errors.Is(err, refund.ErrUnavailable) || errors.Is(err, refund.ErrBusy) || errors.Is(err, refund.ErrCommitUnknown)
}

// LogValue implements slog.LogValuer with what a person needs to enter the answer by hand. The evidence is left out: it may have
// personal data.
func (a answered) LogValue() slog.Value {
	f := a.facts[0]
	return slog.GroupValue(slog.String("rid", a.ref.RID.String()), slog.String("refundId", a.refundID), slog.String("account", a.account),
		slog.String("number", a.number), slog.Int("attempt", f.Attempt), slog.String("answer", string(f.Kind)), slog.String("code", f.Code),
		slog.String("rule", f.Rule), slog.String("channelRefundId", f.ChannelRefundID), slog.Int64("amount", f.Amount),
		slog.String("currency", string(f.Currency)), slog.Int("lines", len(a.others)))
}

// size estimates the memory of the answer in bytes.
func (a answered) size() int {
	n := 1024 + 256*len(a.others)
	for _, f := range a.facts {
		n += len(f.Evidence)
	}
	return n
}
