package read

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// caseRow is a row of caseFrom, for lists.
type caseRow struct {
	ID         [16]byte   `sql:"c.case_id"`
	OpenedAt   time.Time  `sql:"c.opened_at"`
	RID        *[16]byte  `sql:"c.rid"`
	RefundID   string     `sql:"coalesce(r.refund_id, '')"`
	PaymentID  string     `sql:"coalesce(c.payment_id, r.payment_id)"`
	State      string     `sql:"coalesce(r.state, '')"`
	JournalSeq int        `sql:"coalesce(r.journal_seq, 0)"`
	Account    string     `sql:"p.account"`
	Amount     int64      `sql:"coalesce(r.amount, p.excess)"`
	Currency   string     `sql:"p.currency"`
	Reasons    []string   `sql:"c.reasons"`
	ClosedAt   *time.Time `sql:"c.closed_at"`
	ClosedHow  string     `sql:"coalesce(c.closed_how, '')"`
	Evidence   []byte     `sql:"c.evidence"`
}

// caseColumns are read by scanCase. The last one is whether a decision is open.
var caseColumns = pg.Columns[caseRow]() + `,
  EXISTS (SELECT FROM decisions d WHERE (d.tenant_id, d.case_id) = (c.tenant_id, c.case_id) AND c.closed_at IS NULL
    AND (d.verdict IS NULL OR (d.verdict = 'APPROVED' AND d.action <> 'wait' AND d.applied_at IS NULL)))`

const caseFrom = `cases c LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid)
  JOIN payments p ON p.tenant_id = c.tenant_id AND p.payment_id = coalesce(c.payment_id, r.payment_id)`

var (
	sqlInstallation = `SELECT installation_id::text FROM installation`
	caseSQL         = `SELECT ` + caseColumns + ` FROM ` + caseFrom + ` WHERE c.tenant_id = $1 AND c.case_id = $2`
	caseLinesSQL    = `SELECT ` + effectColumns + `
    FROM effects e WHERE e.tenant_id = $1 AND e.payment_id = $2 AND e.rid IS NULL AND e.status = 'HELD' ORDER BY e.effect_id`
)

// ListCases returns at most q.Limit cases: open ones oldest first, closed ones newest first. Errors: refund.ErrUnavailable.
func (r *Reader) ListCases(ctx context.Context, tenant refund.TenantID, q refund.CaseFilter) ([]refund.CaseRow, error) {
	text, args := casesQuery(tenant, q)
	rows, err := r.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (refund.CaseRow, error) {
		c, _, err := scanCase(row)
		return c, err
	})
	return out, pg.Translate(err)
}

// casesQuery builds the text and the arguments of a list; every value is a parameter.
func casesQuery(tenant refund.TenantID, q refund.CaseFilter) (string, []any) {
	args := []any{int64(tenant)}
	param := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	var b strings.Builder
	b.WriteString(`SELECT ` + caseColumns + ` FROM ` + caseFrom + ` WHERE c.tenant_id = $1`)
	and := func(cond string) { b.WriteString(" AND " + cond) }
	if q.Closed {
		and("c.closed_at IS NOT NULL")
	} else {
		and("c.closed_at IS NULL")
	}
	if q.Reason != "" {
		and(param(string(q.Reason)) + " = ANY(c.reasons)")
	}
	if q.RefundID != "" {
		and("c.rid = (SELECT k.rid FROM refund_keys k WHERE k.tenant_id = $1 AND k.refund_id = " + param(q.RefundID) + ")")
	}
	if q.PaymentID != "" {
		and("c.payment_id = " + param(q.PaymentID))
	}
	order := "c.opened_at, c.case_id" // the index of open ones
	if q.Closed {
		order = "c.case_id DESC" // ids are in order of time, and there is no index of closed ones
	}
	switch {
	case q.After.ID.IsZero():
	case q.Closed:
		and("c.case_id < " + param([16]byte(q.After.ID)))
	default:
		and("(c.opened_at, c.case_id) > (" + param(q.After.OpenedAt) + ", " + param([16]byte(q.After.ID)) + ")")
	}
	b.WriteString(" ORDER BY " + order + " LIMIT " + param(max(1, q.Limit)))
	return b.String(), args
}

