package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// Reasons of parked messages that the Door has not decided.
const (
	ParkUndecodable = "undecodable"  // no event of a known type
	ParkTooLarge    = "too-large"    // the body exceeds the limit
	ParkOtherTenant = "other-tenant" // the tenant is missing, not allowed for this bridge, or not the one that the broker has checked
	ParkRefusedByDB = "unstorable"   // the database rejects a value
	ParkGivenUp     = "given-up"     // it failed until the try Config.GiveUp, the last ones in a group of its own

	ParkUndated      = string(refund.CodeEventUndated)         // neither the event nor the broker has a time
	ParkUnconfigured = string(refund.CodeAccountNotConfigured) // no process that got the message knew the account, for accountPatience
)

// Causes of a replay that a bridge detects. intake.CauseEvent remains for repeats of producers.
const (
	CauseRedelivery = "redelivery" // the broker delivered the same message again
	CauseReplay     = "replay"     // a deliberate replay
)

// outcomeParked is the outcome of a message that the Door has not decided.
const outcomeParked = "PARKED"

// item is one message in progress.
type item struct {
	msg         Message
	in          intake.Intake
	code        string // of its tenant, "" = missing or not allowed
	parkReason  string // "" = to be decided by the Door
	tries       int    // failed ones, for reasons of its own
	busy        int    // consecutive tries that met a locked row or an unknown account
	busySince   time.Time
	retryAt     time.Time
	parkedFirst bool // parked before this try, which may crash the process

	done      bool       // its outcome is stored: it may be acknowledged
	outcome   string     // of the recorded delivery
	cause     string     // of the recorded delivery: that of a replay, or the code of a refusal
	duplicate string     // for metrics: the cause of a replay
	parked    string     // the reason, if this delivery was parked
	rid       refund.RID // of the refund, if there is one
}

// attempts is the number of the present try, from 1: the broker's deliveries and the failed tries of this delivery.
func (it *item) attempts() int { return max(it.msg.Deliveries(), 1) + it.tries }

// store decides or parks every message that is not done. A message that fails for a reason of its own stays open with the time of its next try.
// Errors: an outage of the database.
func (b *Bridge) store(ctx context.Context, items []*item) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Patience)
	defer cancel()
	var group, faulty, alone []*item
	for _, it := range items {
		if it.done {
			continue
		}
		if err := b.findTenant(ctx, it); err != nil {
			return err
		}
		switch {
		case it.parkReason != "":
			faulty = append(faulty, it)
		case it.attempts() >= b.cfg.Alone:
			alone = append(alone, it)
		default:
			group = append(group, it)
		}
	}
	if err := b.accept(ctx, group); err != nil {
		return err
	}
	if err := b.park(ctx, faulty...); err != nil {
		return err
	}
	for _, it := range alone {
		if err := b.tryAlone(ctx, it); err != nil {
			return err
		}
	}
	return nil
}

// maxParkedRetries is how often a message that was parked as given up is tried again when the broker delivers it again, which it does
// when the try crashed the process.
const maxParkedRetries = 3

