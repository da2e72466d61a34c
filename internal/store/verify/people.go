package verify

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// Few refunds have cases or decisions, so these are read for those refunds alone, after the page's journal. $1 tenants, $2 rids.
const (
	reviewKeys = `(SELECT * FROM unnest($1::bigint[], $2::uuid[]) AS k (tenant_id, rid)) k`

	reviewCasesSQL = `SELECT k.tenant_id, k.rid, c.case_id, c.opened_at, c.closed_at FROM ` + reviewKeys + ` JOIN cases c USING (tenant_id, rid)`

	// An actor that is missing has no name, which no decision may have.
	reviewDecisionsSQL = `SELECT k.tenant_id, k.rid, d.decision_id, d.case_id, d.action, d.journal_seq, d.excess, d.effect_id, d.both_happened, d.evidence,
    coalesce(m.name, ''), x.name, d.made_at, d.expires_at, d.checked_at, d.applied_at, d.verdict
  FROM ` + reviewKeys + ` JOIN cases c USING (tenant_id, rid) JOIN decisions d USING (tenant_id, case_id)
    LEFT JOIN actors m ON (m.tenant_id, m.actor_id) = (d.tenant_id, d.maker) LEFT JOIN actors x ON (x.tenant_id, x.actor_id) = (d.tenant_id, d.checker)
  ORDER BY d.decision_id`

	reviewRetirementsSQL = `SELECT k.tenant_id, k.rid, x.no, x.decision_id IS NOT NULL, x.at FROM ` + reviewKeys +
		` JOIN retired_dispatches x USING (tenant_id, rid) ORDER BY x.no`
)

// people checks the refunds of the page that need their review records, in the page's snapshot.
func (w *pageWalk) people(ctx context.Context, tx pgx.Tx) error {
	if len(w.later) == 0 {
		return nil
	}
	papers := map[refund.RefundRef]*audit.ReviewRecords{}
	tenants, rids := make([]int64, len(w.later)), make([][16]byte, len(w.later))
	for i, k := range w.later {
		tenants[i], rids[i], papers[k] = int64(k.Tenant), k.RID, &audit.ReviewRecords{}
	}
	b := &pgx.Batch{}
	b.Queue(reviewCasesSQL, tenants, rids).Query(func(rows pgx.Rows) error {
		return eachReviewRow(rows, papers, scanStoredCase, func(p *audit.ReviewRecords, c audit.StoredCase) { p.Cases = append(p.Cases, c) })
	})
	b.Queue(reviewDecisionsSQL, tenants, rids).Query(func(rows pgx.Rows) error {
		return eachReviewRow(rows, papers, pg.ScanDecision, func(p *audit.ReviewRecords, d refund.Decision) { p.Decisions = append(p.Decisions, d) })
	})
	b.Queue(reviewRetirementsSQL, tenants, rids).Query(func(rows pgx.Rows) error {
		return eachReviewRow(rows, papers, scanStoredRetirement, func(p *audit.ReviewRecords, d audit.StoredRetirement) { p.Retirements = append(p.Retirements, d) })
	})
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for _, k := range w.later {
		w.key = k
		w.folds[k].People(w.page.records[k], w.v.contract, *papers[k])
	}
	return nil
}

// eachReviewRow scans rows that begin with tenant and rid.
func eachReviewRow[T any](rows pgx.Rows, papers map[refund.RefundRef]*audit.ReviewRecords, scan func(pgx.CollectableRow) (T, error),
	keep func(*audit.ReviewRecords, T)) error {
	defer rows.Close()
	for rows.Next() {
		var tenant int64
		var rid [16]byte
		one, err := scan(behind{rows, []any{&tenant, &rid}})
		if err != nil {
			return err
		}
		keep(papers[refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}], one)
	}
	return rows.Err()
}

func scanStoredCase(row pgx.CollectableRow) (c audit.StoredCase, err error) {
	var id [16]byte
	var closed *time.Time
	err = row.Scan(&id, &c.OpenedAt, &closed)
	c.ID, c.ClosedAt = id, pg.Deref(closed)
	return c, err
}

func scanStoredRetirement(row pgx.CollectableRow) (d audit.StoredRetirement, err error) {
	err = row.Scan(&d.No, &d.ByDecision, &d.At)
	return d, err
}
