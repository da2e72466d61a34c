package store

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// lineFact is what a line with a number of ours says about its refund.
type lineFact struct {
	refund.RefundRef
	fact refund.Fact
}

// enterFacts enters the facts of lines with our numbers. It returns those that it left, because they contradict what is known, or a
// constraint refused them: each needs Enter, which has the answers to that. What is known already takes no statement.
func (f *lockedPayment) enterFacts(facts []lineFact) (left []lineFact, err error) {
	facts = slices.DeleteFunc(facts, func(x lineFact) bool { return !reportable(x.fact.Kind) })
	if len(facts) == 0 {
		return nil, nil
	}
	if err := f.flush(); err != nil {
		return nil, err
	}
	told, err := f.told(facts)
	if err != nil {
		return nil, err
	}
	for _, x := range facts {
		id := x.fact.ChannelRefundID
		written := len(f.u.written)
		err := f.enterFact(x, slices.DeleteFunc(slices.Clone(told[id]), func(k refund.RefundRef) bool { return k == x.RefundRef }))
		switch {
		case err == nil:
			if id != "" && !slices.Contains(told[id], x.RefundRef) {
				told[id] = append(told[id], x.RefundRef)
			}
		case errors.Is(pg.Translate(err), refund.ErrUnavailable), errors.Is(pg.Translate(err), refund.ErrBusy), f.ctx.Err() != nil:
			return nil, err
		default:
			f.u.written = f.u.written[:written]
			left = append(left, x)
		}
	}
	return left, nil
}

// enterFact enters one fact. told are other refunds to which the channel gave its id. After an error the transaction goes on without it.
func (f *lockedPayment) enterFact(x lineFact, told []refund.RefundRef) error {
	i := slices.IndexFunc(f.Records, func(r refund.Record) bool { return r.RefundRef == x.RefundRef })
	if err := f.s.checkNames(f.ctx, f.tx, &f.Records[i].Refund, f.Records[i].Dispatches, x.fact, told); err != nil {
		return err
	}
	ch, err := f.ApplyFact(x.RefundRef, x.fact)
	if err != nil || ch.Known && len(ch.Steps) == 0 {
		return err
	}
	err = pgx.BeginFunc(f.ctx, f.tx, func(tx pgx.Tx) error {
		if err := f.s.writeChange(f.ctx, f.u, tx, &ch, x.fact); err != nil {
			return err
		}
		numbers, ids := named(&ch)
		if len(numbers)+len(ids) == 0 {
			return nil
		}
		rec, err := f.s.readAgain(f.ctx, tx, x.RefundRef) // notices may have waited for the id
		ch.After = rec
		return err
	})
	if err != nil {
		return err
	}
	f.wakeAfter(ch)
	f.Absorb(ch)
	writtenPoint, _ := enterPoints(x.fact.Kind)
	f.did = append(f.did, writtenPoint)
	return nil
}

// told returns, by channel refund id, the refunds to whose numbers the channel gave the ids of the facts.
func (f *lockedPayment) told(facts []lineFact) (map[string][]refund.RefundRef, error) {
	var wanted []string
	for _, x := range facts {
		if id := x.fact.ChannelRefundID; id != "" {
			wanted = append(wanted, id)
		}
	}
	return toldRefunds(f.ctx, f.tx, f.Payment.Account, wanted)
}
