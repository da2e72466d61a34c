package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// noticeTarget is the dispatch that a notice names.
type noticeTarget struct {
	refund.RefundRef
	dispatch int
}

// ReceiveNotice stores a notice whose signature was checked and enters its fact into the refund that it names, in one transaction under
// the refund's lock. A notice that names no refund of ours is kept and matched when a dispatch with its number is created or its channel
// refund id becomes known. A notice that names several refunds moves nothing and opens a case on each of them (rule R23 of docs/rules.md).
// The channel may repeat the notice after any error. Errors: ErrBusy, ErrUnavailable.
func (s *Store) ReceiveNotice(ctx context.Context, account string, n refund.KeptNotice) (refund.NoticeOutcome, error) {
	n.Number, n.ChannelRefundID, n.Names = bounded(n.Number, longestCode), bounded(n.ChannelRefundID, longestCode), boundedNames(n.Names)
	if out, err := s.receiveContradiction(ctx, account, n); out != "" || err != nil {
		return out, err
	}
	out, err := s.receive(ctx, account, n, false)
	if isIDTaken(err) {
		freed, e := s.unpairFor(ctx, account, n)
		if err = e; e == nil && !freed { // the other refund may have got the id from the channel meanwhile
			if out, err := s.receiveContradiction(ctx, account, n); out != "" || err != nil {
				return out, err
			}
		}
		if e == nil {
			out, err = s.receive(ctx, account, n, !freed)
		}
	}
	if refusedByGuard(err) {
		out, err = s.keepRefusedNotice(ctx, account, n, err)
	}
	if err == nil {
		fault.Point(fault.NoticeCommitted)
	}
	return out, err
}

// receive is receiveOnce, run again after a lost COMMIT. A rerun that finds the row of an earlier run returns the outcome of that run.
func (s *Store) receive(ctx context.Context, account string, n refund.KeptNotice, taken bool) (refund.NoticeOutcome, error) {
	u := s.newUnit()
	var out, sent refund.NoticeOutcome
	err := u.run(ctx, "notice of account "+account, func() (err error) {
		if out, err = s.receiveOnce(ctx, u, account, n, taken); errors.Is(err, refund.ErrCommitUnknown) && out != refund.NoticeKnown {
			sent = out
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case out == refund.NoticeKnown && sent != "":
		return sent, nil
	}
	return out, nil
}

// receiveOnce is one transaction. taken means that the channel refund id of the notice belongs to another effect, so it stays in the
// evidence only. With ErrCommitUnknown it also returns the outcome that was sent.
func (s *Store) receiveOnce(ctx context.Context, u *unit, account string, n refund.KeptNotice, taken bool) (refund.NoticeOutcome, error) {
	target, err := s.noticeTarget(ctx, account, n)
	if err == nil && target == nil {
		var out refund.NoticeOutcome
		if out, target, err = s.keep(ctx, account, n); target == nil {
			return out, err
		}
	}
	if err != nil {
		return "", err
	}
	var out refund.NoticeOutcome
	err = s.withRecord(ctx, u, target.RefundRef, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
		seen, tied, err := keepNotice(ctx, tx, account, n, &target.RefundRef)
		if err == nil && seen > 1 && !tied { // kept until now
			tied, err = tieNotice(ctx, tx, account, n.Digest, target.RefundRef)
			seen = 1
		}
		if err != nil {
			return err
		}
		if seen > 1 || !tied {
			out = refund.NoticeKnown
			return nil
		}
		f, says := n.Fact(target.dispatch)
		if taken {
			f = s.withoutTakenID(ctx, r.RefundRef, f)
		}
		out, err = s.enterNotice(ctx, u, tx, r, f, says)
		fault.Point(fault.NoticeWritten)
		return err
	})
	return out, err
}

// errIDKnown: the channel refund id of a notice became known while the notice waited for the lock.
var errIDKnown = errors.New("store: the refund of the notice is known meanwhile")

// keep stores a notice that names no refund of ours. If its refund has become known meanwhile, keep writes nothing and returns it as
// target.
func (s *Store) keep(ctx context.Context, account string, n refund.KeptNotice) (out refund.NoticeOutcome, target *noticeTarget, err error) {
	err = pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) (err error) {
		if n.Number == "" && n.ChannelRefundID != "" {
			if _, err := tx.Exec(ctx, lockIDAloneSQL, s.channelIDKey(account, n.ChannelRefundID)); err != nil {
				return err
			}
			if target, err = noticeTargetIn(ctx, tx, account, n); err != nil {
				return err
			}
			if target != nil {
				return errIDKnown
			}
		}
		_, tied, err := keepNotice(ctx, tx, account, n, nil)
		out = refund.NoticeKept
		if tied {
			out = refund.NoticeKnown
		}
		fault.Point(fault.NoticeWritten)
		return err
	})
	if errors.Is(err, errIDKnown) {
		err = nil
	}
	return out, target, err
}

func (s *Store) noticeTarget(ctx context.Context, account string, n refund.KeptNotice) (*noticeTarget, error) {
	return noticeTargetIn(ctx, s.pool, account, n)
}

func noticeTargetIn(ctx context.Context, in pg.Querier, account string, n refund.KeptNotice) (*noticeTarget, error) {
	if n.Number == "" && n.ChannelRefundID == "" {
		return nil, nil
	}
	var t noticeTarget
	var tenant int64
	var rid [16]byte
	err := in.QueryRow(ctx, noticeTargetSQL, account, pg.Null(n.Number), pg.Null(n.ChannelRefundID)).Scan(&tenant, &rid, &t.dispatch)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	t.Tenant, t.RID = refund.TenantID(tenant), rid
	return &t, pg.Translate(err)
}

// enterNotice applies the fact of a notice to a record that is held under its lock. reports is false for a status that proves nothing.
func (s *Store) enterNotice(ctx context.Context, u *unit, tx pgx.Tx, r refund.Record, f refund.Fact, reports bool) (refund.NoticeOutcome, error) {
	c, configured := s.contractOf(r.Account, r.Tenant)
	if !reports || !configured {
		return refund.NoticeUnusable, nil
	}
	f = sanitize(f)
	ch, err := refund.Apply(r, f, c)
	if err != nil {
		return "", err
	}
	if err := s.writeChange(ctx, u, tx, &ch, f); err != nil {
		return "", err
	}
	if ch.WakeNow && mayFollowAtOnce(ch, f) {
		if err := s.enqueue(ctx, tx, refund.Wakeup{RefundRef: r.RefundRef, Generation: ch.After.Generation}); err != nil {
			return "", err
		}
	}
	if ch.Known {
		return refund.NoticeKnown, nil
	}
	return refund.NoticeEntered, nil
}
