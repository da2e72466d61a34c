package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Reasons of parked messages that the door never decided.
const (
	ParkUndecodable = "undecodable"  // not an event that we read
	ParkTooLarge    = "too-large"    // its body is over the limit
	ParkOtherTenant = "other-tenant" // for a tenant that this bridge may not speak for, or none
	ParkRefusedByDB = "unstorable"   // the database refuses a value
	ParkGivenUp     = "given-up"     // failed at every try, alone too

	ParkUndated = string(refund.CodeEventUndated) // neither it nor the broker tells when it happened
)

// Causes of a replay that only a bridge can tell; refund.CauseEvent is left for those of producers.
const (
	CauseRedelivery = "redelivery" // the broker delivered the same message again
	CauseReplay     = "replay"     // somebody replays
)

// outcomeParked is the outcome of a message that the door never decided.
const outcomeParked = "PARKED"

// item is one message on its way. done: its fate is durable and it may be acknowledged.
type item struct {
	msg         Message
	in          intake.Intake
	code        string // of its tenant, "" = none that may be
	parkReason  string // reason of parking
	tries       int    // that failed for reasons of its own
	busy        int    // tries in a row that met a locked row
	retryAt     time.Time
	parkedFirst bool // parked before the try that may be its last

	done      bool
	outcome   string     // for the trace
	cause     string     // for the trace: of a replay, or the code of a refusal
	duplicate string     // for metrics: of a replay only
	parked    string     // reason, when it was parked now
	rid       refund.RID // the refund that it led to
}

// attempts counts the broker's deliveries and our own tries.
func (it *item) attempts() int { return max(it.msg.Deliveries(), 1) + it.tries }

// store tries to make the fate of every message durable. A message that fails for reasons of its own stays open and says when
// it is due again. The error is about the database: nothing more can be stored now.
func (b *Bridge) store(ctx context.Context, items []*item) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Patience)
	defer cancel()
	var group, alone []*item
	for _, it := range items {
		if it.done {
			continue
		}
		if err := b.findTenant(ctx, it); err != nil {
			return err
		}
		switch {
		case it.parkReason != "":
			alone = append(alone, it)
		case it.attempts() >= b.cfg.Alone:
			alone = append(alone, it)
		default:
			group = append(group, it)
		}
	}
	if err := b.accept(ctx, group); err != nil {
		return err
	}
	for _, it := range alone {
		var err error
		if it.parkReason != "" {
			err = b.park(ctx, it)
		} else {
			err = b.tryAlone(ctx, it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxParkedRetries is how many times a message is tried that has been given up: each of them may have killed a process.
const maxParkedRetries = 3

// tryAlone takes one message through the door by itself. Once it has been tried too often it is parked first; the try then
// settles that row in its own transaction.
func (b *Bridge) tryAlone(ctx context.Context, it *item) error {
	if it.attempts() >= b.cfg.GiveUp && !it.parkedFirst {
		id, tries, err := b.cfg.DeadLetters.ParkBeforeRetry(ctx, it.in.Tenant.ID, it.in.Event, ParkGivenUp, *it.in.Park)
		switch {
		case isOutage(err):
			return err
		case err != nil:
			b.failed(it, err)
			return nil
		case tries > maxParkedRetries:
			it.done, it.outcome, it.parked = true, outcomeParked, ParkGivenUp
			return nil
		}
		it.parkedFirst, it.in.Parked = true, id
	}
	return b.accept(ctx, []*item{it})
}

// accept hands a group to the door and takes down each verdict.
func (b *Bridge) accept(ctx context.Context, group []*item) error {
	if len(group) == 0 {
		return nil
	}
	intakes := make([]intake.Intake, len(group))
	for i, it := range group {
		intakes[i] = it.in
	}
	results, err := b.cfg.Door.AcceptEach(ctx, intakes)
	if err == nil && len(results) != len(group) {
		err = fmt.Errorf("the door gave %d results for %d messages", len(results), len(group))
	}
	if isOutage(err) {
		return err
	}
	var outage error
	for i, it := range group {
		r := intake.Result{Err: err}
		if err == nil {
			r = results[i]
		}
		if err := b.settle(ctx, it, r); err != nil {
			outage = err
		}
	}
	return outage
}

// settle takes down what the door said of one message. Only a verdict that is listed here lets it be acknowledged.
func (b *Bridge) settle(ctx context.Context, it *item, r intake.Result) error {
	switch {
	case isOutage(r.Err):
		return r.Err
	case errors.Is(r.Err, refund.ErrBadData) && it.in.Parked.IsZero():
		it.parkReason = ParkRefusedByDB
		return b.park(ctx, it)
	case errors.Is(r.Err, refund.ErrBusy), r.Err == nil && r.Verdict == intake.Busy:
		it.busy++
		it.retryAt = b.cfg.Clock().Add(b.backoff(it.busy))
		return nil
	case r.Err != nil:
		b.failed(it, r.Err)
		return nil //nolint:nilerr // it is the message's, and counted
	}
	switch r.Verdict {
	case intake.Taken:
	case intake.Replayed:
		it.cause = b.causeOf(it, r.Outcome)
		it.duplicate = it.cause
	case intake.Conflict, intake.Refused, intake.Waiting:
		it.cause = string(r.Code)
		if it.parked = it.cause; r.Verdict == intake.Waiting {
			it.parked = intake.ParkedWaiting
		}
		if r.Replayed { // told again: the first telling was parked
			it.parked, it.duplicate = "", b.causeOf(it, intake.Outcome{Cause: intake.CauseEvent})
		}
	default:
		b.failed(it, fmt.Errorf("the door said %q", r.Verdict))
		return nil
	}
	it.done, it.outcome = true, string(r.Verdict)
	if r.Refund != nil {
		it.rid = r.Refund.RID
	}
	return nil
}

// causeOf says who made a duplicate, as far as the broker's count tells.
func (b *Bridge) causeOf(it *item, o intake.Outcome) string {
	switch {
	case o.Cause != intake.CauseEvent:
		return o.Cause
	case !it.in.ReplayBatch.IsZero():
		return CauseReplay
	case it.msg.Deliveries() > 1:
		return CauseRedelivery
	}
	return o.Cause
}

// failed counts a try that failed for reasons of the message's own. After too many the message stays in the parking lot.
func (b *Bridge) failed(it *item, err error) {
	it.tries++
	it.retryAt = b.cfg.Clock().Add(b.backoff(it.tries))
	b.log.Error("a message fails", "place", it.msg.Position(), "attempts", it.attempts(), "again", it.retryAt, "error", err.Error())
	if it.parkedFirst { // it lies there already
		it.done, it.outcome, it.parked = true, outcomeParked, ParkGivenUp
	}
}

// park keeps a message that the door cannot take, in a transaction of its own. One that cannot be parked stays open.
func (b *Bridge) park(ctx context.Context, it *item) error {
	err := b.cfg.DeadLetters.ParkUndecodable(ctx, it.in.Tenant.ID, it.in.Event, it.parkReason, *it.in.Park)
	switch {
	case isOutage(err):
		return err
	case err != nil:
		b.failed(it, err)
		return nil
	}
	it.done, it.outcome, it.cause, it.parked = true, outcomeParked, it.parkReason, it.parkReason
	return nil
}

// isOutage says that an error is the database's or the moment's, not the message's: it is never counted against a message.
func isOutage(err error) bool {
	for _, class := range []error{refund.ErrUnavailable, refund.ErrOverloaded, refund.ErrCommitUnknown, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
