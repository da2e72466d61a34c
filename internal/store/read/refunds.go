package read

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

var sqlFindRefund = `SELECT ` + pg.RefundColumns + ` FROM refund_keys k JOIN refunds r ON r.tenant_id = k.tenant_id AND r.rid = k.rid` + pg.RefundSides + `
WHERE k.tenant_id = $1 AND k.refund_id = $2`

// FindRefund reads one refund of a tenant. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (r *Reader) FindRefund(ctx context.Context, tenant refund.TenantID, refundID string) (refund.Refund, error) {
	found, err := pg.ScanRefund(r.pool.QueryRow(ctx, sqlFindRefund, int64(tenant), refundID))
	return found, pg.Translate(err)
}

// sqlChain walks from a payment's newest refund back along prev_rid, without an index of its own.
var sqlChain = `WITH RECURSIVE chain (rid) AS (
  SELECT p.last_rid FROM payments p WHERE p.tenant_id = $1 AND %s AND p.last_rid IS NOT NULL
  UNION ALL
  SELECT x.prev_rid FROM chain JOIN refunds x ON x.tenant_id = $1 AND x.rid = chain.rid WHERE x.prev_rid IS NOT NULL)
SELECT ` + pg.RefundColumns + ` FROM chain JOIN refunds r ON r.tenant_id = $1 AND r.rid = chain.rid` + pg.RefundSides + ` WHERE true`

var sqlList = `SELECT ` + pg.RefundColumns + ` FROM refunds r` + pg.RefundSides + ` WHERE r.tenant_id = $1`

// listQuery builds the text and the arguments of a list; every value is a parameter.
func listQuery(tenant refund.TenantID, q refund.RefundFilter) (string, []any) {
	args := []any{int64(tenant)}
	param := func(v any) string {
		args = append(args, v)
		return fmt.Sprintf("$%d", len(args))
	}
	var b strings.Builder
	switch {
	case q.PaymentID != "":
		fmt.Fprintf(&b, sqlChain, "p.payment_id = "+param(q.PaymentID))
	case q.OrderID != "":
		fmt.Fprintf(&b, sqlChain, "p.order_id = "+param(q.OrderID))
	default:
		b.WriteString(sqlList)
	}
	and := func(cond string) { b.WriteString(" AND " + cond) }
	if q.OrderID != "" {
		and("r.order_id = " + param(q.OrderID))
	}
	if len(q.States) > 0 {
		and("r.state = ANY(" + param(stateNames(q.States)) + ")")
		if allOpen(q.States) {
			and("r.final_at IS NULL") // lets the index of open refunds serve
		}
	}
	if q.HasCase != nil && *q.HasCase {
		and("r.rid IN (SELECT o.rid FROM cases o WHERE o.tenant_id = $1 AND o.closed_at IS NULL)")
	} else if q.HasCase != nil {
		and("r.case_id IS NULL")
	}
	if q.Account != "" {
		and("r.account = " + param(q.Account))
	}
	if !q.CreatedFrom.IsZero() {
		and("r.created_at >= " + param(q.CreatedFrom))
	}
	if !q.CreatedBefore.IsZero() {
		and("r.created_at < " + param(q.CreatedBefore))
	}
	if q.MinAgeInState > 0 {
		and("r.state_since <= now() - make_interval(secs => " + param(q.MinAgeInState.Seconds()) + ")")
	}
	if !q.Before.IsZero() {
		and("r.rid < " + param([16]byte(q.Before)))
	}
	b.WriteString(" ORDER BY r.rid DESC LIMIT " + param(max(1, q.Limit)))
	return b.String(), args
}

func stateNames(in []refund.State) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

func allOpen(in []refund.State) bool {
	for _, s := range in {
		if s.Final() {
			return false
		}
	}
	return true
}

// ListRefunds returns at most q.Limit refunds, the newest first. Errors: refund.ErrUnavailable.
func (r *Reader) ListRefunds(ctx context.Context, tenant refund.TenantID, q refund.RefundFilter) ([]refund.Refund, error) {
	text, args := listQuery(tenant, q)
	rows, err := r.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (refund.Refund, error) { return pg.ScanRefund(row) })
	return out, pg.Translate(err)
}
