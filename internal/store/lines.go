package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

var (
	heldLinesSQL = `SELECT ` + pg.EffectColumns + `
    FROM effects e WHERE e.tenant_id = $1 AND e.payment_id = $2 AND e.rid IS NULL ORDER BY e.effect_id`
	refundsOfPaymentSQL = `WITH RECURSIVE chain (rid) AS (
      SELECT p.last_rid FROM payments p WHERE p.tenant_id = $1 AND p.payment_id = $2 AND p.last_rid IS NOT NULL
      UNION ALL
      SELECT x.prev_rid FROM chain JOIN refunds x ON x.tenant_id = $1 AND x.rid = chain.rid WHERE x.prev_rid IS NOT NULL)
    SELECT rid FROM chain ORDER BY rid`
	lockRefundsSQL = `SELECT FROM refunds r WHERE r.tenant_id = $1 AND r.rid = ANY($2) ORDER BY r.rid FOR NO KEY UPDATE`
	takenIDsSQL    = `SELECT e.channel_refund_id FROM effects e WHERE e.account = $1 AND e.channel_refund_id = ANY($2) AND e.status <> 'DROPPED'
    AND (e.tenant_id, e.payment_id) <> ($3, $4)`
	ownerOfIDSQL = `SELECT e.tenant_id, e.rid, e.payment_id FROM effects e JOIN refunds r ON r.account = e.account AND (r.tenant_id, r.rid) = ($1, $2)
    WHERE e.channel_refund_id = $3 AND e.status <> 'DROPPED' AND e.rid IS NOT NULL`
	linesToSettleSQL = `SELECT EXISTS (SELECT FROM effects e WHERE e.tenant_id = $1 AND e.payment_id = $2 AND e.rid IS NULL AND e.status IN ('HELD','MOVED'))
    OR EXISTS (SELECT FROM cases c WHERE c.tenant_id = $1 AND c.payment_id = $2 AND c.closed_at IS NULL AND ('unmatched-line' = ANY(c.reasons)
      OR ('excess' = ANY(c.reasons) AND c.rid IS NOT NULL AND EXISTS (SELECT FROM payments p
      WHERE p.tenant_id = $1 AND p.payment_id = $2 AND p.excess <= p.excess_accepted))))`
	voidPaymentDecisionsSQL = `UPDATE decisions d SET verdict = 'VOID', checked_at = $3 FROM cases c
    WHERE c.tenant_id = $1 AND c.payment_id = $2 AND c.closed_at IS NULL AND (d.tenant_id, d.case_id) = (c.tenant_id, c.case_id)
      AND (d.verdict IS NULL OR (d.verdict = 'APPROVED' AND d.applied_at IS NULL)) AND d.decision_id IS DISTINCT FROM $4`
)

// actorLines is the journal's actor for lines.
const actorLines = "system:lines"

// paymentLockTries bounds how often a payment is locked again because it got another refund meanwhile.
const paymentLockTries = 3

// errNewRefund: the payment has a refund that was not locked.
var errNewRefund = errors.New("store: the payment has got another refund")

// EnterLines enters lines of a payment's list, or of a settlement file, that do not carry the number that was asked about. A line with
// another number of ours is a fact about that dispatch. A line without one is held, paired, adopted or left, in the fixed order of
// refund.PaymentSet; SettleLines looks at held lines again later. All lines enter in one transaction under the locks of all refunds of the
// payment, except facts that it cannot write, which Enter enters afterwards. A line that names several refunds moves nothing, opens a case
// on each of them and makes the list incomplete. complete means that the list has every refund of the payment; nothing is adopted from any
// other list. source is list or settlement. The same lines again change nothing.
//
// Lines that can never be entered as they are do not get lost: they are kept, and the sweep tries them again (kept_lines.go).
//
// Errors: ErrLinesKept, ErrNotFound, ErrBusy, ErrUnavailable.
func (s *Store) EnterLines(ctx context.Context, tenant refund.TenantID, paymentID, source string, lines []refund.ListedEffect, complete bool,
	c refund.Contract) error {
	if len(lines) == 0 {
		return nil
	}
	err := s.enterLines(ctx, tenant, paymentID, source, lines, complete, c)
	if refusedByGuard(err) {
		return s.keepLines(ctx, keptLines{tenant: tenant, paymentID: paymentID, source: source, lines: lines, complete: complete}, err)
	}
	return err
}

