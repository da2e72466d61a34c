package verify

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// WatchReport is the state of the checks after a piece of work.
type WatchReport struct {
	Leads      bool             // this process checks; the rest is empty otherwise
	Violations map[string]int64 // by promise, every promise of Promises
	MostMoved  int64            // effects that stand for one refund, at most
	Excess     map[string]int64 // minor units by currency
}

// log writes the first place of every promise that a piece found broken.
func (w *watch) log(ctx context.Context, t *tally) {
	for _, p := range t.by {
		for _, s := range p.Samples {
			w.v.cfg.Logger.ErrorContext(ctx, "a promise is broken", "promise", p.ID, "check", s.Check, "tenant", s.Tenant, "refund", s.RefundID, "subject",
				s.Subject, "what", s.What)
		}
	}
}

// summary gives the report of the latest passes.
func (w *watch) summary(leads bool) WatchReport {
	if !leads {
		return WatchReport{}
	}
	out := w.report
	out.Leads, out.MostMoved = true, max(w.most[0], w.most[1])
	out.Violations = map[string]int64{}
	for _, p := range audit.Promises() {
		out.Violations[p.ID] = 0
	}
	for _, c := range w.checks {
		out.Violations[c.promise] += w.counts[c.promise+"/"+c.name]
	}
	for _, promises := range w.broken {
		for _, p := range promises {
			out.Violations[p]++
		}
	}
	return out
}

// standing counts the effects that stand for a refund.
func standing(r *refund.Record) (n int64) {
	if r == nil {
		return 0
	}
	for _, e := range r.Effects {
		if e.Status == refund.EffectMoved {
			n++
		}
	}
	return n
}

// excess sums what was refunded above what was captured, from an index of such payments.
func (w *watch) excess(ctx context.Context) error {
	rows, err := w.v.pool.Query(ctx, `SELECT currency, sum(excess)::bigint FROM payments WHERE excess > 0 GROUP BY currency`)
	if err != nil {
		return pg.Translate(err)
	}
	excess := map[string]int64{}
	var currency string
	var sum int64
	_, err = pgx.ForEachRow(rows, []any{&currency, &sum}, func() error { excess[currency] = sum; return nil })
	w.report.Excess = excess
	return pg.Translate(err)
}
