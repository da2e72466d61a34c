package verify

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

func (v *Verifier) readPage(ctx context.Context, tx pgx.Tx, args []any) (*pageOf, error) {
	p := &pageOf{records: map[refund.RefundRef]*refund.Record{}}
	b := &pgx.Batch{}
	b.Queue(pageRefundsSQL, args...).Query(func(rows pgx.Rows) error { return v.scanPage(rows, p) })
	b.Queue(pageDispatchesSQL, args...).Query(func(rows pgx.Rows) error {
		return eachOf(rows, p, pg.ScanDispatch, func(r *refund.Record, d refund.Dispatch) { r.Dispatches = append(r.Dispatches, d) })
	})
	b.Queue(pageAttemptsSQL, args...).Query(func(rows pgx.Rows) error {
		return eachOf(rows, p, pg.ScanAttempt, func(r *refund.Record, a refund.Attempt) { r.Attempts = append(r.Attempts, a) })
	})
	b.Queue(pageEffectsSQL, args...).Query(func(rows pgx.Rows) error {
		return eachOf(rows, p, pg.ScanEffect, func(r *refund.Record, e refund.Effect) { r.Effects = append(r.Effects, e) })
	})
	return p, tx.SendBatch(ctx, b).Close()
}

func (v *Verifier) scanPage(rows pgx.Rows, p *pageOf) error {
	defer rows.Close()
	for rows.Next() {
		r := &refund.Record{Installation: v.installation}
		var tenant int64
		var rid [16]byte
		var currency, state string
		var digest, head []byte
		var hasCase bool
		var reasons []string
		var final *time.Time
		var ask *int
		var failure, channelCode *string
		if err := rows.Scan(&tenant, &rid, &r.RefundID, &r.PaymentID, &r.OrderID, &r.Account, &currency, &r.Amount, &digest, &state, &r.Exposed,
			&hasCase, &r.Epoch, &r.Generation, &r.DispatchNo, &r.AttemptNo, &r.JournalSeq, &head, &r.Now, &r.CreatedAt, &r.StateSince, &final, &ask,
			&failure, &channelCode, &r.Exponent, &reasons); err != nil {
			return err
		}
		r.RefundRef = refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}
		r.Currency, r.State, r.TenantCode = refund.Currency(currency), refund.State(state), v.tenants[tenant]
		copy(r.Digest[:], digest) // another length or version differs from the computed digest and is reported
		copy(r.JournalHead[:], head)
		r.FinalAt, r.AskNo, r.Failure = pg.Deref(final), pg.Deref(ask), refund.Failure{Code: pg.Deref(failure), ChannelCode: pg.Deref(channelCode)}
		if hasCase {
			r.Case = &refund.Case{}
			for _, reason := range reasons {
				r.Case.Reasons = append(r.Case.Reasons, refund.CaseReason(reason))
			}
		}
		p.order = append(p.order, r.RefundRef)
		p.records[r.RefundRef] = r
	}
	return rows.Err()
}

// eachOf scans rows that begin with tenant and rid. Rows without a refund are skipped: foreign keys exclude them, and another check looks
// for them.
func eachOf[T any](rows pgx.Rows, p *pageOf, scan func(pgx.CollectableRow) (T, error), keep func(*refund.Record, T)) error {
	defer rows.Close()
	for rows.Next() {
		var tenant int64
		var rid [16]byte
		one, err := scan(behind{rows, []any{&tenant, &rid}})
		if err != nil {
			return err
		}
		if r, ok := p.records[refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}]; ok {
			keep(r, one)
		}
	}
	return rows.Err()
}

// behind scans columns in front of those of the caller.
type behind struct {
	pgx.CollectableRow
	first []any
}

func (b behind) Scan(dest ...any) error {
	return b.CollectableRow.Scan(append(append([]any{}, b.first...), dest...)...)
}

// ScanEntry reads EntryColumns.
func ScanEntry(row pgx.Row) (refund.RefundRef, audit.StoredEntry, error) {
	var e audit.StoredEntry
	var tenant int64
	var rid [16]byte
	var from *string
	var to string
	var digest, hash []byte
	err := row.Scan(&tenant, &rid, &e.Seq, &e.Pos, &e.Kind, &from, &to, &e.Generation, &e.Source, &e.Actor, &e.FactKey, &e.At, &e.Data, &digest, &hash)
	e.From, e.To = refund.State(pg.Deref(from)), refund.State(to)
	copy(e.Digest[:], digest)
	copy(e.Hash[:], hash)
	return refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}, e, err
}

// pageOf is a range of refunds as one snapshot has them.
type pageOf struct {
	order   []refund.RefundRef
	records map[refund.RefundRef]*refund.Record
}
