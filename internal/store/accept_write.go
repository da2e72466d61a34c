package store

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

const (
	sqlInsertReceipts = `INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome, rid, code, transport, at)
SELECT t, c, s, e, date_trunc('month', $12::timestamptz AT TIME ZONE 'UTC')::date, ty, d, p::json, o, r, nullif(co, ''), nullif(tr, ''), $12
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], $9::uuid[], $10::text[], $11::text[]) AS u(t, c, s, e, ty, d, p, o, r, co, tr)`

	sqlInsertPayment = `INSERT INTO payments (tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by, version,
  captured, reserved, refunded_elsewhere, excess, refunds, last_rid, window_ends_at, created_at, paid_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`

	sqlPaid = `UPDATE payments SET paid_at = $3, window_ends_at = $4 WHERE tenant_id = $1 AND payment_id = $2`

	sqlTouchPayments = `UPDATE payments p SET captured = u.c, reserved = u.r, excess = u.x, refunds = u.n, last_rid = u.l
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::int[], $7::uuid[]) AS u(t, p, c, r, x, n, l)
WHERE p.tenant_id = u.t AND p.payment_id = u.p`

	sqlInsertKeys = `INSERT INTO refund_keys (tenant_id, refund_id, rid) SELECT * FROM unnest($1::bigint[], $2::text[], $3::uuid[])`

	sqlInsertRefunds = `INSERT INTO refunds (tenant_id, rid, refund_id, payment_id, order_id, account, channel_reference, currency, exponent, amount, digest,
  prev_rid, reason, metadata, state, pending_reason, epoch, next_action_at, journal_seq, journal_head, created_at, state_since, updated_at)
SELECT t, r, ri, pi, oi, a, cr, cu, ex, am, d, pr, nullif(re, ''), nullif(me, '')::jsonb, 'PENDING', 'queued', $17, $18, 1, h, $19, $19, $19
FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::smallint[], $10::bigint[], $11::bytea[],
  $12::uuid[], $13::text[], $14::text[], $15::bytea[], $16::int[]) AS u(t, r, ri, pi, oi, a, cr, cu, ex, am, d, pr, re, me, h, ord) ORDER BY ord`

	sqlInsertDispatches = `INSERT INTO dispatches (tenant_id, rid, no, account, number, at) SELECT t, r, 1, a, n, $5 FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[]) AS u(t, r, a, n)`

	sqlInsertJournal = `INSERT INTO journal (tenant_id, rid, seq, kind, to_state, generation, source, actor, at, data, digest, hash, replay_batch)
SELECT t, r, 1, k, 'PENDING', 0, s, ac, $10, da, di, h, b FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::bytea[], $9::uuid[]) AS u(t, r, k, s, ac, da, di, h, b)`

	sqlInsertCapture = `INSERT INTO captures (tenant_id, payment_id, capture_id, amount, at) VALUES ($1, $2, $3, $4, $5)`

	sqlConflict = `INSERT INTO conflicts (tenant_id, conflict_id, kind, consumer, source, event_id, refund_id, payment_id, rid, got_digest, got, fields, transport, at, last_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::json, $12, $13, $14, $14)
ON CONFLICT ON CONSTRAINT conflicts_same_uq DO UPDATE SET times = conflicts.times + 1, last_at = excluded.last_at`

	sqlPark = `INSERT INTO parked (tenant_id, parked_id, consumer, source, event_id, position, headers, body, reason, wake_payment, alarm_at, tries, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1, $12)
ON CONFLICT ON CONSTRAINT parked_position_uq DO UPDATE SET tries = parked.tries + 1,
  reason = CASE WHEN excluded.wake_payment IS NULL THEN parked.reason ELSE excluded.reason END,
  wake_payment = coalesce(excluded.wake_payment, parked.wake_payment), alarm_at = coalesce(parked.alarm_at, excluded.alarm_at)`

	sqlRebindReceipts = `UPDATE receipts x SET outcome = u.o, rid = u.r, code = nullif(u.co, ''), transport = nullif(u.tr, '')
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[]) AS u(t, c, s, e, o, r, co, tr)
WHERE x.tenant_id = u.t AND x.consumer = u.c AND x.source = u.s AND x.event_id = u.e AND x.outcome = 'REFUSED' AND x.month >= ($9::timestamptz - interval '427 days')::date`

	sqlUnparkDone = `UPDATE parked SET done_at = $3, done_how = $4, done_by = $5, tries = tries + 1 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`

	sqlUnparkStay = `UPDATE parked SET reason = $3, wake_payment = $4, alarm_at = coalesce(alarm_at, $5), tries = tries + 1 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`
)

