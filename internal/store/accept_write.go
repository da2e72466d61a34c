package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

var (
	sqlInsertReceipts = pg.Named[receiptArrays](`INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome, rid, code,
    transport, at)
SELECT t, c, s, e, date_trunc('month', @now::timestamptz AT TIME ZONE 'UTC')::date, ty, d, p::json, o, r, nullif(co, ''), nullif(tr, ''), @now
FROM unnest(@tenants::bigint[], @consumers::text[], @sources::text[], @events::text[], @types::text[], @digests::bytea[], @params::text[],
    @outcomes::text[], @rids::uuid[], @codes::text[], @transports::text[]) AS u(t, c, s, e, ty, d, p, o, r, co, tr)`)

	sqlInsertPayment = pg.Named[paymentArgs](`INSERT INTO payments (tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by,
    version,
  captured, reserved, refunded_elsewhere, excess, refunds, last_rid, window_ends_at, created_at, paid_at)
VALUES (@tenant, @payment, @order_id, @account, @reference, @currency, @exponent, @known_by, @version, @captured, @reserved, @refunded_elsewhere, @excess,
    @refunds, @last_rid, @window_ends_at, @created_at, @paid_at)`)

	sqlPaid = `UPDATE payments SET paid_at = $3, window_ends_at = $4 WHERE tenant_id = $1 AND payment_id = $2`

	sqlTouchPayments = `UPDATE payments p SET captured = u.c, reserved = u.r, excess = u.x, refunds = u.n, last_rid = u.l
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::int[], $7::uuid[]) AS u(t, p, c, r, x, n, l)
WHERE p.tenant_id = u.t AND p.payment_id = u.p`

	sqlInsertKeys = pg.Named[refundArrays](`INSERT INTO refund_keys (tenant_id, refund_id, rid) SELECT *
    FROM unnest(@tenants::bigint[], @ids::text[], @rids::uuid[])`)

	sqlInsertRefunds = pg.Named[refundArrays](`INSERT INTO refunds (tenant_id, rid, refund_id, payment_id, order_id, account, channel_reference, currency,
    exponent, amount, digest,
  prev_rid, reason, metadata, state, pending_reason, epoch, next_action_at, journal_seq, journal_head, created_at, state_since, updated_at)
SELECT t, r, ri, pi, oi, a, cr, cu, ex, am, d, pr, nullif(re, ''), nullif(me, '')::jsonb, 'PENDING', 'queued', @epoch, @next_action_at, 1, h, @now, @now, @now
FROM unnest(@tenants::bigint[], @rids::uuid[], @ids::text[], @payments::text[], @orders::text[], @accounts::text[], @references::text[],
    @currencies::text[], @exponents::smallint[], @amounts::bigint[], @digests::bytea[],
  @prev::uuid[], @reasons::text[], @metadata::text[], @heads::bytea[], @ord::int[]) AS u(t, r, ri, pi, oi, a, cr, cu, ex, am, d, pr, re, me, h,
    ord) ORDER BY ord`)

	sqlInsertDispatches = pg.Named[refundArrays](`INSERT INTO dispatches (tenant_id, rid, no, account, number, at) SELECT t, r, 1, a, n, @now
    FROM unnest(@tenants::bigint[], @rids::uuid[], @accounts::text[], @numbers::text[]) AS u(t, r, a, n)`)

	sqlInsertJournal = pg.Named[refundArrays](`INSERT INTO journal (tenant_id, rid, seq, kind, to_state, generation, source, actor, at, data, digest, hash,
    replay_batch)
SELECT t, r, 1, k, 'PENDING', 0, s, ac, @now, da, di, h, b FROM unnest(@tenants::bigint[], @rids::uuid[], @kinds::text[], @sources::text[],
    @actors::text[], @data::text[], @entries::bytea[], @heads::bytea[], @batches::uuid[]) AS u(t, r, k, s, ac, da, di, h, b)`)

	sqlInsertCapture = `INSERT INTO captures (tenant_id, payment_id, capture_id, amount, at) VALUES ($1, $2, $3, $4, $5)`

	sqlConflict = pg.Named[conflictArgs](`INSERT INTO conflicts (tenant_id, conflict_id, kind, consumer, source, event_id, refund_id, payment_id, rid,
    got_digest, got, fields, transport, at, last_at)
VALUES (@tenant, @id, @kind, @consumer, @source, @event, @refund, @payment, @rid, @got_digest, @got::text::json, @fields, @transport, @now, @now)
ON CONFLICT ON CONSTRAINT conflicts_same_uq DO UPDATE SET times = conflicts.times + 1, last_at = excluded.last_at`)

	sqlPark = pg.Named[parkArgs](`INSERT INTO parked (tenant_id, parked_id, consumer, source, event_id, position, headers, body, reason, wake_payment,
    alarm_at, tries, at)
VALUES (@tenant, @id, @consumer, @source, @event, @position, @headers, @body, @reason, @wake_payment, @alarm_at, 1, @now)
ON CONFLICT ON CONSTRAINT parked_position_uq DO UPDATE SET tries = parked.tries + 1,
  reason = CASE WHEN excluded.wake_payment IS NULL THEN parked.reason ELSE excluded.reason END,
  wake_payment = coalesce(excluded.wake_payment, parked.wake_payment), alarm_at = coalesce(parked.alarm_at, excluded.alarm_at)`)

	sqlRebindReceipts = pg.Named[receiptArrays](`UPDATE receipts x SET outcome = u.o, rid = u.r, code = nullif(u.co, ''), transport = nullif(u.tr, '')
FROM unnest(@tenants::bigint[], @consumers::text[], @sources::text[], @events::text[], @outcomes::text[], @rids::uuid[], @codes::text[],
    @transports::text[]) AS u(t, c, s, e, o, r, co, tr)
WHERE x.tenant_id = u.t AND x.consumer = u.c AND x.source = u.s AND x.event_id = u.e AND x.outcome = 'REFUSED'
    AND x.month >= (@now::timestamptz - interval '427 days')::date`)

	sqlUnparkDone = `UPDATE parked SET done_at = $3, done_how = $4, done_by = $5, tries = tries + 1 WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`

	sqlUnparkStay = `UPDATE parked SET reason = $3, wake_payment = $4, alarm_at = coalesce(alarm_at, $5), tries = tries + 1
    WHERE tenant_id = $1 AND parked_id = $2 AND done_at IS NULL`
)