// tryAlone passes one message to the Door in a group of its own. From the try Config.GiveUp on, the message is parked first as
// ParkGivenUp, and the transaction of a try that succeeds closes that row. A message that was parked so maxParkedRetries times is not
// tried again. Errors: an outage of the database.
func (b *Bridge) tryAlone(ctx context.Context, it *item) error {
	if it.attempts() >= b.cfg.GiveUp && !it.parkedFirst {
		id, tries, err := b.cfg.ParkedMessages.ParkBeforeRetry(ctx, it.in.Tenant.ID, it.in.Event, ParkGivenUp, *it.in.Park)
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

// accept passes a group to the Door and settles each result. Errors: an outage of the database.
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
		err = fmt.Errorf("the Door returned %d results for %d messages", len(results), len(group))
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

// settle applies the Door's result to one message. A message is acknowledged only after one of the verdicts listed here. Errors: an
// outage of the database.
func (b *Bridge) settle(ctx context.Context, it *item, r intake.Result) error {
	switch {
	case isOutage(r.Err):
		return r.Err
	case errors.Is(r.Err, refund.ErrBadData) && it.in.Parked.IsZero():
		it.parkReason = ParkRefusedByDB
		return b.park(ctx, it)
	case errors.Is(r.Err, refund.ErrBusy), r.Err == nil && r.Verdict == intake.Busy:
		return b.hold(ctx, it, r.Code)
	case r.Err != nil:
		b.failed(it, r.Err)
		return nil //nolint:nilerr // the error concerns this message only and is counted
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
		if r.Replayed { // the first delivery was parked
			it.parked, it.duplicate = "", b.causeOf(it, intake.Outcome{Cause: intake.CauseEvent})
		}
	default:
		b.failed(it, fmt.Errorf("unexpected verdict %q of the Door", r.Verdict))
		return nil
	}
	it.done, it.outcome = true, string(r.Verdict)
	if r.Refund != nil {
		it.rid = r.Refund.RID
	}
	return nil
}

// causeOf is the cause of a duplicate, as far as the broker's count shows it.
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

// accountPatience is how long a message waits in this process for an account that the process does not know: longer than the
// processes of an installation take to get a new configuration one after another.
const accountPatience = 10 * time.Minute

// hold keeps a message that is not decided for its next try. One whose account stays unknown for too long is parked, so that it does
// not hold a place for ever. Errors: an outage of the database.
func (b *Bridge) hold(ctx context.Context, it *item, code refund.Code) error {
	now := b.cfg.Clock()
	if it.busy++; it.busy == 1 {
		it.busySince = now
	}
	if code == refund.CodeAccountNotConfigured && now.Sub(it.busySince) >= accountPatience {
		if it.parkedFirst { // its row is there already
			it.done, it.outcome, it.parked = true, outcomeParked, ParkGivenUp
			return nil
		}
		it.parkReason = ParkUnconfigured
		return b.park(ctx, it)
	}
	it.retryAt = now.Add(b.backoff(it.busy))
	return nil
}

// failed counts a try that failed for a reason of the message's own. A message that was parked before the try stays parked and is done;
// any other stays open.
func (b *Bridge) failed(it *item, err error) {
	it.tries++
	it.retryAt = b.cfg.Clock().Add(b.backoff(it.tries))
	b.log.Error("message failed", "position", it.msg.Position(), "attempts", it.attempts(), "again", it.retryAt, "error", err.Error())
	if it.parkedFirst {
		it.done, it.outcome, it.parked = true, outcomeParked, ParkGivenUp
	}
}

// park stores messages that the Door cannot decide, in one transaction, or each in its own if that one fails. A message that cannot be
// parked stays open. Errors: an outage of the database.
func (b *Bridge) park(ctx context.Context, group ...*item) error {
	if len(group) == 0 {
		return nil
	}
	rows := make([]intake.ParkedRow, len(group))
	for i, it := range group {
		rows[i] = intake.ParkedRow{EventRef: intake.EventRef{Tenant: it.in.Tenant.ID, EventID: it.in.Event}, Park: *it.in.Park, Reason: it.parkReason}
	}
	err := b.cfg.ParkedMessages.ParkAll(ctx, rows)
	switch {
	case isOutage(err):
		return err
	case err != nil && len(group) == 1:
		b.failed(group[0], err)
		return nil
	case err != nil:
		for _, it := range group {
			if err := b.park(ctx, it); err != nil {
				return err
			}
		}
		return nil
	}
	for _, it := range group {
		it.done, it.outcome, it.cause, it.parked = true, outcomeParked, it.parkReason, it.parkReason
	}
	return nil
}

// isOutage reports that an error does not concern the message. Such an error is not counted as a try.
func isOutage(err error) bool {
	for _, class := range []error{refund.ErrUnavailable, refund.ErrOverloaded, refund.ErrCommitUnknown, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
