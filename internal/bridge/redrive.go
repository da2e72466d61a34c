package bridge

import (
	"context"
	"log/slog"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// ErrNotRedrivable means that a parked message is a conflict: its parameters differ from the stored ones.
var ErrNotRedrivable error = &refund.Problem{Code: refund.CodeNotRedrivable}

// Redriver processes parked messages again at the wish of a person: refused, waiting and undecided ones.
type Redriver struct {
	ParkedMessages interface {
		// ParkedMessage returns a message with its bytes. Errors: refund.ErrNotFound.
		ParkedMessage(ctx context.Context, tenant refund.TenantID, id refund.RID) (intake.ParkedView, error)
		// StillParked counts a failed try.
		StillParked(ctx context.Context, tenant refund.TenantID, id refund.RID) error
	}
	Door   Door
	NewRID func() refund.RID
	Log    *slog.Logger
}

// Redrive processes one parked message with its original event id, refund id and consumer; actor is "actor:<name>". The transaction
// that decides it also closes its row, and replaces the receipt of a refusal. A closed message is returned as it is.
// Errors: ErrNotRedrivable, *refund.Problem with account-not-configured, refund.ErrNotFound, refund.ErrBusy, refund.ErrUnavailable,
// refund.ErrOverloaded.
func (r Redriver) Redrive(ctx context.Context, tenant refund.TenantID, id refund.RID, actor string) (intake.Redriven, error) {
	var out intake.Redriven
	p, err := r.ParkedMessages.ParkedMessage(ctx, tenant, id)
	out.Parked = p
	switch {
	case err != nil:
		return out, err
	case !p.DoneAt.IsZero():
		return out, nil
	case !p.Redrivable():
		return out, ErrNotRedrivable
	}
	out.Tried = true
	if out.Outcome, out.Fault, err = r.try(ctx, p, actor, &out); err != nil {
		return out, err
	}
	r.Log.InfoContext(ctx, "parked message processed again", "parked", id.String(), "actor", actor,
		"outcome", string(out.Outcome.Verdict), "readable", out.Fault == nil)
	out.Parked, err = r.ParkedMessages.ParkedMessage(ctx, tenant, id)
	return out, err
}

func (r Redriver) try(ctx context.Context, p intake.ParkedView, actor string, out *intake.Redriven) (o intake.Outcome, fault, err error) {
	in, code, fault := unpark(p.ParkedMessage)
	if fault == nil && code != "" && code != p.Tenant.Code {
		fault = undecodable("/tenantid", "is not the tenant of the parked message")
	}
	if fault != nil {
		return o, fault, r.ParkedMessages.StillParked(ctx, p.Tenant.ID, p.ParkedMessage.ID)
	}
	in.Actor, in.Transport, in.Redrive = actor, "redrive:"+p.ParkedMessage.ID.String(), true
	if in.ReplayBatch.IsZero() {
		in.ReplayBatch = r.NewRID()
	}
	out.Batch = in.ReplayBatch
	results, err := r.Door.AcceptEach(ctx, []intake.Intake{in})
	switch {
	case err != nil:
		return o, nil, err
	case results[0].Err != nil:
		return o, nil, results[0].Err
	case results[0].Verdict == intake.Busy:
		return o, nil, results[0].BusyError()
	}
	return results[0].Outcome, nil, nil
}
