package store

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// An answer, a notice or a line may name its refund by several ids: number, refund id, payment reference, account, channel refund id. If
// they belong to several refunds, nothing moves and each of these refunds gets a contradiction case (rule R23 of docs/rules.md). Only what
// the channel itself has told about a number counts: an id that we or a person have paired gives way (unpair).

// toldIDsSQL finds the refunds to whose numbers the channel gave one of these channel refund ids. $1 account, $2 ids.
const toldIDsSQL = `SELECT d.channel_refund_id, d.tenant_id, d.rid FROM dispatches d WHERE d.account = $1 AND d.channel_refund_id = ANY($2)
  UNION
  SELECT e.channel_refund_id, e.tenant_id, e.rid FROM effects e JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (e.tenant_id, e.rid, e.dispatch_no)
  WHERE e.account = $1 AND e.channel_refund_id = ANY($2) AND e.status <> 'DROPPED' AND d.channel_refund_id IS NOT NULL`

// toldRefunds returns, by channel refund id, the refunds to whose numbers the channel gave the ids.
func toldRefunds(ctx context.Context, in pg.Querier, account string, ids []string) (map[string][]refund.RefundRef, error) {
	rows, err := in.Query(ctx, toldIDsSQL, account, ids)
	if err != nil {
		return nil, err
	}
	out := map[string][]refund.RefundRef{}
	var id string
	var tenant int64
	var rid [16]byte
	_, err = pgx.ForEachRow(rows, []any{&id, &tenant, &rid}, func() error {
		out[id] = append(out[id], refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid})
		return nil
	})
	return out, err
}

// othersOfIDSQL finds refunds of the account other than $1, $2 to whose numbers the channel gave the channel refund id $3.
const othersOfIDSQL = `SELECT o.tenant_id, o.rid FROM refunds r, LATERAL (
    SELECT d.tenant_id, d.rid FROM dispatches d WHERE d.account = r.account AND d.channel_refund_id = $3
    UNION
    SELECT e.tenant_id, e.rid FROM effects e JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (e.tenant_id, e.rid, e.dispatch_no)
    WHERE e.account = r.account AND e.channel_refund_id = $3 AND e.status <> 'DROPPED' AND d.channel_refund_id IS NOT NULL) o
  WHERE (r.tenant_id, r.rid) = ($1, $2) AND (o.tenant_id, o.rid) <> ($1, $2) LIMIT 8`

const (
	byNumberSQL   = `SELECT tenant_id, rid FROM dispatches WHERE account = $1 AND number = ANY($2)`
	byRefundIDSQL = `SELECT r.tenant_id, r.rid FROM refunds r JOIN refund_keys k ON (k.tenant_id, k.rid) = (r.tenant_id, r.rid)
    WHERE k.tenant_id = ANY($1) AND k.refund_id = $2 AND r.account = $3`
	idsOfRefundSQL = `SELECT refund_id, account, channel_reference FROM refunds WHERE (tenant_id, rid) = ($1, $2)`
)

// contradictionError: what a fact names does not fit its refund. named are all refunds that it names.
type contradictionError struct{ named []refund.RefundRef }

func (*contradictionError) Error() string { return "store: the statement names several refunds" }

func contradicting(err error) []refund.RefundRef {
	var c *contradictionError
	if errors.As(err, &c) {
		return c.named
	}
	return nil
}

// queueOthersOfID queues the search for other refunds that have the fact's channel refund id from the channel.
func queueOthersOfID(b *pgx.Batch, k refund.RefundRef, f refund.Fact, told *[]refund.RefundRef) {
	if f.ChannelRefundID == "" || f.Source == sourceDecision {
		return
	}
	b.Queue(othersOfIDSQL, int64(k.Tenant), [16]byte(k.RID), f.ChannelRefundID).Query(func(rows pgx.Rows) (err error) {
		*told, err = pgx.CollectRows(rows, scanRef)
		return err
	})
}

func scanRef(row pgx.CollectableRow) (k refund.RefundRef, err error) {
	var tenant int64
	var rid [16]byte
	err = row.Scan(&tenant, &rid)
	return refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}, err
}

// checkNames returns a contradictionError if the fact names other refunds than r, which is held under its lock. told are other refunds to
// which the channel gave the fact's channel refund id.
func (s *Store) checkNames(ctx context.Context, tx pgx.Tx, r *refund.Refund, dispatches []refund.Dispatch, f refund.Fact, told []refund.RefundRef) error {
	number := ""
	for _, d := range dispatches {
		if d.Ordinal == f.Dispatch || f.Dispatch == 0 && d.Ordinal == r.DispatchNo {
			number = d.Number
		}
	}
	if len(told) == 0 && !f.Names.ContradictsRecord(r, number) {
		return nil
	}
	named := append([]refund.RefundRef{r.RefundRef}, told...)
	more, err := namedBy(ctx, tx, r.Account, f.Names.Number, f.Names.RefundID, named)
	if err != nil {
		return err
	}
	return &contradictionError{more}
}

// namedBy adds the refunds of the account that a number and a refund id name. The tenants are those of the refunds that are named already.
func namedBy(ctx context.Context, in pg.Querier, account, number, refundID string, named []refund.RefundRef) ([]refund.RefundRef, error) {
	add := func(sql string, args ...any) error {
		rows, err := in.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, scanRef)
		for _, k := range found {
			if !slices.Contains(named, k) {
				named = append(named, k)
			}
		}
		return err
	}
	if number != "" {
		if err := add(byNumberSQL, account, []string{number}); err != nil {
			return nil, err
		}
	}
	if refundID == "" {
		return named, nil
	}
	var tenants []int64
	for _, k := range named {
		tenants = append(tenants, int64(k.Tenant))
	}
	return named, add(byRefundIDSQL, tenants, refundID, account)
}

