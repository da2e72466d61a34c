package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// Locks are taken in one order everywhere: first the refund, then its payment.
var (
	lockRefundSQL  = `SELECT FROM refunds r WHERE r.tenant_id = $1 AND r.rid = $2 FOR NO KEY UPDATE`
	lockPaymentSQL = pg.LoadPaymentSQL + ` FOR NO KEY UPDATE`
)

// enteredSQL reports whether the journal has a transition that was sent with a lost COMMIT.
const enteredSQL = `SELECT EXISTS (SELECT FROM journal WHERE tenant_id = $1 AND rid = $2 AND seq = $3 AND at = $4 AND digest = $5)`

// Enter locks the refund and its payment, reads the record, applies the fact by the state table, and writes the change, with its
// follow-up job if there is one.
//
// Only the first answer of an attempt counts (rule R5 of docs/rules.md); any later one is discarded. What the channel says later arrives as
// the answer of another attempt, as a notice or as a line: it is stored as evidence of its own and may open a contradiction case. If the
// journal has the fact already, Enter marks the attempt as answered and changes nothing else, with the exceptions of rule R11. Change.Known
// reports a discarded answer and a known fact.
//
// A conclusion (LeaseEnd, Settled, KeyExpired or Deadline) follows from missing evidence and must still hold under the lock.
//
// Errors: ErrNotOwner (a conclusion that no longer holds), ErrNotFound, ErrBusy, ErrUnavailable (also if the outcome of a lost COMMIT
// stayed unknown). A fact of the channel that a guard refuses is no error: it is kept as the evidence of its attempt, with a contradiction
// case (keepRefused). Entering the same fact again is safe.
func (s *Store) Enter(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract) (refund.Change, error) {
	f = sanitize(f)
	ch, err := s.enter(ctx, k, f, c)
	if isIDTaken(err) {
		// A refund that has the id from a line alone loses it (rule R23). A line without a refund keeps it, and this fact is entered
		// without it. A refund that has it from the channel contradicts this fact.
		freed, e := s.unpair(ctx, k, f.ChannelRefundID)
		if e != nil {
			return refund.Change{}, e
		}
		if ch, err = s.enter(ctx, k, f, c); !freed && isIDTaken(err) {
			f = s.withoutTakenID(ctx, k, f)
			f.Evidence = evidence(f)
			ch, err = s.enter(ctx, k, f, c)
		}
	}
	if named := contradicting(err); named != nil {
		ch, err = s.enterContradiction(ctx, k, f, c, named)
	}
	if refusedByGuard(err) && f.Source != sourceDecision && !f.Kind.Conclusion() {
		return s.keepRefused(ctx, k, f, c, err)
	}
	return ch, err
}

// isIDTaken reports that another effect of the account has the channel refund id that a transaction tried to store: the unique index
// effects_channel_uq refused it, and the transaction was rolled back.
func isIDTaken(err error) bool {
	_, constraint := pg.Constraint(err)
	return constraint == "effects_channel_uq"
}

// enter is one transaction, run again after a lost COMMIT. A rerun finds the work of an earlier run under the row lock.
func (s *Store) enter(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract) (refund.Change, error) {
	u := s.newUnit()
	var ch refund.Change
	var unconfirmed *refund.Change // of the last run whose COMMIT was not answered
	err := u.run(ctx, "fact "+string(f.Kind)+" of "+k.RID.String(), func() (err error) {
		if ch, err = s.enterOnce(ctx, u, factInput{k, f, c, unconfirmed}); errors.Is(err, refund.ErrCommitUnknown) {
			// This run held the lock and looked for the change of the earlier run. Either it found it, and ch is that change, or the earlier
			// COMMIT had failed, and ch takes its place.
			last := ch
			unconfirmed = &last
		}
		return err
	})
	if err != nil {
		return refund.Change{}, err
	}
	return ch, nil
}

// factInput is a fact for a refund. unconfirmed is the change of the run before, whose COMMIT was not answered; it is the result if the
// journal has it. nil = there was no such run.
type factInput struct {
	ref         refund.RefundRef
	fact        refund.Fact
	contract    refund.Contract
	unconfirmed *refund.Change
}