func (s *Store) enterLines(ctx context.Context, tenant refund.TenantID, paymentID, source string, lines []refund.ListedEffect, complete bool,
	c refund.Contract) error {
	for i := range lines {
		lines[i].ChannelRefundID = bounded(lines[i].ChannelRefundID, longestCode)
		lines[i].Currency = refund.Currency(bounded(string(lines[i].Currency), longestCode))
		lines[i].Number, lines[i].Names = bounded(lines[i].Number, longestCode), boundedNames(lines[i].Names)
	}
	refund.MarkConflicts(lines)
	var conflicts []lineConflict
	var left []lineFact
	err := s.withPayment(ctx, tenant, paymentID, source, c, func(ctx context.Context, f *lockedPayment) (err error) {
		taken, err := f.taken(ctx, lines)
		if err != nil {
			return err
		}
		var clean []refund.ListedEffect
		if clean, conflicts, err = f.withoutConflicts(lines); err != nil {
			return err
		}
		complete := complete && len(conflicts) == 0
		var facts []lineFact
		for _, l := range clean {
			if k, no, ok := f.About(l); ok {
				facts = append(facts, lineFact{k, sanitize(refund.Fact{Kind: l.Status, Dispatch: no, ChannelRefundID: l.ChannelRefundID, Amount: l.Amount,
					Currency: l.Currency, Names: l.Names, Source: source, Actor: actorLines})})
				continue
			}
			if taken[l.ChannelRefundID] {
				s.log.WarnContext(ctx, "a line of a payment has the channel refund id of another payment's refund", "payment", paymentID, "channelRefundId", l.ChannelRefundID)
				continue
			}
			if err := f.write(f.DecideLine(l, complete)); err != nil {
				return err
			}
		}
		if err := f.settle(); err != nil {
			return err
		}
		left, err = f.enterFacts(facts)
		return err
	})
	for _, c := range conflicts {
		if err == nil {
			err = s.contradict(ctx, c.named, lineEvidence(c.line, source))
		}
	}
	for _, x := range left {
		if err == nil {
			_, err = s.Enter(ctx, x.RefundRef, x.fact, c)
		}
	}
	return err
}

// reportable reports whether a line can prove a fact of this kind.
func reportable(k refund.FactKind) bool {
	return k == refund.Succeeded || k == refund.Acknowledged || k == refund.FailedFinal || k == refund.Reversed
}

// SettleLines settles held lines of a payment whose obstacle is gone, and ends reasons of cases about lines and excess that are gone.
// Errors: ErrBusy, ErrUnavailable.
func (s *Store) SettleLines(ctx context.Context, tenant refund.TenantID, paymentID string) error {
	var restless bool
	if err := s.pool.QueryRow(ctx, linesToSettleSQL, int64(tenant), paymentID).Scan(&restless); err != nil || !restless {
		return pg.Translate(err)
	}
	return s.withPayment(ctx, tenant, paymentID, "list", refund.Contract{}, func(_ context.Context, f *lockedPayment) error { return f.settle() })
}

// lockedPayment is a refund.PaymentSet in a transaction that holds the locks of the payment and its refunds. Its methods are in lines.go,
// lines_facts.go and lines_load.go.
type lockedPayment struct {
	refund.PaymentSet
	s       *Store
	u       *unit
	ctx     context.Context
	tx      pgx.Tx
	changed bool           // by a line without a number of ours
	pending *refund.Change // of the payment alone, not written yet
	joined  int            // changes in pending
	did     []fault.Name   // fault points of what was written
	wakes   map[refund.RefundRef]int
}

