package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// unpairFor is unpair for the refund that a notice names.
func (s *Store) unpairFor(ctx context.Context, account string, n refund.KeptNotice) (freed bool, err error) {
	target, err := s.noticeTarget(ctx, account, n)
	if err != nil || target == nil {
		return false, err
	}
	return s.unpair(ctx, target.RefundRef, n.ChannelRefundID)
}

// unpair frees a channel refund id for refund k (rule R23 of docs/rules.md): an effect of another refund that has the id from a line alone,
// and not from the channel's answers, loses it. That effect may be paired with another line afterwards. freed reports whether an effect lost
// the id; false = the id belongs to k, to a line without a refund, to a refund that the channel itself gave it to, or to no effect.
func (s *Store) unpair(ctx context.Context, k refund.RefundRef, id string) (freed bool, err error) {
	var tenant int64
	var rid [16]byte
	var payment string
	if err := s.pool.QueryRow(ctx, ownerOfIDSQL, int64(k.Tenant), [16]byte(k.RID), id).Scan(&tenant, &rid, &payment); err != nil {
		if errors.Is(err, pgx.ErrNoRows) { // the id belongs to a line of the payment, or to no effect any more
			return false, nil
		}
		return false, pg.Translate(err)
	}
	owner := refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}
	if owner == k {
		return false, nil
	}
	u := s.newUnit()
	err = u.run(ctx, "channel refund id of "+owner.RID.String(), func() error {
		return s.withRecord(ctx, u, owner, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
			c, err := s.lineContract(ctx, tx, r.Account, r.Tenant)
			if err != nil {
				return err
			}
			ch, ok, err := refund.Unpair(r, id, c)
			if err != nil || !ok {
				return err
			}
			freed = true // stays so in a rerun, which finds the id free if an earlier run went through
			if err := s.writeChange(ctx, u, tx, &ch, refund.Fact{Kind: refund.LineUnpaired, Source: "list", Actor: actorLines}); err != nil {
				return err
			}
			err = s.enqueue(ctx, tx, refund.Wakeup{RefundRef: refund.RefundRef{Tenant: owner.Tenant}, PaymentID: payment})
			fault.Point(fault.LineUnpairedWritten)
			return err
		})
	})
	if freed && err == nil {
		fault.Point(fault.LineUnpairedCommitted)
	}
	return freed && err == nil, err
}
