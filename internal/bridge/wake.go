package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// wakeBatch is how many waiting messages are tried again in one group.
const wakeBatch = 100

// Waker tries parked messages again once their payment is known.
type Waker struct {
	Lot interface {
		// Waiting reads messages that wait for a payment, the oldest first.
		Waiting(ctx context.Context, tenant refund.TenantID, paymentID string, limit int) ([]intake.ParkedMessage, error)
	}
	Door interface {
		Accept(ctx context.Context, g []intake.Intake) ([]intake.Outcome, error)
	}
	Log *slog.Logger
}

// WakePayment hands everything that waits for this payment to the door again. The same transaction that decides an item
// settles its parked row, so a message is never tried into two results. Running twice is harmless.
func (w Waker) WakePayment(ctx context.Context, tenant refund.TenantID, paymentID string) error {
	for {
		waiting, err := w.Lot.Waiting(ctx, tenant, paymentID, wakeBatch)
		if err != nil || len(waiting) == 0 {
			return err
		}
		group := make([]intake.Intake, 0, len(waiting))
		for _, m := range waiting {
			in, err := Unpark(m)
			if err != nil { // it was readable when it was parked
				return fmt.Errorf("bridge: parked message %s cannot be read any more: %w", m.ID, err)
			}
			group = append(group, in)
		}
		fault.Point(fault.WakeRead)
		out, err := w.Door.Accept(ctx, group)
		if err != nil {
			return err
		}
		fault.Point(fault.WakeDecided)
		for _, o := range out {
			if o.Verdict == intake.Waiting {
				return nil // the payment is not there after all: somebody else wakes them
			}
			if o.Verdict == intake.Busy {
				return errors.New("bridge: a refund of a parked message is busy, again later")
			}
		}
		w.Log.InfoContext(ctx, "parked messages tried again", "payment", paymentID, "messages", len(group))
	}
}

// Unpark makes an intake of a parked message, as its consumer had made it.
func Unpark(m intake.ParkedMessage) (intake.Intake, error) {
	in, _, err := unpark(m)
	return in, err
}

func unpark(m intake.ParkedMessage) (in intake.Intake, tenantCode string, err error) {
	in, tenantCode, err = Codec{}.Decode(attributesOf(m.Headers), m.Body)
	if in.ReplayBatch.IsZero() {
		in.ReplayBatch = replayBatchOf(m.Headers)
	}
	if in.OccurredAt.IsZero() {
		in.OccurredAt = brokerTimeOf(m.Headers)
	}
	in.Tenant, in.Event.Consumer, in.Actor, in.Transport, in.Parked = m.Tenant, m.Consumer, "system:wake", "parked:"+m.ID.String(), m.ID
	return in, tenantCode, err
}

// attributesOf finds the attributes of binary mode among headers; nil = the body is the whole event. A content type of
// CloudEvents decides, else one header "ce-…" does.
func attributesOf(h map[string][]string) map[string]string {
	var out map[string]string
	for name, values := range h {
		name = strings.ToLower(name)
		if name == "content-type" && len(values) == 1 && strings.HasPrefix(strings.ToLower(values[0]), "application/cloudevents") {
			return nil
		}
		attribute, found := strings.CutPrefix(name, "ce-")
		if !found || len(values) != 1 {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[attribute] = values[0]
	}
	return out
}

// replayAttribute marks what somebody sends again on purpose, as an extension of the event or a header beside it.
const replayAttribute = "replaybatchid"

// replayBatchOf finds the mark of a replay among headers. What is no id is no mark: it decides nothing.
func replayBatchOf(h map[string][]string) refund.RID {
	for name, values := range h {
		if strings.EqualFold(name, replayAttribute) && len(values) == 1 {
			return replayBatch(values[0])
		}
	}
	return refund.RID{}
}

func replayBatch(s string) refund.RID {
	id, err := refund.ParseRID(s)
	if err != nil {
		return refund.RID{}
	}
	return id
}