// receiptArrays are the columns of a group's receipts.
type receiptArrays struct {
	Tenants    []int64     `arg:"tenants"`
	Consumers  []string    `arg:"consumers"`
	Sources    []string    `arg:"sources"`
	Events     []string    `arg:"events"`
	Types      []string    `arg:"types"`
	Digests    [][]byte    `arg:"digests"`
	Params     []string    `arg:"params"`
	Outcomes   []string    `arg:"outcomes"`
	RIDs       []*[16]byte `arg:"rids"`
	Codes      []string    `arg:"codes"`
	Transports []string    `arg:"transports"`
	Now        time.Time   `arg:"now"`
}

func receiptColumns(rs []intake.NewReceipt, now time.Time) *receiptArrays {
	c := &receiptArrays{Now: now}
	for _, r := range rs {
		c.Tenants, c.Consumers = append(c.Tenants, int64(r.Tenant)), append(c.Consumers, r.Consumer)
		c.Sources, c.Events = append(c.Sources, r.Source), append(c.Events, r.ID)
		c.Types, c.Digests, c.Params = append(c.Types, string(r.Type)), append(c.Digests, r.Digest.Bytes()), append(c.Params, r.Params)
		c.Outcomes, c.RIDs = append(c.Outcomes, string(r.Outcome)), append(c.RIDs, pg.NullRID(r.RID))
		c.Codes, c.Transports = append(c.Codes, string(r.Code)), append(c.Transports, r.Transport)
	}
	return c
}

func queueReceipts(b *pgx.Batch, v intake.View, rs []intake.NewReceipt) {
	if len(rs) > 0 {
		b.Queue(sqlInsertReceipts.SQL, sqlInsertReceipts.Args(receiptColumns(rs, v.Now))...)
	}
}

// queueReceiptUpdates updates the receipts of refused events that this group has decided again, under the event's advisory lock. Other
// receipts never change.
func queueReceiptUpdates(b *pgx.Batch, v intake.View, rs []intake.NewReceipt) {
	if len(rs) > 0 {
		b.Queue(sqlRebindReceipts.SQL, sqlRebindReceipts.Args(receiptColumns(rs, v.Now))...)
	}
}

// paymentArgs are a new row of payments.
type paymentArgs struct {
	Tenant            int64      `arg:"tenant"`
	Payment           string     `arg:"payment"`
	OrderID           string     `arg:"order_id"`
	Account           string     `arg:"account"`
	Reference         string     `arg:"reference"`
	Currency          string     `arg:"currency"`
	Exponent          int        `arg:"exponent"`
	KnownBy           string     `arg:"known_by"`
	Version           int64      `arg:"version"`
	Captured          int64      `arg:"captured"`
	Reserved          int64      `arg:"reserved"`
	RefundedElsewhere int64      `arg:"refunded_elsewhere"`
	Excess            int64      `arg:"excess"`
	Refunds           int        `arg:"refunds"`
	LastRID           *[16]byte  `arg:"last_rid"`
	WindowEndsAt      *time.Time `arg:"window_ends_at"`
	CreatedAt         time.Time  `arg:"created_at"`
	PaidAt            *time.Time `arg:"paid_at"`
}

func queuePayments(b *pgx.Batch, p intake.Plan) {
	for _, n := range p.Payments {
		b.Queue(sqlInsertPayment.SQL, sqlInsertPayment.Args(&paymentArgs{
			Tenant: int64(n.Tenant), Payment: n.PaymentID, OrderID: n.OrderID, Account: n.Account, Reference: n.Reference,
			Currency: string(n.Currency), Exponent: n.Exponent, KnownBy: string(n.KnownBy), Version: n.Version,
			Captured: n.Captured, Reserved: n.Reserved, RefundedElsewhere: n.RefundedElsewhere, Excess: n.Excess,
			Refunds: n.Refunds, LastRID: pg.NullRID(n.LastRID), WindowEndsAt: pg.NullTime(n.WindowEndsAt), CreatedAt: n.CreatedAt, PaidAt: pg.NullTime(n.PaidAt),
		})...)
	}
	for _, n := range p.Paid {
		queuePaid(b, n)
	}
}

// queuePaid stores the time of payment of a known payment, whose row this transaction has locked.
func queuePaid(b *pgx.Batch, p refund.Payment) {
	b.Queue(sqlPaid, int64(p.Tenant), p.PaymentID, pg.Null(p.PaidAt), pg.Null(p.WindowEndsAt))
}

// queueBalances updates the balances of payments whose rows this transaction has locked. Rows of payments are never deleted.
func queueBalances(b *pgx.Batch, ps []refund.Payment) {
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

func queueCaptures(b *pgx.Batch, v intake.View, cs []intake.NewCapture) {
	for _, c := range cs {
		b.Queue(sqlInsertCapture, int64(c.Tenant), c.PaymentID, c.CaptureID, c.Amount, v.Now)
	}
}
