package verify

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
)

// Refunds are checked page by page along their primary key. Everything of a page is read from one snapshot, in ranges that
// tile the whole key space, so that a row whose refund is missing lies in some range too.

// pageCursor is the last refund that was looked at.
type pageCursor struct {
	tenant int64
	rid    [16]byte
}

const (
	// $1, $2 after, $3 tenant or null, $4 limit
	pageBoundSQL = `SELECT tenant_id, rid FROM refunds WHERE (tenant_id, rid) > ($1, $2) AND ($3::bigint IS NULL OR tenant_id = $3)
  ORDER BY tenant_id, rid LIMIT $4`

	// $1, $2 after; $3, $4 up to, both null in the last page; $5 tenant or null
	pageRange = `(x.tenant_id, x.rid) > ($1, $2) AND ($3::bigint IS NULL OR (x.tenant_id, x.rid) <= ($3, $4::uuid)) AND ($5::bigint IS NULL OR x.tenant_id = $5)`

	pageRefundsSQL = `SELECT x.tenant_id, x.rid, x.refund_id, x.payment_id, x.order_id, x.account, x.currency, x.amount, x.digest, x.state, x.exposed,
    x.case_id IS NOT NULL, x.epoch, x.generation, x.dispatch_no, x.attempt_no, x.journal_seq, x.journal_head, clock_timestamp(),
    x.created_at, x.state_since, x.final_at, x.ask_no, x.failure_code, x.failure_channel_code, x.exponent, c.reasons
  FROM refunds x LEFT JOIN cases c ON (c.tenant_id, c.case_id) = (x.tenant_id, x.case_id) WHERE ` + pageRange + ` ORDER BY x.tenant_id, x.rid`

	pageDispatchesSQL = `SELECT x.tenant_id, x.rid, x.no, x.number, x.key_expires_at, x.absence_counts_from, x.exposed, x.overridden_by IS NOT NULL,
    x.final_negative_at,
    x.may_act_until, x.marked_epoch, x.acknowledged, x.channel_refund_id, y.no IS NOT NULL
  FROM dispatches x LEFT JOIN retired_dispatches y ON (y.tenant_id, y.rid, y.no) = (x.tenant_id, x.rid, x.no) WHERE ` + pageRange +
		` ORDER BY x.tenant_id, x.rid, x.no`

	pageAttemptsSQL = `SELECT x.tenant_id, x.rid, x.no, x.dispatch_no, x.kind, x.epoch, x.generation, x.contract_version, x.started_at, x.not_after, x.answered_at,
    x.answer, NULL::text, NULL::bigint
  FROM attempts x WHERE ` + pageRange + ` ORDER BY x.tenant_id, x.rid, x.no`

	// Two ranges: standing and returned effects have an index each.
	pageEffectsSQL = `SELECT * FROM (` + pageEffectColumns + ` AND x.status = 'MOVED' UNION ALL ` + pageEffectColumns + ` AND x.status = 'REVERSED') e
  ORDER BY 1, 2, 3`

	pageEffectColumns = `SELECT x.tenant_id, x.rid, x.effect_id, true, x.dispatch_no, x.channel_refund_id, x.amount, x.currency, x.counted, x.status,
    x.source, x.at, x.reversed_at, x.told_at, x.pending, x.covered_by, x.not_of
  FROM effects x WHERE ` + pageRange + ` AND x.rid IS NOT NULL`

	pageJournalSQL = `SELECT ` + EntryColumns + ` FROM journal x WHERE ` + pageRange + ` ORDER BY x.tenant_id, x.rid, x.seq`

	EntryColumns = `x.tenant_id, x.rid, x.seq, x.pos, x.kind, x.from_state, x.to_state, x.generation, x.source, x.actor, x.fact_key, x.at, x.data, x.digest,
    x.hash`
)

// page checks the refunds behind at. done reports that no refund follows.
func (v *Verifier) page(ctx context.Context, at pageCursor, t *tally) (next pageCursor, done bool, err error) {
	tx, err := v.db.Snapshot(ctx)
	if err != nil {
		return at, false, pg.Translate(err)
	}
	defer pg.Undo(ctx, tx)
	if err := v.learn(ctx, tx); err != nil {
		return at, false, err
	}
	return v.pageIn(ctx, tx, at, t)
}

