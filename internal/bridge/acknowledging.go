package bridge

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/refundry/refundry/internal/clock"
	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund/intake"
)

// acknowledging records the deliveries of stored messages and acknowledges the messages. The first failed acknowledgement ends the
// run: unacknowledged messages are delivered again and are replays.
func (r *run) acknowledging() {
	for done := range r.stored {
		if r.ctx.Err() != nil {
			continue
		}
		fault.Point(fault.BridgeStored)
		r.recordDeliveries(done)
		fault.Point(fault.BridgeTraced)
		if err := r.acknowledge(done); err != nil {
			r.b.cfg.Observe.AckFailed(r.b.cfg.Name)
			r.abort(fmt.Errorf("acknowledging: %w", err))
			continue
		}
		r.worked.Store(true)
		fault.Point(fault.BridgeAcked)
		r.mu.Lock()
		for _, it := range done {
			delete(r.held, it)
		}
		r.mu.Unlock()
	}
}

// recordTime is the timeout of storing the deliveries of a group.
const recordTime = 5 * time.Second

// recordDeliveries stores the deliveries of a group before they are acknowledged. After a crash between the two, the broker delivers
// again, and both deliveries are recorded. A failure is logged: it does not prevent the acknowledgement.
func (r *run) recordDeliveries(done []*item) {
	ctx, cancel := context.WithTimeout(r.ctx, recordTime)
	defer cancel()
	rows := make([]intake.Delivery, len(done))
	for i, it := range done {
		rows[i] = intake.Delivery{Tenant: it.in.Tenant.ID, Event: it.in.Event, Transport: it.in.Transport + "#" + strconv.Itoa(it.msg.Deliveries()),
			Outcome: it.outcome, Cause: it.cause, RID: it.rid, ReplayBatch: it.in.ReplayBatch}
		r.b.cfg.Observe.Delivered(r.b.cfg.Name, it.outcome, it.duplicate)
		if it.parked != "" {
			r.b.cfg.Observe.Parked(r.b.cfg.Name, it.parked)
		}
	}
	if err := r.b.cfg.Deliveries.RecordDeliveries(ctx, rows); err != nil {
		r.b.log.Warn("deliveries not recorded", "messages", len(done), "error", err.Error())
	}
}

func (r *run) acknowledge(done []*item) error {
	ctx, cancel := context.WithTimeout(r.ctx, r.b.cfg.Patience)
	defer cancel()
	msgs := make([]Message, len(done))
	for i, it := range done {
		msgs[i] = it.msg
	}
	if all, can := r.source.(GroupAcker); can {
		return all.AckAll(ctx, msgs)
	}
	for _, m := range msgs {
		if err := m.Ack(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.Position(), err)
		}
	}
	return nil
}

// renewing renews all held messages at intervals. A message that cannot be renewed is delivered again, which is not an error.
func (r *run) renewing(ctx context.Context) {
	for clock.Pause(ctx, r.b.cfg.HoldEvery) == nil {
		r.mu.Lock()
		held := make([]*item, 0, len(r.held))
		for it := range r.held {
			held = append(held, it)
		}
		r.mu.Unlock()
		for _, it := range held {
			if err := it.msg.Hold(ctx); err != nil && ctx.Err() == nil {
				r.b.log.Warn("held message not renewed", "position", it.msg.Position(), "error", err.Error())
				break
			}
		}
	}
}
