package store

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

// caseColumns read a case with what it is about, for lists; scanCase takes them in this order.
const caseColumns = `c.case_id, c.opened_at, c.rid, coalesce(r.refund_id, ''), coalesce(c.payment_id, r.payment_id), coalesce(r.state, ''), coalesce(r.journal_seq, 0),
  p.account, coalesce(r.amount, p.excess), p.currency, c.reasons, c.closed_at, coalesce(c.closed_how, ''),
  EXISTS (SELECT FROM decisions d WHERE (d.tenant_id, d.case_id) = (c.tenant_id, c.case_id) AND c.closed_at IS NULL
    AND (d.verdict IS NULL OR (d.verdict = 'APPROVED' AND d.action <> 'wait' AND d.applied_at IS NULL))), c.evidence`

const caseFrom = `cases c LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid)
  JOIN payments p ON p.tenant_id = c.tenant_id AND p.payment_id = coalesce(c.payment_id, r.payment_id)`

const (
	caseSQL      = `SELECT ` + caseColumns + ` FROM ` + caseFrom + ` WHERE c.tenant_id = $1 AND c.case_id = $2`
	caseLinesSQL = `SELECT e.effect_id, e.dispatch_no, coalesce(e.channel_refund_id, ''), e.amount, e.currency, e.counted, e.status, e.source, e.at, e.reversed_at, e.voucher
    FROM effects e WHERE e.tenant_id = $1 AND e.payment_id = $2 AND e.rid IS NULL AND e.status = 'HELD' ORDER BY e.effect_id`
	heldLinesSQL = `SELECT e.effect_id, e.rid IS NOT NULL, e.dispatch_no, e.channel_refund_id, e.amount, e.currency, e.counted, e.status, e.source, e.at, e.reversed_at
    FROM effects e WHERE e.tenant_id = $1 AND e.payment_id = $2 AND e.rid IS NULL ORDER BY e.effect_id`
)

// ListCases returns at most q.Limit cases: open ones oldest first, closed ones newest first. Errors: refund.ErrUnavailable.
func (s *Store) ListCases(ctx context.Context, tenant refund.TenantID, q refund.CaseFilter) ([]refund.CaseRow, error) {
	text, args := casesQuery(tenant, q)
	rows, err := s.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (refund.CaseRow, error) {
		c, _, err := scanCase(row)
		return c, err
	})
	return out, pg.Translate(err)
}

// casesQuery is the text and the arguments of a list; every value is a parameter.
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
	var (
		c               refund.CaseRow
		id              [16]byte
		rid             *[16]byte
		state, currency string
		reasons         []string
		closed          *time.Time
		evidence        []byte
	)
	err := row.Scan(&id, &c.OpenedAt, &rid, &c.RefundID, &c.PaymentID, &state, &c.Version, &c.Account, &c.Amount, &currency, &reasons, &closed,
		&c.ClosedHow, &c.Proposed, &evidence)
	c.ID, c.RID, c.State, c.Currency = id, pg.Deref(rid), refund.State(state), refund.Currency(currency)
	c.Reasons, c.ClosedAt = pg.CaseReasons(reasons), pg.Deref(closed)
	return c, evidence, err
}

// FindCase reads a case with what may be decided about it and why not the rest. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (s *Store) FindCase(ctx context.Context, tenant refund.TenantID, id refund.RID) (refund.CaseView, error) {
	var v refund.CaseView
	row, evidence, err := scanCase(s.pool.QueryRow(ctx, caseSQL, int64(tenant), [16]byte(id)))
	if err != nil {
		return v, pg.Translate(err)
	}
	v.CaseRow, v.Evidence = row, evidence
	b := &pgx.Batch{}
	b.Queue(decisionsSQL, int64(tenant), [16]byte(id), mostDecisions).Query(func(rows pgx.Rows) (err error) {
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
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return v, pg.Translate(err)
	}
	v.Choices, err = s.choices(ctx, tenant, v)
	return v, err
}

// choices: of a closed case nothing can be decided any more.
func (s *Store) choices(ctx context.Context, tenant refund.TenantID, v refund.CaseView) ([]refund.Choice, error) {
	if v.RID.IsZero() && v.ClosedAt.IsZero() {
		return refund.AllowedForPayment(), nil
	}
	var r refund.Record
	if v.ClosedAt.IsZero() {
		var err error
		if r, err = s.Load(ctx, refund.RefundRef{Tenant: tenant, RID: v.RID}); err != nil {
			return nil, err
		}
		if r.Case != nil && r.Case.ID != v.ID {
			r.Case = nil // closed, and the next one opened, since it was read
		}
	}
	c, known := s.contractOf(v.Account, tenant)
	out := refund.Allowed(r, c, r.Now)
	for i := range out {
		if !known && out[i].Allowed {
			out[i] = refund.Choice{Action: out[i].Action, Why: refund.ObstacleAccountNotKnown}
		}
	}
	return out, nil
}
