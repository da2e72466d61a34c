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

// wakeBatch is the number of waiting messages in one group.
const wakeBatch = 100

// Waker processes waiting messages once their payment is known, or more of it is captured.
type Waker struct {
	ParkedMessages interface {
		// Waiting returns messages that wait for a payment, those after a message (zero = all), the oldest first.
		Waiting(ctx context.Context, tenant refund.TenantID, paymentID string, after refund.RID, limit int) ([]intake.ParkedMessage, error)
		// StillParked counts a failed try.
		StillParked(ctx context.Context, tenant refund.TenantID, id refund.RID) error
	}
	Door interface {
		AcceptEach(ctx context.Context, g []intake.Intake) ([]intake.Result, error)
	}
	Log *slog.Logger
}

// WakePayment passes every message that waits for a payment to the Door once. The transaction that decides a message also closes its
// parked row, so a message never has two results. A message that cannot be decoded any more, or that the database refuses, stays parked
// and does not stop the others. It may run twice. Errors: a message that is to be tried again, after all others were tried; those of
// the database.
func (w Waker) WakePayment(ctx context.Context, tenant refund.TenantID, paymentID string) error {
	var after refund.RID
	var again error
	for {
		waiting, err := w.ParkedMessages.Waiting(ctx, tenant, paymentID, after, wakeBatch)
		if err != nil || len(waiting) == 0 {
			return errors.Join(err, again)
		}
		after = waiting[len(waiting)-1].ID
		group := make([]intake.Intake, 0, len(waiting))
		for _, m := range waiting {
			in, fault := Unpark(m)
			if fault == nil {
				group = append(group, in)
			} else if err := w.leave(ctx, tenant, m.ID, fault); err != nil {
				return err
			}
		}
		fault.Point(fault.WakeRead)
		results, err := w.Door.AcceptEach(ctx, group)
		if err != nil {
			return err
		}
		fault.Point(fault.WakeDecided)
		for i, r := range results {
			switch {
			case errors.Is(r.Err, refund.ErrBadData):
				if err := w.leave(ctx, tenant, group[i].Parked, r.Err); err != nil {
					return err
				}
			case r.Err != nil:
				again = r.Err
			case r.Verdict == intake.Busy:
				again = fmt.Errorf("bridge: parked message %s: %w", group[i].Parked, r.BusyError())
			}
		}
		w.Log.InfoContext(ctx, "waiting messages processed", "payment", paymentID, "messages", len(group))
	}
}

// leave counts a try of a message that stays parked for a reason of its own.
func (w Waker) leave(ctx context.Context, tenant refund.TenantID, id refund.RID, why error) error {
	w.Log.ErrorContext(ctx, "waiting message stays parked", "parked", id.String(), "error", why.Error())
	return w.ParkedMessages.StillParked(ctx, tenant, id)
}

// Unpark decodes a parked message to the intake that its consumer had made. Errors: *Undecodable.
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
	if err == nil && boundOf(m.Headers).forbids(tenantCode, in.Type) {
		err = undecodable("", "claims a tenant or a type for which its sender may not publish")
	}
	return in, tenantCode, err
}

// attributesOf returns the attributes of binary mode as they came, see Codec.Decode; nil = the body is the whole event. The mode is structured if
// the content type is that of CloudEvents or no header begins with "ce-".
func attributesOf(h map[string][]string) map[string]string {
	var out map[string]string
	media := ""
	for name, values := range h {
		name = strings.ToLower(name)
		if name == "content-type" && len(values) == 1 {
			if media = values[0]; strings.HasPrefix(strings.ToLower(media), "application/cloudevents") {
				return nil
			}
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
	if out != nil && media != "" {
		out[contentType] = media
	}
	return out
}

// replayAttribute marks messages of a deliberate replay, as an extension of the event or as a header.
const replayAttribute = "replaybatchid"

// replayBatchOf reads the header replayAttribute; zero = it is missing or no id.
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
