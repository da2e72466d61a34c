package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund"
)

// A step whose row another transaction changes or holds, such as an approval at the same moment, reads it again so often, after 10, 20,
// 40 … ms ± 20 %; no transaction holds the row for longer than all these pauses together.
const (
	maxRereads   = 7
	firstPause   = 10 * time.Millisecond
	longestPause = firstPause << (maxRereads - 2)
)

// noChannelWait is how long a refund waits whose account this process does not know; another replica may.
const noChannelWait = 30 * time.Second

// step does the next thing for a refund, if the job's generation is still the row's. Whatever comes after it has its own job, inserted
// by the transaction that made it due. Errors: ErrNotFound, ErrUnavailable, ErrBusy.
func (r *Runner) step(ctx context.Context, k refund.RefundRef, generation int) error {
	reread := clock.Backoff{First: firstPause, Longest: longestPause, Share: jitter}
	for look := range maxRereads {
		rec, err := r.cfg.Store.Load(ctx, k)
		if err != nil {
			return err
		}
		if rec.Generation != generation {
			return nil
		}
		err = r.take(ctx, rec)
		if !errors.Is(err, refund.ErrNotOwner) {
			return err
		}
		if look == maxRereads-1 {
			break // the sweeper enqueues the refund again
		}
		// The row has changed, another refund of the payment is first, or a transaction holds the row: read it again.
		if err := clock.Pause(ctx, reread.Next()); err != nil {
			return err
		}
	}
	return nil
}

// take makes the step that Decide wants. ErrNotOwner when the record was overtaken.
func (r *Runner) take(ctx context.Context, rec refund.Record) error {
	ch, contract, ok := r.cfg.Channels.For(rec.Account)
	if !ok {
		r.log.WarnContext(ctx, "account not configured here", "account", rec.Account, "rid", rec.RID.String())
		return r.cfg.Store.Reschedule(ctx, rec.RefundRef, rec.Generation, refund.Step{Kind: refund.StepWait, Until: rec.Now.Add(noChannelWait)})
	}
	st := refund.Decide(rec, contract, rec.Now)
	own := refund.Fact{Dispatch: st.Dispatch, Generation: rec.Generation, Source: "worker", Actor: "system:worker"}
	switch st.Kind {
	case refund.StepDone:
		return nil
	case refund.StepWait:
		return r.cfg.Store.Reschedule(ctx, rec.RefundRef, rec.Generation, st)
	case refund.StepOpenCase:
		own.Kind, own.Reason = refund.Deadline, st.Reason
	case refund.StepSettle:
		own.Kind = refund.Settled
	case refund.StepRetireKey:
		own.Kind = refund.KeyExpired
	case refund.StepSend:
		return r.admitted(ctx, rec, refund.AttemptSend, st.Dispatch, ch, contract)
	case refund.StepQuery:
		return r.admitted(ctx, rec, refund.AttemptQuery, st.Dispatch, ch, contract)
	case refund.StepList:
		return r.admitted(ctx, rec, refund.AttemptList, st.Dispatch, ch, contract)
	default:
		return fmt.Errorf("jobs: unknown step %q", st.Kind)
	}
	_, err := r.cfg.Store.Enter(ctx, rec.RefundRef, own, contract)
	return err
}

// CheckNow asks the channel about a refund at once, whatever its state, and enters the answer. asked is false where the contract has
// nothing to ask with or nothing can have left. Errors: ErrNotFound, ErrNoChannel, ErrOverloaded, ErrBusy, ErrUnavailable.
func (r *Runner) CheckNow(ctx context.Context, k refund.RefundRef) (asked bool, err error) {
	release, err := r.enlist()
	if err != nil {
		return false, err
	}
	defer release()
	rec, err := r.cfg.Store.Load(ctx, k)
	if err != nil {
		return false, err
	}
	ch, contract, ok := r.cfg.Channels.For(rec.Account)
	if !ok {
		return false, refund.ErrNoChannel
	}
	kind := map[refund.Recovery]refund.AttemptKind{refund.RecoverByQuery: refund.AttemptQuery, refund.RecoverByList: refund.AttemptList}[contract.Recovery()]
	no, left := askable(rec)
	if kind == "" || !left {
		return false, nil
	}
	return true, r.ask(ctx, rec, kind, no, ch, contract)
}

// enlist takes a place among the questions of people, and keeps Stop waiting until it is given back.
func (r *Runner) enlist() (release func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, refund.ErrUnavailable
	}
	select {
	case r.checks <- struct{}{}:
	default:
		return nil, refund.ErrOverloaded
	}
	r.busy.Add(1)
	return func() { <-r.checks; r.busy.Done() }, nil
}

// askable is the dispatch that a person's question is about: the newest exposed one, else the live one if anything of it can have left.
func askable(rec refund.Record) (no int, left bool) {
	for i := len(rec.Dispatches) - 1; i >= 0; i-- {
		if rec.Dispatches[i].Exposed {
			return rec.Dispatches[i].Ordinal, true
		}
	}
	for _, a := range rec.Attempts {
		if a.Kind == refund.AttemptSend {
			no, left = a.DispatchNo, true
		}
	}
	return no, left
}