// pageIn is page in the snapshot tx, in which the Verifier has learned what all checks need.
func (v *Verifier) pageIn(ctx context.Context, tx pgx.Tx, at pageCursor, t *tally) (next pageCursor, done bool, err error) {
	next, done, err = v.pageBound(ctx, tx, at)
	if err != nil {
		return at, false, pg.Translate(err)
	}
	args := []any{at.tenant, at.rid, nil, nil, v.tenant}
	if !done {
		args[2], args[3] = next.tenant, next.rid
	}
	p, err := v.readPage(ctx, tx, args)
	if err == nil {
		err = v.walkPage(ctx, tx, args, p, t)
	}
	return next, done, pg.Translate(err)
}

func (v *Verifier) pageBound(ctx context.Context, tx pgx.Tx, at pageCursor) (next pageCursor, last bool, err error) {
	rows, err := tx.Query(ctx, pageBoundSQL, at.tenant, at.rid, v.tenant, v.cfg.Page)
	if err != nil {
		return at, false, err
	}
	n := 0
	_, err = pgx.ForEachRow(rows, []any{&next.tenant, &next.rid}, func() error { n++; return nil })
	return next, n < v.cfg.Page, err
}

// walkPage streams the page's journal and closes every refund behind its last row.
func (v *Verifier) walkPage(ctx context.Context, tx pgx.Tx, args []any, p *pageOf, t *tally) error {
	rows, err := tx.Query(ctx, pageJournalSQL, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	w := &pageWalk{v: v, t: t, page: p, folds: map[refund.RefundRef]*audit.Fold{}}
	w.auditor = audit.NewAuditor(func(f audit.Finding) { w.found(f) })
	for rows.Next() {
		k, e, err := ScanEntry(rows)
		if err != nil {
			return err
		}
		w.row(k, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	w.close()
	for ; w.at < len(p.order); w.at++ { // refunds without any row
		w.begin(p.order[w.at])
		w.close()
	}
	t.refunds += int64(len(p.order))
	return w.people(ctx, tx)
}

// pageWalk is the merge of a page's refunds and journal rows, both in order of the key.
type pageWalk struct {
	v       *Verifier
	t       *tally
	page    *pageOf
	auditor *audit.Auditor
	at      int // first refund of the page that has not begun
	key     refund.RefundRef
	fold    *audit.Fold
	later   []refund.RefundRef // refunds with decisions in their journal, or with more than one effect
	folds   map[refund.RefundRef]*audit.Fold
}

func (w *pageWalk) row(k refund.RefundRef, e audit.StoredEntry) {
	w.t.rows++
	if w.fold == nil || k != w.key {
		w.close()
		for w.at < len(w.page.order) && before(w.page.order[w.at], k) { // a refund without a journal
			w.begin(w.page.order[w.at])
			w.close()
			w.at++
		}
		if w.at < len(w.page.order) && w.page.order[w.at] == k {
			w.at++
		}
		w.begin(k)
	}
	w.fold.Add(e)
}

func before(a, b refund.RefundRef) bool {
	return a.Tenant < b.Tenant || (a.Tenant == b.Tenant && a.RID.Compare(b.RID) < 0)
}

func (w *pageWalk) begin(k refund.RefundRef) {
	w.key, w.fold = k, w.auditor.Fold(k.RID)
	if w.v.onRefund != nil {
		w.v.onRefund(k, w.page.records[k])
	}
}

// close checks the refund whose last row has been read.
func (w *pageWalk) close() {
	if w.fold == nil {
		return
	}
	if r, ok := w.page.records[w.key]; ok {
		w.fold.Close(r.Refund, r.TenantCode)
		w.fold.Calls(r, w.v.contract)
		w.fold.CheckDecisionTimes(r, w.v.shortestHorizon(r.Account))
		if w.fold.NeedsReviewRecords(r) {
			w.later = append(w.later, w.key)
			w.folds[w.key] = w.fold
		}
	} else {
		w.found(audit.Finding{Promise: "P7", Check: "journal-orphan", What: fmt.Sprintf("%d journal rows of no refund", w.fold.Rows())})
	}
	w.fold = nil
}

func (w *pageWalk) found(f audit.Finding) {
	id := "rid:" + w.key.RID.String()
	if r, ok := w.page.records[w.key]; ok {
		id = r.RefundID
	}
	if w.v.onFinding != nil {
		w.v.onFinding(w.key, f)
	}
	w.t.add(f.Promise, Violation{Tenant: w.v.code(int64(w.key.Tenant)), RefundID: id, Check: f.Check, What: f.What})
}
