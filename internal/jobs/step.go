package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/refund"
)

// A step whose row another transaction changes or holds, such as an approval at the same moment, reads the row up to maxLooks times, with
// pauses of 10, 20, 40 … 320 ms ± 20 %, about 0.6 s in all. If the row is held for longer, the job ends without an error, and the sweeper
// enqueues the refund again when its timer is due, which is refund.HandoutTTL after the job was inserted.
const (
	maxLooks     = 7
	firstPause   = 10 * time.Millisecond
	longestPause = firstPause << (maxLooks - 2)
)

// noChannelWait is how long a refund waits when this process does not have its account, which another replica may have.
const noChannelWait = 30 * time.Second

// step makes the next step of a refund, if the generation of the job is that of the row. The transaction that makes a
// further step due inserts its job. A step that never gets the row is no error. Errors: ErrNotFound, ErrUnavailable, ErrBusy.
func (r *Runner) step(ctx context.Context, k refund.RefundRef, generation int) error {
	pauses := clock.Backoff{First: firstPause, Longest: longestPause, Share: jitter}
	for look := range maxLooks {
		rec, err := r.cfg.Store.Load(ctx, k)
		if err != nil {
			return err
		}
		if rec.Generation != generation {
			return nil
		}
		err = r.takeStep(ctx, rec)
		if !errors.Is(err, refund.ErrNotOwner) {
			return err
		}
		if look == maxLooks-1 {
			break // the sweeper enqueues the refund again
		}
		// The row has changed, a transaction holds it, or a send of another refund of the payment has begun the contract's spacing meanwhile.
		if err := clock.Pause(ctx, pauses.Next()); err != nil {
			return err
		}
	}
	return nil
}

// takeStep makes the step that refund.Decide returns. It returns ErrNotOwner when the record has changed.
func (r *Runner) takeStep(ctx context.Context, rec refund.Record) error {
	ch, contract, ok := r.cfg.Channels.For(rec.Account)
	if !ok {
		r.log.WarnContext(ctx, "the account is not configured in this process", "account", rec.Account, "rid", rec.RID.String())
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
		return r.callIfAdmitted(ctx, rec, refund.AttemptSend, st.Dispatch, ch, contract)
	case refund.StepQuery:
		return r.callIfAdmitted(ctx, rec, refund.AttemptQuery, st.Dispatch, ch, contract)
	case refund.StepList:
		return r.callIfAdmitted(ctx, rec, refund.AttemptList, st.Dispatch, ch, contract)
	default:
		return fmt.Errorf("jobs: unknown step %q", st.Kind)
	}
	_, err := r.cfg.Store.Enter(ctx, rec.RefundRef, own, contract)
	return err
}

// CheckNow queries the channel about a refund at once, whatever its state, and enters the answer. Errors: refund.CannotAsk when
// the contract has no queries or nothing can have been sent; ErrNotFound, ErrNoChannel, ErrOverloaded, ErrBusy, ErrUnavailable.
func (r *Runner) CheckNow(ctx context.Context, k refund.RefundRef) error {
	release, err := r.beginCheck()
	if err != nil {
		return err
	}
	defer release()
	rec, err := r.cfg.Store.Load(ctx, k)
	if err != nil {
		return err
	}
	ch, contract, ok := r.cfg.Channels.For(rec.Account)
	if !ok {
		return refund.ErrNoChannel
	}
	kind := map[refund.Recovery]refund.AttemptKind{refund.RecoverByQuery: refund.AttemptQuery, refund.RecoverByList: refund.AttemptList}[contract.Recovery()]
	no, sent := queryTarget(rec)
	switch {
	case kind == "":
		return refund.CannotAskChannel
	case !sent:
		return refund.CannotAskUnsent
	}
	return r.ask(ctx, rec, kind, no, ch, contract)
}

// beginCheck admits one more check, at most Workers at the same time. Stop waits until release is called.
func (r *Runner) beginCheck() (release func(), err error) {
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

// queryTarget returns the dispatch that a check queries: the newest exposed one, otherwise that of the latest send, whose
// exposure has ended. sent is false when no dispatch is exposed and none was ever sent.
func queryTarget(rec refund.Record) (no int, sent bool) {
	for i := len(rec.Dispatches) - 1; i >= 0; i-- {
		if rec.Dispatches[i].Exposed {
			return rec.Dispatches[i].Ordinal, true
		}
	}
	for _, a := range rec.Attempts {
		if a.Kind == refund.AttemptSend {
			no, sent = a.DispatchNo, true
		}
	}
	return no, sent
}