func queueReceipts(b *pgx.Batch, v intake.View, rs []intake.NewReceipt) {
	if len(rs) == 0 {
		return
	}
	var tenants []int64
	var cs, ss, es, tys, ps, os, cos, trs []string
	var ds [][]byte
	var rids []*[16]byte
	for _, r := range rs {
		tenants = append(tenants, int64(r.Tenant))
		cs, ss, es = append(cs, r.Consumer), append(ss, r.Source), append(es, r.ID)
		tys, ps, os = append(tys, string(r.Type)), append(ps, r.Params), append(os, string(r.Outcome))
		ds, rids = append(ds, r.Digest.Bytes()), append(rids, pg.NullRID(r.RID))
		cos, trs = append(cos, string(r.Code)), append(trs, r.Transport)
	}
	b.Queue(sqlInsertReceipts, tenants, cs, ss, es, tys, ds, ps, os, rids, cos, trs, v.Now)
}

// queueRebound changes refusals that were decided anew, under the event's mutex: the only change that a receipt ever sees.
func queueRebound(b *pgx.Batch, v intake.View, rs []intake.NewReceipt) {
	if len(rs) == 0 {
		return
	}
	var tenants []int64
	var cs, ss, es, os, cos, trs []string
	var rids []*[16]byte
	for _, r := range rs {
		tenants, cs, ss, es = append(tenants, int64(r.Tenant)), append(cs, r.Consumer), append(ss, r.Source), append(es, r.ID)
		os, rids, cos, trs = append(os, string(r.Outcome)), append(rids, pg.NullRID(r.RID)), append(cos, string(r.Code)), append(trs, r.Transport)
	}
	b.Queue(sqlRebindReceipts, tenants, cs, ss, es, os, rids, cos, trs, v.Now)
}

func queuePayments(b *pgx.Batch, p intake.Plan) {
	for _, n := range p.Payments {
		b.Queue(sqlInsertPayment, int64(n.Tenant), n.PaymentID, n.OrderID, n.Account, n.Reference, string(n.Currency), n.Exponent, string(n.KnownBy), n.Version,
			n.Captured, n.Reserved, n.RefundedElsewhere, n.Excess, n.Refunds, pg.NullRID(n.LastRID), pg.Null(n.WindowEndsAt), n.CreatedAt, pg.Null(n.PaidAt))
	}
	for _, n := range p.Paid {
		queuePaid(b, n)
	}
}

// queuePaid stores when a known payment, which this transaction holds locked, was paid.
func queuePaid(b *pgx.Batch, p refund.Payment) {
	b.Queue(sqlPaid, int64(p.Tenant), p.PaymentID, pg.Null(p.PaidAt), pg.Null(p.WindowEndsAt))
}

// queueTouched updates payments that this transaction holds locked; rows of payments are never deleted.
func queueTouched(b *pgx.Batch, ps []refund.Payment) {
	if len(ps) == 0 {
		return
	}
	var tenants, captured, reserved, excess []int64
	var ids []string
	var counts []int
	var last []*[16]byte
	for _, p := range ps {
		tenants, ids = append(tenants, int64(p.Tenant)), append(ids, p.PaymentID)
		captured, reserved, excess = append(captured, p.Captured), append(reserved, p.Reserved), append(excess, p.Excess)
		counts, last = append(counts, p.Refunds), append(last, pg.NullRID(p.LastRID))
	}
	b.Queue(sqlTouchPayments, tenants, ids, captured, reserved, excess, counts, last)
}

// queueRefunds inserts keys, refunds, first dispatches and first journal rows. The hash chain starts from zeros.
func queueRefunds(b *pgx.Batch, v intake.View, rs []intake.NewRefund) {
	if len(rs) == 0 {
		return
	}
	var c refundArrays
	for i, r := range rs {
		c.add(i, r, v.Now)
	}
	b.Queue(sqlInsertKeys, c.tenants, c.ids, c.rids)
	b.Queue(sqlInsertRefunds, c.tenants, c.rids, c.ids, c.payments, c.orders, c.accounts, c.references, c.currencies, c.exponents, c.amounts, c.digests,
		c.prev, c.reasons, c.metadata, c.heads, c.order, v.Epoch, v.Now.Add(refund.HandoutTTL), v.Now)
	b.Queue(sqlInsertDispatches, c.tenants, c.rids, c.accounts, c.numbers, v.Now)
	b.Queue(sqlInsertJournal, c.tenants, c.rids, c.kinds, c.sources, c.actors, c.data, c.entries, c.heads, c.batches, v.Now)
}

