package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

var (
	sqlLock = `SELECT k, pg_try_advisory_xact_lock(k), now() FROM unnest($1::bigint[]) AS u(k)`
	sqlNow  = `SELECT now()`

	sqlReceipts = `SELECT x.tenant_id, x.consumer, x.source, x.event_id, x.type, x.digest, x.params::text, x.outcome, x.rid, coalesce(x.code, ''),
    coalesce(r.refund_id, '')
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS w(tenant_id, consumer, source, event_id)
JOIN receipts x ON x.tenant_id = w.tenant_id AND x.consumer = w.consumer AND x.source = w.source AND x.event_id = w.event_id
    AND x.month >= (now() - interval '427 days')::date
LEFT JOIN refunds r ON r.tenant_id = x.tenant_id AND r.rid = x.rid`

	sqlKnownRefunds = `SELECT ` + pg.RefundColumns + `
FROM unnest($1::bigint[], $2::text[]) AS w(tenant_id, refund_id)
JOIN refund_keys k ON k.tenant_id = w.tenant_id AND k.refund_id = w.refund_id
JOIN refunds r ON r.tenant_id = k.tenant_id AND r.rid = k.rid` + pg.RefundSides

	sqlLockPayments = `SELECT ` + pg.PaymentColumns + ` FROM payments p
WHERE (p.tenant_id, p.payment_id) IN (SELECT w.tenant_id, w.payment_id FROM unnest($1::bigint[], $2::text[], $3::text[]) AS w(tenant_id, payment_id, refund_id)
  WHERE NOT EXISTS (SELECT 1 FROM refund_keys k WHERE k.tenant_id = w.tenant_id AND k.refund_id = w.refund_id))
ORDER BY p.tenant_id, p.payment_id FOR NO KEY UPDATE SKIP LOCKED`

	sqlSeePayments = `SELECT ` + pg.PaymentColumns + ` FROM unnest($1::bigint[], $2::text[]) AS w(tenant_id, payment_id)
JOIN payments p ON p.tenant_id = w.tenant_id AND p.payment_id = w.payment_id`

	sqlReferences = `SELECT p.account, p.channel_reference, p.tenant_id, p.payment_id FROM unnest($1::text[], $2::text[]) AS w(account, reference)
JOIN payments p ON p.account = w.account AND p.channel_reference = w.reference`

	sqlCaptures = `SELECT c.tenant_id, c.payment_id, c.capture_id, c.amount FROM unnest($1::bigint[], $2::text[], $3::text[]) AS w(tenant_id, payment_id,
    capture_id)
JOIN captures c ON c.tenant_id = w.tenant_id AND c.payment_id = w.payment_id AND c.capture_id = w.capture_id`

	sqlParkedRows = `SELECT k.parked_id, k.done_at IS NULL FROM parked k
JOIN unnest($1::bigint[], $2::uuid[]) AS w(tenant_id, parked_id) ON k.tenant_id = w.tenant_id AND k.parked_id = w.parked_id
ORDER BY k.parked_id FOR NO KEY UPDATE OF k SKIP LOCKED`

	sqlWaiters = `SELECT DISTINCT w.tenant_id, w.payment_id FROM unnest($1::bigint[], $2::text[]) AS w(tenant_id, payment_id)
JOIN parked k ON k.tenant_id = w.tenant_id AND k.wake_payment = w.payment_id AND k.done_at IS NULL`
)

