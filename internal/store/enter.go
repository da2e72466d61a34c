package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// Locks are taken in one order everywhere: the refund, then its payment.
const (
	lockRefundSQL  = `SELECT FROM refunds r WHERE r.tenant_id = $1 AND r.rid = $2 FOR NO KEY UPDATE`
	lockPaymentSQL = pg.LoadPaymentSQL + ` FOR NO KEY UPDATE`
)

// enteredSQL finds out whether a transition that we sent with a lost COMMIT is in the journal.
const enteredSQL = `SELECT EXISTS (SELECT FROM journal WHERE tenant_id = $1 AND rid = $2 AND seq = $3 AND at = $4 AND digest = $5)`

// reruns bounds how often a transaction with an unknown outcome is run again before the caller is told that nobody knows.
const reruns = 3

// Enter locks the refund and its payment, reads the record, applies the fact by the state table, writes the change and its follow-up
// job. An answer whose attempt is completed already, and a fact that the journal knows, change nothing. A conclusion from missing
// evidence must still hold under the lock.
//
// Errors: ErrNotOwner (a conclusion that has been overtaken), ErrNotFound, ErrBusy, ErrUnavailable (also when a lost COMMIT could not
// be cleared up; entering the same fact again is safe).
func (s *Store) Enter(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract) (refund.Change, error) {
	f = recordable(f)
	ch, err := s.enterOnce(ctx, k, f, c, nil)
	if _, name := pg.Constraint(err); name == "effects_channel_uq" {
		freed, e := s.unpair(ctx, k, f.ChannelRefundID)
		if e != nil {
			return refund.Change{}, e
		}
		if !freed {
			return s.enterTaken(ctx, k, f, c)
		}
		ch, err = s.enterOnce(ctx, k, f, c, nil)
	}
	return s.cleared(ctx, k, f, c, ch, err)
}

// cleared gives a definite result after a COMMIT whose answer was lost: the same transaction runs again on another connection, and
// whatever the first one did, it finds it under the row lock.
func (s *Store) cleared(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract, ch refund.Change, err error) (refund.Change, error) {
	for try := 0; errors.Is(err, refund.ErrCommitUnknown) && try < reruns; try++ {
		s.log.WarnContext(ctx, "outcome of commit unknown, running again", "rid", k.RID.String(), "fact", string(f.Kind))
		again, e := s.enterOnce(ctx, k, f, c, &ch)
		if e == nil {
			return again, nil
		}
		switch {
		case errors.Is(e, refund.ErrCommitUnknown): // it held the row, so the try before it has ended without effect, or it is the one found
			ch = again
		case !errors.Is(e, refund.ErrUnavailable) && !errors.Is(e, refund.ErrBusy):
			return refund.Change{}, e
		}
	}
	if errors.Is(err, refund.ErrCommitUnknown) {
		return refund.Change{}, fmt.Errorf("%w: outcome of commit unknown", refund.ErrUnavailable)
	}
	return ch, err
}

// enterOnce is one transaction. before is the change of an earlier try with an unknown outcome: found in the journal, it is the result.
// With ErrCommitUnknown the change that was sent comes back too.
func (s *Store) enterOnce(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract, before *refund.Change) (refund.Change, error) {
	var ch refund.Change
	written, committed := enterPoints(f.Kind)
	err := s.withRecord(ctx, k, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
		fault.Point(fault.EnterLocked)
		if before != nil {
			if done, err := entered(ctx, tx, *before); err != nil || done {
				ch = *before
				return err
			}
		}
		if err := stillHolds(r, f, c); err != nil {
			return err
		}
		var err error
		if ch, err = refund.Apply(r, f, c); err != nil {
			return err
		}
		s.name(&ch)
		if err := s.writeChange(ctx, tx, &ch, f); err != nil {
			return err
		}
		if ch.WakeNow && moves(ch, f) {
			if err := s.enqueue(ctx, tx, refund.Wakeup{RefundRef: k, Generation: ch.After.Generation}); err != nil {
				return err
			}
		}
		fault.Point(written)
		return nil
	})
	if err == nil {
		fault.Point(committed)
	}
	return ch, err
}