// withPayment runs fn under the locks of all refunds of a payment and of the payment itself. Refunds are locked in the order of their ids
// and before the payment, as everywhere. The zero contract stands for the account's own, or the newest stored one where this process does not
// know the account. Errors: ErrNoChannel if neither exists.
func (s *Store) withPayment(ctx context.Context, tenant refund.TenantID, paymentID, source string, c refund.Contract,
	fn func(context.Context, *lockedPayment) error) error {
	err := errNewRefund
	var f *lockedPayment
	for try := 0; errors.Is(err, errNewRefund) && try < paymentLockTries; try++ {
		u := s.newUnit()
		err = u.run(ctx, "lines of payment "+paymentID, func() error {
			return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
				f = &lockedPayment{s: s, u: u, ctx: ctx, tx: tx, wakes: map[refund.RefundRef]int{}}
				f.Source, f.Contract = source, c
				if err := f.load(tenant, paymentID); err != nil {
					return err
				}
				if err := fn(ctx, f); err != nil {
					return err
				}
				return f.close()
			})
		})
	}
	if errors.Is(err, errNewRefund) {
		return refund.ErrBusy
	}
	if err == nil {
		pointsCommitted(f.did)
	}
	return err
}

// settle settles held lines until no more can be settled.
func (f *lockedPayment) settle() error {
	for {
		ch, more, err := f.Settle()
		if err != nil || !more {
			return err
		}
		if err := f.write(ch, more, err); err != nil {
			return err
		}
	}
}

// mostJoined bounds the changes that are written together, so that the transaction is never idle for long.
const mostJoined = 500

// write takes the results of DecideLine or Settle and writes the change. Changes of the payment alone that follow each other are written
// together, so that a list of thousands of lines takes few statements.
func (f *lockedPayment) write(ch refund.Change, changed bool, err error) error {
	if err != nil || !changed {
		return err
	}
	f.changed = true
	f.did = append(f.did, linePoint(ch))
	if ch.After.RID.IsZero() {
		f.s.assignIDs(&ch)
		if f.pending != nil {
			ch.Before = f.pending.Before
		}
		f.pending = &ch
		f.Absorb(ch)
		if f.joined++; f.joined < mostJoined {
			return nil
		}
		return f.flush()
	}
	if err := f.flush(); err != nil {
		return err
	}
	if err := f.s.writeChange(f.ctx, f.u, f.tx, &ch, refund.Fact{Kind: refund.LineSettled, Source: f.Source, Actor: actorLines}); err != nil {
		return err
	}
	f.wakeAfter(ch)
	f.Absorb(ch)
	return nil
}

// flush writes the pending change.
func (f *lockedPayment) flush() error {
	if f.pending == nil {
		return nil
	}
	ch := f.pending
	f.pending, f.joined = nil, 0
	return f.s.writeChange(f.ctx, f.u, f.tx, ch, refund.Fact{Kind: refund.LineSettled, Source: f.Source, Actor: actorLines})
}

func (f *lockedPayment) wakeAfter(ch refund.Change) {
	if ch.WakeNow {
		f.wakes[ch.After.RefundRef] = ch.After.Generation
	}
}

// close writes what is left, voids decisions about the payment's cases that were made before these lines were known, and enqueues
// follow-up jobs.
func (f *lockedPayment) close() error {
	if err := f.flush(); err != nil {
		return err
	}
	if f.changed {
		if _, err := f.tx.Exec(f.ctx, voidPaymentDecisionsSQL, int64(f.Payment.Tenant), f.Payment.PaymentID, f.Now, nil); err != nil {
			return err
		}
	}
	var due []refund.Wakeup
	for k, generation := range f.wakes {
		due = append(due, refund.Wakeup{RefundRef: k, Generation: generation})
	}
	if err := f.s.enqueue(f.ctx, f.tx, due...); err != nil {
		return err
	}
	pointsWritten(f.did)
	return nil
}