// readGroup begins the transaction, tries the group's mutexes and reads everything that the decision needs. Each read is a statement of
// its own after the mutexes, so it sees the commits of their former holders. noticed are the numbers of the group for which notices were
// kept. After an error tx may still be open; it is nil if it was not begun.
func (s *Store) readGroup(ctx context.Context, conn *pgxpool.Conn, g []intake.Intake) (v intake.View, noticed []string, tx pgx.Tx, err error) {
	k := s.keysOf(g)
	v = intake.View{Installation: s.identity.installation, Epoch: s.identity.epoch, Account: s.account,
		Receipts: map[intake.EventRef]intake.Receipt{}, Refunds: map[intake.RefundKey]refund.Refund{},
		Payments: map[intake.PaymentRef]intake.SeenPayment{}, References: map[intake.ReferenceRef]intake.PaymentRef{},
		Captures: map[intake.CaptureRef]int64{}, Waiters: map[intake.PaymentRef]bool{}, Parked: map[refund.RID]intake.ParkedState{}}
	got := map[int64]bool{}
	b := &pgx.Batch{}
	b.BeginTx(pgx.TxOptions{})
	b.Queue(sqlLock, k.mutexes).Query(func(rows pgx.Rows) error {
		var key int64
		var ok bool
		_, err := pgx.ForEachRow(rows, []any{&key, &ok, &v.Now}, func() error { got[key] = ok; return nil })
		return err
	})
	if len(k.numbers) > 0 {
		b.Queue(noticedNumbersSQL, k.numbers).Query(func(rows pgx.Rows) (err error) {
			noticed, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	}
	b.Queue(sqlReceipts, k.eventTenants, k.consumers, k.sources, k.eventIDs).Query(func(rows pgx.Rows) error { return readReceipts(rows, v) })
	b.Queue(sqlKnownRefunds, k.refundTenants, k.refundIDs).Query(func(rows pgx.Rows) error { return readRefunds(rows, v) })
	b.Queue(sqlLockPayments, k.payTenants, k.payIDs, k.payRefunds).Query(func(rows pgx.Rows) error { return readPayments(rows, v, true) })
	b.Queue(sqlSeePayments, k.payTenants, k.payIDs).Query(func(rows pgx.Rows) error { return readPayments(rows, v, false) })
	if len(k.accounts) > 0 {
		b.Queue(sqlReferences, k.accounts, k.references).Query(func(rows pgx.Rows) error { return readReferences(rows, v) })
		b.Queue(sqlWaiters, k.payTenants, k.payIDs).Query(func(rows pgx.Rows) error { return readWaiters(rows, v) })
	}
	if len(k.captureIDs) > 0 {
		b.Queue(sqlCaptures, k.captureTenants, k.capturePays, k.captureIDs).Query(func(rows pgx.Rows) error { return readCaptures(rows, v) })
	}
	if tenants, ids := parkedOf(g, v); len(ids) > 0 {
		b.Queue(sqlParkedRows, tenants, ids).Query(func(rows pgx.Rows) error { return readParkedRows(rows, v) })
	}
	br := conn.SendBatch(ctx, b)
	tx = br.Tx()
	if err := br.Close(); err != nil {
		return v, noticed, tx, err
	}
	v.Got = k.got(got)
	return v, noticed, tx, nil
}

func (s *Store) account(name string, t refund.TenantID) (refund.Contract, bool, bool) {
	if s.cfg.Accounts == nil {
		return refund.Contract{}, false, false
	}
	return s.cfg.Accounts.Account(name, t)
}

func readReceipts(rows pgx.Rows, v intake.View) error {
	var (
		e       intake.EventRef
		r       intake.Receipt
		tenant  int64
		typ     string
		digest  []byte
		outcome string
		rid     *[16]byte
		code    string
	)
	_, err := pgx.ForEachRow(rows, []any{&tenant, &e.Consumer, &e.Source, &e.ID, &typ, &digest, &r.Params, &outcome, &rid, &code, &r.RefundID},
		func() (err error) {
			e.Tenant, r.Type, r.Outcome, r.RID, r.Code = refund.TenantID(tenant), intake.EventType(typ), intake.Verdict(outcome), pg.Deref(rid), refund.Code(code)
			r.Digest, err = refund.DigestFromBytes(digest)
			v.Receipts[e] = r
			return err
		})
	return err
}

func readRefunds(rows pgx.Rows, v intake.View) error {
	defer rows.Close()
	for rows.Next() {
		r, err := pg.ScanRefund(rows)
		if err != nil {
			return err
		}
		v.Refunds[intake.RefundKey{Tenant: r.Tenant, RefundID: r.RefundID}] = r
	}
	return rows.Err()
}

// readPayments keeps the locked rows, which are read first. The second, unlocked read only tells rows that are locked elsewhere from
// unknown payments.
func readPayments(rows pgx.Rows, v intake.View, locked bool) error {
	defer rows.Close()
	for rows.Next() {
		p, err := pg.ScanPayment(rows)
		if err != nil {
			return err
		}
		ref := intake.PaymentRef{Tenant: p.Tenant, PaymentID: p.PaymentID}
		if !v.Payments[ref].Locked {
			v.Payments[ref] = intake.SeenPayment{Payment: p, Locked: locked}
		}
	}
	return rows.Err()
}

func readReferences(rows pgx.Rows, v intake.View) error {
	var at intake.ReferenceRef
	var tenant int64
	var payment string
	_, err := pgx.ForEachRow(rows, []any{&at.Account, &at.Reference, &tenant, &payment}, func() error {
		v.References[at] = intake.PaymentRef{Tenant: refund.TenantID(tenant), PaymentID: payment}
		return nil
	})
	return err
}

func readWaiters(rows pgx.Rows, v intake.View) error {
	var tenant int64
	var payment string
	_, err := pgx.ForEachRow(rows, []any{&tenant, &payment}, func() error {
		v.Waiters[intake.PaymentRef{Tenant: refund.TenantID(tenant), PaymentID: payment}] = true
		return nil
	})
	return err
}

// parkedOf returns the parked rows that a group tries again. A row counts as taken until it is read.
func parkedOf(g []intake.Intake, v intake.View) (tenants []int64, ids [][16]byte) {
	for _, in := range g {
		if !in.Parked.IsZero() && v.Parked[in.Parked] == "" {
			v.Parked[in.Parked] = intake.ParkedTaken
			tenants, ids = append(tenants, int64(in.Tenant.ID)), append(ids, in.Parked)
		}
	}
	return tenants, ids
}

func readParkedRows(rows pgx.Rows, v intake.View) error {
	var id [16]byte
	var open bool
	_, err := pgx.ForEachRow(rows, []any{&id, &open}, func() error {
		if delete(v.Parked, id); !open {
			v.Parked[id] = intake.ParkedSettled
		}
		return nil
	})
	return err
}

func readCaptures(rows pgx.Rows, v intake.View) error {
	var at intake.CaptureRef
	var tenant, amount int64
	_, err := pgx.ForEachRow(rows, []any{&tenant, &at.PaymentID, &at.CaptureID, &amount}, func() error {
		at.Tenant = refund.TenantID(tenant)
		v.Captures[at] = amount
		return nil
	})
	return err
}