// withRecord runs fn in a transaction that holds the refund and its payment, with the whole record as it stands under the locks.
// BEGIN, locks and reads are one round trip. Each read is a statement of its own, so that it sees what the lock waited for.
func (s *Store) withRecord(ctx context.Context, k refund.RefundRef, fn func(ctx context.Context, tx pgx.Tx, r refund.Record) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return pg.Translate(err)
	}
	defer conn.Release()
	var rec refund.Record
	b := &pgx.Batch{}
	b.BeginTx(pgx.TxOptions{})
	b.Queue(lockRefundSQL, int64(k.Tenant), [16]byte(k.RID))
	s.queueRecord(b, k, lockPaymentSQL, &rec)
	res := conn.SendBatch(ctx, b)
	err = res.Close()
	tx := res.Tx()
	if err == nil {
		err = fn(ctx, tx, rec)
	}
	if err != nil {
		pg.Undo(ctx, tx)
		return pg.Translate(err)
	}
	return pg.CommitError(tx.Commit(ctx))
}

// stillHolds re-checks our own conclusions under the lock; evidence is never refused.
func stillHolds(r refund.Record, f refund.Fact, c refund.Contract) error {
	wants := map[refund.FactKind]refund.StepKind{refund.Settled: refund.StepSettle, refund.KeyExpired: refund.StepRetireKey, refund.Deadline: refund.StepOpenCase}
	holds := true
	if f.Kind == refund.LeaseEnd {
		holds = r.State == refund.StateProcessing && !r.LeaseEndsAt.After(r.Now)
	} else if do, ok := wants[f.Kind]; ok {
		holds = refund.Decide(r, c, r.Now).Kind == do
	}
	if !holds || (conclusion(f.Kind) && f.Generation != r.Generation) {
		return fmt.Errorf("%w: %s of generation %d, the refund is %s at %d", refund.ErrNotOwner, f.Kind, f.Generation, r.State, r.Generation)
	}
	return nil
}

func conclusion(k refund.FactKind) bool {
	return k == refund.LeaseEnd || k == refund.Settled || k == refund.KeyExpired || k == refund.Deadline
}

// moves says whether a follow-up may run at once. A conclusion that changed nothing is left to the timer, so that it can never go
// round in circles.
func moves(ch refund.Change, f refund.Fact) bool {
	b, a := ch.Before.Refund, ch.After.Refund
	return !conclusion(f.Kind) || b.State != a.State || b.DispatchNo != a.DispatchNo || b.Exposed != a.Exposed || (b.Case == nil) != (a.Case == nil)
}

// entered says whether an earlier try is in the journal. A change without a journal row is simply applied again.
func entered(ctx context.Context, tx pgx.Tx, ch refund.Change) (bool, error) {
	if len(ch.Steps) == 0 {
		return false, nil
	}
	k, digest := ch.Before.RefundRef, ch.Steps[0].Entry.Digest()
	var done bool
	err := tx.QueryRow(ctx, enteredSQL, int64(k.Tenant), [16]byte(k.RID), ch.Before.JournalSeq+1, ch.Before.Now, digest[:]).Scan(&done)
	return done, err
}

// name gives ids to what the change makes: effects and the case. An id is drawn once, so every step of the change sees the same.
func (s *Store) name(ch *refund.Change) {
	for i := range ch.After.Effects {
		if ch.After.Effects[i].ID.IsZero() {
			ch.After.Effects[i].ID = s.cfg.NewRID()
		}
	}
	var made refund.RID
	give := func(c *refund.Case) *refund.Case {
		if c == nil || !c.ID.IsZero() {
			return c
		}
		if made.IsZero() {
			made = s.cfg.NewRID()
		}
		named := *c
		named.ID = made
		return &named
	}
	for i := range ch.Steps {
		ch.Steps[i].Row.Case = give(ch.Steps[i].Row.Case)
	}
	ch.After.Case = give(ch.After.Case)
}

// enterTaken records a success whose channel refund id belongs to another effect already. What the channel said of our number stands;
// the id cannot be booked twice, so it stays in the evidence only, and the log calls for somebody.
func (s *Store) enterTaken(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract) (refund.Change, error) {
	s.log.ErrorContext(ctx, "the channel gave one refund id to two refunds", "rid", k.RID.String(), "channelRefundId", f.ChannelRefundID)
	f.Rule, f.Code, f.ChannelRefundID = "channel-refund-id-taken", bounded("id "+f.ChannelRefundID, longestCode), ""
	f.Evidence = evidence(f)
	ch, err := s.enterOnce(ctx, k, f, c, nil)
	return s.cleared(ctx, k, f, c, ch, err)
}
