package store

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// matchPage is how many notices MatchNotices reads at once. keptNoticesSQL bounds how many one transaction enters.
const matchPage = 256

// matchKept enters kept notices into the refund that tx has locked, and reads the record again for each. A notice that cannot be entered
// is rolled back to a savepoint and left to MatchNotices; the transaction goes on.
func (s *Store) matchKept(ctx context.Context, u *unit, tx pgx.Tx, k refund.RefundRef, kept []storedNotice) error {
	for _, n := range kept {
		before := len(u.written)
		err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return s.matchOne(ctx, u, inner, k, n) })
		switch {
		case err == nil:
		case errors.Is(pg.Translate(err), refund.ErrUnavailable), errors.Is(pg.Translate(err), refund.ErrBusy), ctx.Err() != nil:
			return err
		default:
			u.written = u.written[:before]
			s.log.WarnContext(ctx, "an early notice was not entered", "rid", k.RID.String(), "status", string(n.Status), "error", err.Error())
		}
	}
	return nil
}

func (s *Store) matchOne(ctx context.Context, u *unit, tx pgx.Tx, k refund.RefundRef, n storedNotice) error {
	r, err := s.readAgain(ctx, tx, k)
	if err != nil {
		return err
	}
	if _, configured := s.contractOf(r.Account, r.Tenant); !configured {
		return nil // without the account's contract the notice has no meaning
	}
	target, err := noticeTargetIn(ctx, tx, r.Account, refund.KeptNotice{Notice: n.Notice})
	if err != nil || target == nil || target.RefundRef != k {
		return err // the id belongs to another refund
	}
	if named, _, err := s.contradiction(ctx, tx, r.Account, n.Notice); err != nil || len(named) > 0 {
		return err // MatchNotices opens the cases: it may lock other refunds
	}
	tied, err := tieNotice(ctx, tx, r.Account, n.Digest, k)
	if err != nil || !tied {
		return err // tied by an earlier notice of this transaction
	}
	f, says := n.Fact(target.dispatch)
	if _, err := s.enterNotice(ctx, u, tx, r, f, says); err != nil {
		return err
	}
	s.log.InfoContext(ctx, "an early notice was matched to its refund", "rid", k.RID.String(), "status", string(n.Status))
	return nil
}

// readAgain reads the record inside a transaction that holds the refund's lock.
func (s *Store) readAgain(ctx context.Context, tx pgx.Tx, k refund.RefundRef) (refund.Record, error) {
	var rec refund.Record
	b := &pgx.Batch{}
	s.queueRecord(b, k, lockPaymentSQL, &rec)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return rec, err
	}
	return rec, s.readSiblings(ctx, tx, &rec)
}

// matchGroup enters notices that waited for the numbers of new refunds, before their transaction commits. noticed are the numbers with such
// notices.
func (s *Store) matchGroup(ctx context.Context, u *unit, tx pgx.Tx, made []intake.NewRefund, noticed []string) error {
	for _, r := range made {
		if !slices.Contains(noticed, r.Number) {
			continue
		}
		rows, err := tx.Query(ctx, keptNoticesSQL, r.Account, []string{r.Number}, []string{})
		if err != nil {
			return err
		}
		kept, err := pgx.CollectRows(rows, scanKept)
		if err != nil {
			return err
		}
		if err := s.matchKept(ctx, u, tx, r.RefundRef, kept); err != nil {
			return err
		}
	}
	return nil
}

// matchableNotice is a kept notice whose refund exists.
type matchableNotice struct {
	storedNotice
	noticeTarget
}

func scanMatchable(row pgx.CollectableRow) (f matchableNotice, err error) {
	var tenant int64
	var rid [16]byte
	f.storedNotice, err = scanNotice(row, &tenant, &rid, &f.dispatch)
	f.Tenant, f.RID = refund.TenantID(tenant), rid
	return f, err
}

// MatchNotices enters kept notices that their refund's transactions could not match: notices of ids that a payment's lines have named,
// those beyond the limit of one transaction, those that failed there, and notices of a number that was created at the same moment. A
// notice that cannot be entered is logged, tried again by the next pass, and delays no other. It returns how many were entered. Errors:
// ErrBusy, ErrUnavailable.
func (s *Store) MatchNotices(ctx context.Context) (int, error) {
	done := 0
	var busy error
	passed := [][]byte{}
	for {
		rows, err := s.pool.Query(ctx, matchableSQL, matchPage, passed)
		if err != nil {
			return done, pg.Translate(err)
		}
		list, err := pgx.CollectRows(rows, scanMatchable)
		if err != nil {
			return done, pg.Translate(err)
		}
		for _, f := range list {
			entered, err := s.enterMatchable(ctx, f)
			switch {
			case err == nil && entered:
				done++
			case err == nil: // entered by another process, or of an account that is not configured here
			case errors.Is(err, refund.ErrBusy):
				busy = err
			case errors.Is(err, refund.ErrUnavailable), ctx.Err() != nil:
				return done, err
			default:
				s.log.ErrorContext(ctx, "a kept notice cannot be entered", "rid", f.RID.String(), "account", f.account, "error", err.Error())
			}
			if !entered {
				passed = append(passed, f.Digest[:])
			}
		}
		if len(list) < matchPage {
			return done, busy
		}
	}
}

// enterMatchable enters one notice. If its channel refund id belongs to another effect, it proceeds as ReceiveNotice does.
func (s *Store) enterMatchable(ctx context.Context, f matchableNotice) (entered bool, err error) {
	if named, _, err := s.contradiction(ctx, s.pool, f.account, f.Notice); err != nil || len(named) > 0 {
		if err == nil {
			err = s.tieContradiction(ctx, f, named)
		}
		return err == nil, err
	}
	entered, err = s.enterMatchableOnce(ctx, f, false)
	if isIDTaken(err) {
		freed, e := s.unpair(ctx, f.RefundRef, f.ChannelRefundID)
		if e != nil {
			return false, e
		}
		entered, err = s.enterMatchableOnce(ctx, f, !freed)
	}
	return entered, err
}

// enterMatchableOnce is one transaction, run again after a lost COMMIT. A rerun finds the notice tied if an earlier run went through.
func (s *Store) enterMatchableOnce(ctx context.Context, f matchableNotice, taken bool) (entered bool, err error) {
	if _, configured := s.contractOf(f.account, f.Tenant); !configured {
		return false, nil
	}
	u := s.newUnit()
	err = u.run(ctx, "kept notice of "+f.RID.String(), func() error {
		return s.withRecord(ctx, u, f.RefundRef, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
			tied, err := tieNotice(ctx, tx, f.account, f.Digest, f.RefundRef)
			if err != nil || !tied {
				return err
			}
			entered = true
			fact, says := f.Fact(f.dispatch)
			if taken {
				fact = s.withoutTakenID(ctx, f.RefundRef, fact)
			}
			_, err = s.enterNotice(ctx, u, tx, r, fact, says)
			return err
		})
	})
	return entered && err == nil, err
}
