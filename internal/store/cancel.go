package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
)

// Cancel cancels a PENDING refund, of which nothing is exposed. A refund that is already CANCELED is no error. actor is "actor:<name>". It returns the
// refund as it stands afterwards. Errors: ErrNotCancelable (not PENDING, something may have reached the channel, or a decided resend is
// open), ErrNotFound, ErrBusy, ErrUnavailable.
func (s *Store) Cancel(ctx context.Context, k refund.RefundRef, actor string) (refund.Refund, error) {
	f := refund.Fact{Kind: refund.Withdrawn, Source: "cancel", Actor: actor}
	u := s.newUnit()
	var r refund.Refund
	err := u.run(ctx, "cancellation of "+k.RID.String(), func() (err error) {
		r, err = s.cancelOnce(ctx, u, k, f) // finds CANCELED if an earlier run went through
		return err
	})
	return r, err
}

func (s *Store) cancelOnce(ctx context.Context, u *unit, k refund.RefundRef, f refund.Fact) (refund.Refund, error) {
	var out refund.Refund
	err := s.withRecord(ctx, u, k, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
		out = r.Refund
		if r.State == refund.StateCanceled {
			return nil
		}
		c, _ := s.contractOf(r.Account, r.Tenant) // only a refund without an exposed dispatch is canceled, and no term applies to it
		ch, err := refund.Apply(r, f, c)
		if err != nil {
			return err
		}
		if ch.After.State != refund.StateCanceled { // no rule of the table cancels it
			return refund.ErrNotCancelable
		}
		if err := s.writeChange(ctx, u, tx, &ch, f); err != nil {
			return err
		}
		out = ch.After.Refund
		fault.Point(fault.CancelWritten)
		return nil
	})
	if err == nil {
		fault.Point(fault.CancelCommitted)
	}
	return out, err
}