func scanCase(row pgx.Row) (refund.CaseRow, json.RawMessage, error) {
	var proposed bool
	c, err := pg.Scan[caseRow](row, &proposed)
	return refund.CaseRow{
		CaseRef: refund.CaseRef{ID: c.ID, OpenedAt: c.OpenedAt}, RID: pg.Deref(c.RID), RefundID: c.RefundID, PaymentID: c.PaymentID, State: refund.State(c.State),
		Version: c.JournalSeq,
		Account: c.Account, Amount: c.Amount, Currency: refund.Currency(c.Currency), Reasons: pg.CaseReasons(c.Reasons),
		ClosedAt: pg.Deref(c.ClosedAt), ClosedHow: c.ClosedHow, Proposed: proposed,
	}, c.Evidence, err
}

// FindCase reads a case with the actions that are allowed on it and the obstacles of the others, all from one snapshot. Errors:
// refund.ErrNotFound, refund.ErrUnavailable.
func (r *Reader) FindCase(ctx context.Context, tenant refund.TenantID, id refund.RID) (refund.CaseView, error) {
	var v refund.CaseView
	var record refund.Record // of the refund of an open case
	err := pg.Snapshot(ctx, r.pool, func(b *pgx.Batch) {
		b.Queue(caseSQL, int64(tenant), [16]byte(id)).QueryRow(func(row pgx.Row) (err error) {
			v.CaseRow, v.Evidence, err = scanCase(row)
			return err
		})
	}, func(b *pgx.Batch) {
		queueCaseParts(b, tenant, &v)
		if !v.RID.IsZero() && v.ClosedAt.IsZero() {
			queueCaseRecord(b, refund.RefundRef{Tenant: tenant, RID: v.RID}, &record)
		}
	})
	if err != nil {
		return refund.CaseView{}, err
	}
	v.Choices = r.choices(tenant, v, record)
	if d, ok := record.Dispatch(record.DispatchNo); ok {
		v.KeyExpiresAt = d.KeyExpiresAt
	}
	return v, nil
}

// queueCaseParts queues the case's decisions, the payment and its held lines.
func queueCaseParts(b *pgx.Batch, tenant refund.TenantID, v *refund.CaseView) {
	b.Queue(pg.DecisionsSQL, int64(tenant), [16]byte(v.ID), pg.MostDecisions).Query(func(rows pgx.Rows) (err error) {
		v.Decisions, err = pgx.CollectRows(rows, pg.ScanDecision)
		return err
	})
	b.Queue(caseLinesSQL, int64(tenant), v.PaymentID).Query(func(rows pgx.Rows) (err error) {
		v.Lines, err = pgx.CollectRows(rows, scanEffectRow(""))
		return err
	})
	b.Queue(sqlFindPayment, int64(tenant), v.PaymentID).QueryRow(func(row pgx.Row) (err error) {
		v.Payment, err = pg.ScanPayment(row)
		return err
	})
}

func queueCaseRecord(b *pgx.Batch, k refund.RefundRef, record *refund.Record) {
	b.Queue(sqlInstallation).QueryRow(func(row pgx.Row) error { return row.Scan(&record.Installation) })
	pg.QueueRecord(b, k, pg.LoadPaymentSQL, record)
}

// choices lists what may be decided about the case. Nothing can be decided about a closed one.
func (r *Reader) choices(tenant refund.TenantID, v refund.CaseView, record refund.Record) []refund.Choice {
	if v.RID.IsZero() && v.ClosedAt.IsZero() {
		return refund.AllowedForPayment()
	}
	c, known := r.contractOf(v.Account, tenant)
	out := refund.Allowed(record, c, record.Now)
	for i := range out {
		if !known && out[i].Allowed {
			out[i] = refund.Choice{Action: out[i].Action, Why: refund.ObstacleAccountNotKnown}
		}
	}
	return out
}