// contradiction returns the refunds that a notice names if they are several, or if one does not fit what the notice says of it; nil = it
// agrees with itself, or names no refund of ours. unknown reports that its number is none of ours yet.
func (s *Store) contradiction(ctx context.Context, in pg.Querier, account string, n refund.Notice) (named []refund.RefundRef, unknown bool, err error) {
	if named, err = namedBy(ctx, in, account, n.Number, "", nil); err != nil {
		return nil, false, pg.Translate(err)
	}
	unknown = n.Number != "" && len(named) == 0
	conflict := false
	if n.ChannelRefundID != "" {
		byID, err := toldRefunds(ctx, in, account, []string{n.ChannelRefundID})
		if err != nil {
			return nil, false, pg.Translate(err)
		}
		told := byID[n.ChannelRefundID]
		// An id that several refunds have got, in a notice without number, identifies none: it is kept.
		if n.Number == "" && len(told) > 1 {
			return nil, false, nil
		}
		for _, k := range told {
			if !slices.Contains(named, k) {
				named = append(named, k)
				conflict = conflict || n.Number != ""
			}
		}
	}
	for _, k := range named {
		r := refund.Refund{RefundRef: k}
		if err := in.QueryRow(ctx, idsOfRefundSQL, int64(k.Tenant), [16]byte(k.RID)).Scan(&r.RefundID, &r.Account, &r.ChannelReference); err != nil {
			return nil, false, pg.Translate(err)
		}
		conflict = conflict || n.Names.ContradictsRecord(&r, n.Number)
	}
	if !conflict {
		return nil, unknown, nil
	}
	named, err = namedBy(ctx, in, account, "", n.Names.RefundID, named)
	return named, unknown, pg.Translate(err)
}

// contradict opens a contradiction case on each of the refunds, each in a transaction of its own. A refund that has one is left alone.
func (s *Store) contradict(ctx context.Context, named []refund.RefundRef, f refund.Fact) error {
	for _, k := range named {
		u := s.newUnit()
		err := u.run(ctx, "contradiction of "+k.RID.String(), func() error {
			return s.withRecord(ctx, u, k, func(ctx context.Context, tx pgx.Tx, r refund.Record) error {
				c, _ := s.contractOf(r.Account, r.Tenant)
				ch, changed, err := refund.Contradict(r, f, c)
				if err != nil || !changed {
					return err
				}
				f := f
				f.Kind = refund.Contradicted
				return s.writeChange(ctx, u, tx, &ch, f)
			})
		})
		if err != nil {
			return err
		}
		s.log.ErrorContext(ctx, "a statement of the channel names several refunds; nothing was moved", "rid", k.RID.String(), "source", f.Source,
			"channelRefundId", f.ChannelRefundID)
	}
	return nil
}

// enterContradiction opens the cases of an answer or a line that names several refunds, then completes its attempt as unknown. In this
// order: a refund whose attempt is completed without a case would go on.
func (s *Store) enterContradiction(ctx context.Context, k refund.RefundRef, f refund.Fact, c refund.Contract, named []refund.RefundRef) (refund.Change, error) {
	if err := s.contradict(ctx, named, f); err != nil {
		return refund.Change{}, err
	}
	if f.Attempt == 0 {
		return refund.Change{Known: true}, nil
	}
	f.Kind, f.Rule, f.ChannelRefundID, f.Amount, f.Currency, f.Voucher = refund.Unknown, "names.contradict", "", 0, "", nil
	f.Names = refund.Names{}
	return s.enter(ctx, k, f, c)
}

// receiveContradiction stores a notice that names several refunds of ours, after it has opened their cases. A repeat of it is known. ""
// = the notice agrees with itself.
func (s *Store) receiveContradiction(ctx context.Context, account string, n refund.KeptNotice) (refund.NoticeOutcome, error) {
	named, unknown, err := s.contradiction(ctx, s.pool, account, n.Notice)
	if err != nil || len(named) == 0 {
		return "", err
	}
	var known bool
	if err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM notices WHERE account = $1 AND digest = $2)`, account, n.Digest[:]).Scan(&known); err != nil {
		return "", pg.Translate(err)
	}
	out := refund.NoticeKnown
	if !known {
		out = refund.NoticeContradicts
		if err := s.contradict(ctx, named, noticeEvidence(n.Notice)); err != nil {
			return "", err
		}
	}
	owner := &named[0] // that of the number, if it is ours
	if unknown {
		owner = nil // the number may become ours
	}
	err = pg.Rerun(ctx, s.log, "notice of account "+account, func() error {
		return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, _, err := keepNotice(ctx, tx, account, n, owner)
			return err
		})
	})
	return out, err
}

// tieContradiction opens the cases of a kept notice, and gives it the refund of its number.
func (s *Store) tieContradiction(ctx context.Context, n matchableNotice, named []refund.RefundRef) error {
	if err := s.contradict(ctx, named, noticeEvidence(n.Notice)); err != nil {
		return err
	}
	return pg.Rerun(ctx, s.log, "kept notice of "+n.RID.String(), func() error {
		return pg.InTx(ctx, s.pool, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tieNotice(ctx, tx, n.account, n.Digest, n.RefundRef)
			return err
		})
	})
}

// noticeEvidence is the fact that a contradicting notice leaves in the journal.
func noticeEvidence(n refund.Notice) refund.Fact {
	return sanitize(refund.Fact{ChannelRefundID: n.ChannelRefundID, Amount: n.Amount, Currency: n.Currency, Code: n.Code, Source: "notice", Actor: "system:channel"})
}