// enterOnce is one run of the transaction that the unit u repeats. With ErrCommitUnknown it also returns the unconfirmed change.
func (s *Store) enterOnce(ctx context.Context, u *unit, e factInput) (refund.Change, error) {
	var ch refund.Change
	f := e.fact
	written, committed := enterPoints(f.Kind)
	var told []refund.RefundRef // other refunds to which the channel gave the id
	err := s.withRecordAnd(ctx, u, e.ref, func(b *pgx.Batch) { queueOthersOfID(b, e.ref, f, &told) }, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
		fault.Point(fault.EnterLocked)
		if e.unconfirmed != nil {
			if done, err := entered(ctx, tx, *e.unconfirmed); err != nil || done {
				ch = *e.unconfirmed
				return err
			}
		}
		if err := s.checkNames(ctx, tx, &r.Refund, r.Dispatches, f, told); err != nil {
			return err
		}
		var err error
		if ch, err = refund.Apply(r, f, e.contract); err != nil {
			return err
		}
		if err := s.writeChange(ctx, u, tx, &ch, f); err != nil {
			return err
		}
		if ch.WakeNow && mayFollowAtOnce(ch, f) {
			if err := s.enqueue(ctx, tx, refund.Wakeup{RefundRef: e.ref, Generation: ch.After.Generation}); err != nil {
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

// withRecord runs fn in a transaction that holds the locks of the refund and its payment, with the whole record read under these locks.
// BEGIN, locks and reads are one round trip. Each read is a statement of its own, so that it sees what the lock waited for. Before fn, the
// unit u compares the record with what its earlier runs may have committed.
func (s *Store) withRecord(ctx context.Context, u *unit, k refund.RefundRef, fn func(ctx context.Context, tx pgx.Tx, r refund.Record) error) error {
	return s.withRecordAnd(ctx, u, k, func(*pgx.Batch) {}, fn)
}

// withRecordAnd is withRecord with further reads in the same round trip.
func (s *Store) withRecordAnd(ctx context.Context, u *unit, k refund.RefundRef, also func(b *pgx.Batch),
	fn func(ctx context.Context, tx pgx.Tx, r refund.Record) error) error {
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
	also(b)
	res := conn.SendBatch(ctx, b)
	err = res.Close()
	tx := res.Tx()
	if err == nil {
		u.found(&rec.Refund)
		err = s.readSiblings(ctx, tx, &rec)
	}
	if err == nil {
		err = fn(ctx, tx, rec)
	}
	if err != nil {
		pg.Undo(ctx, tx)
		return pg.Translate(err)
	}
	return pg.CommitError(tx.Commit(ctx))
}

// mayFollowAtOnce reports whether a follow-up job may run at once. A conclusion that changed nothing is left to the timer, so that it cannot
// loop.
func mayFollowAtOnce(ch refund.Change, f refund.Fact) bool {
	b, a := ch.Before.Refund, ch.After.Refund
	return !f.Kind.Conclusion() || b.State != a.State || b.DispatchNo != a.DispatchNo || b.Exposed != a.Exposed || (b.Case == nil) != (a.Case == nil)
}

// entered reports whether the journal has the change of an earlier run. A change without a journal row is applied again.
func entered(ctx context.Context, tx pgx.Tx, ch refund.Change) (bool, error) {
	if len(ch.Steps) == 0 {
		return false, nil
	}
	k, digest := ch.Before.RefundRef, ch.Steps[0].Entry.Digest()
	var done bool
	err := tx.QueryRow(ctx, enteredSQL, int64(k.Tenant), [16]byte(k.RID), ch.Before.JournalSeq+1, ch.Before.Now, digest[:]).Scan(&done)
	return done, err
}

// assignIDs gives ids to new effects and to the new case. Every step of the change has the same ids.
func (s *Store) assignIDs(ch *refund.Change) {
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

// withoutTakenID returns the fact without its channel refund id, which belongs to another effect and cannot be booked twice. The channel's
// statement about the dispatch stands; the id stays in the evidence, and the log asks for an operator.
func (s *Store) withoutTakenID(ctx context.Context, k refund.RefundRef, f refund.Fact) refund.Fact {
	s.log.ErrorContext(ctx, "the channel gave one refund id to two refunds", "rid", k.RID.String(), "channelRefundId", f.ChannelRefundID)
	f.Rule, f.Code, f.ChannelRefundID = "channel-refund-id-taken", bounded("id "+f.ChannelRefundID, longestCode), ""
	return f
}