// refundArrays are the columns of a group's new refunds.
type refundArrays struct {
	tenants, amounts                                                 []int64
	rids                                                             [][16]byte
	prev, batches                                                    []*[16]byte
	ids, payments, orders, accounts, references, currencies, numbers []string
	reasons, metadata, kinds, sources, actors, data                  []string
	exponents                                                        []int16
	digests, heads, entries                                          [][]byte
	order                                                            []int
}

func (c *refundArrays) add(i int, r intake.NewRefund, now time.Time) {
	digest := r.Entry.Digest()
	head := refund.JournalHash([32]byte{}, r.RID, 1, now, digest)
	c.tenants, c.rids, c.ids = append(c.tenants, int64(r.Tenant)), append(c.rids, r.RID), append(c.ids, r.RefundID)
	c.payments, c.orders = append(c.payments, r.PaymentID), append(c.orders, r.OrderID)
	c.accounts, c.references = append(c.accounts, r.Account), append(c.references, r.ChannelReference)
	c.currencies, c.exponents = append(c.currencies, string(r.Currency)), append(c.exponents, int16(r.Exponent)) // #nosec G115 -- 0..4
	c.amounts, c.digests, c.prev = append(c.amounts, r.Amount), append(c.digests, r.Digest.Bytes()), append(c.prev, pg.NullRID(r.Prev))
	c.reasons, c.metadata = append(c.reasons, r.Reason), append(c.metadata, metadataText(r.Metadata))
	c.numbers, c.order = append(c.numbers, r.Number), append(c.order, i)
	c.kinds, c.sources, c.actors = append(c.kinds, r.Entry.Kind), append(c.sources, r.Entry.Source), append(c.actors, r.Entry.Actor)
	c.data, c.entries, c.heads = append(c.data, r.Entry.Data), append(c.entries, digest[:]), append(c.heads, head[:])
	c.batches = append(c.batches, pg.NullRID(r.Replay))
}

func metadataText(m map[string]string) string {
	if len(m) == 0 {
		return ""
	}
	text, err := json.Marshal(m)
	if err != nil { // a map of strings always marshals
		return ""
	}
	return string(text)
}

func queueCaptures(b *pgx.Batch, v intake.View, cs []intake.NewCapture) {
	for _, c := range cs {
		b.Queue(sqlInsertCapture, int64(c.Tenant), c.PaymentID, c.CaptureID, c.Amount, v.Now)
	}
}

func queueConflicts(b *pgx.Batch, v intake.View, cs []intake.ConflictRow, id func() refund.RID) {
	for _, c := range cs {
		b.Queue(sqlConflict, int64(c.Tenant), [16]byte(id()), string(c.Kind), c.Consumer, pg.Null(c.Source), pg.Null(c.ID), pg.Null(c.RefundID), pg.Null(c.PaymentID),
			pg.NullRID(c.RID), c.GotDigest[:], c.Got, append([]string{}, c.Fields...), pg.Null(c.Transport), v.Now)
	}
}

func queueParked(b *pgx.Batch, v intake.View, p intake.Plan, id func() refund.RID) {
	for _, k := range p.Parked {
		b.Queue(sqlPark, int64(k.Tenant), [16]byte(id()), k.Consumer, pg.Null(k.Source), pg.Null(k.ID), storable(k.Position), storableHeaders(k.Headers), k.Body, k.Reason,
			pg.Null(k.WakePayment), pg.Null(k.AlarmAt), v.Now)
	}
	for _, u := range p.Unparked {
		if u.How != "" {
			b.Queue(sqlUnparkDone, int64(u.Tenant), [16]byte(u.ID), v.Now, u.How, u.By)
		} else {
			b.Queue(sqlUnparkStay, int64(u.Tenant), [16]byte(u.ID), u.Reason, pg.Null(u.WakePayment), pg.Null(u.AlarmAt))
		}
	}
}

// storable makes text of strangers fit for the database: no NUL, valid UTF-8. The body keeps the bytes as they came.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func storableHeaders(h map[string][]string) map[string][]string {
	out := make(map[string][]string, len(h))
	for k, vs := range h {
		for _, v := range vs {
			out[storable(k)] = append(out[storable(k)], storable(v))
		}
	}
	return out
}
