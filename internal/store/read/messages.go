package read

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// messageDeliveries bounds the deliveries that one message shows; the newest are kept.
const messageDeliveries = 1000

// messageRow is the last delivery d of a message, with its refund r, all its deliveries m and its receipt x.
type messageRow struct {
	Consumer  string     `sql:"d.consumer"`
	Source    string     `sql:"coalesce(d.source, '')"`
	EventID   string     `sql:"coalesce(d.event_id, '')"`
	LastSeen  time.Time  `sql:"d.at"`
	Outcome   string     `sql:"d.outcome"`
	Cause     string     `sql:"coalesce(d.cause, '')"`
	Last      [16]byte   `sql:"d.delivery_id"`
	RefundID  string     `sql:"coalesce(r.refund_id, '')"`
	FirstSeen time.Time  `sql:"coalesce(m.first, d.at)"`
	TimesSeen int        `sql:"coalesce(m.times, 1)"`
	Batch     *[16]byte  `sql:"m.batch"`
	DecidedAt *time.Time `sql:"x.at"`
	Type      *string    `sql:"x.type"`
	Verdict   *string    `sql:"x.outcome"`
	Code      *string    `sql:"x.code"`
	Transport *string    `sql:"x.transport"`
}

// sqlMessages reads the last delivery of each message, the newest first. A delivery whose event could not be read is a message of its
// own.
var sqlMessages = `SELECT ` + pg.Columns[messageRow]() + `
FROM deliveries d
LEFT JOIN refunds r ON r.tenant_id = d.tenant_id AND r.rid = d.rid
LEFT JOIN LATERAL (SELECT min(s.at) AS first, count(*) AS times, (array_agg(s.replay_batch
    ORDER BY s.delivery_id DESC) FILTER (WHERE s.replay_batch IS NOT NULL))[1] AS batch
  FROM deliveries s WHERE s.tenant_id = d.tenant_id AND s.consumer = d.consumer AND s.event_id = d.event_id AND s.source = d.source) m ON d.event_id IS NOT NULL
LEFT JOIN receipts x ON x.tenant_id = d.tenant_id AND x.consumer = d.consumer AND x.source = d.source AND x.event_id = d.event_id
    AND x.month >= (now() - interval '427 days')::date
WHERE d.tenant_id = $1 AND ($2 = '' OR d.consumer = $2) AND ($3 = '' OR d.outcome = $3) AND ($4::uuid IS NULL OR d.delivery_id < $4)
  AND ($5 = '' OR d.rid = (SELECT k.rid FROM refund_keys k WHERE k.tenant_id = $1 AND k.refund_id = $5))
  AND NOT EXISTS (SELECT 1 FROM deliveries n WHERE n.tenant_id = d.tenant_id AND n.consumer = d.consumer AND n.event_id = d.event_id
    AND n.source = d.source AND n.delivery_id > d.delivery_id)
ORDER BY d.delivery_id DESC LIMIT $6`

const (
	sqlMessageReceipts = `SELECT x.source, x.at, x.type, x.outcome, coalesce(x.code, ''), coalesce(x.transport, ''), coalesce(r.refund_id, '')
FROM receipts x LEFT JOIN refunds r ON r.tenant_id = x.tenant_id AND r.rid = x.rid
WHERE x.tenant_id = $1 AND x.consumer = $2 AND x.source = ANY($3) AND x.event_id = $4 AND x.month >= (now() - interval '427 days')::date`

	sqlMessageSources = `SELECT DISTINCT source FROM (
  SELECT d.source FROM deliveries d WHERE d.tenant_id = $1 AND d.consumer = $2 AND d.event_id = $3
  UNION ALL
  SELECT x.source FROM receipts x WHERE x.tenant_id = $1 AND x.consumer = $2 AND ($4 = '' OR x.source = $4) AND x.event_id = $3
    AND x.month >= (now() - interval '427 days')::date) s
WHERE source IS NOT NULL AND ($4 = '' OR source = $4) ORDER BY source LIMIT 100`

	sqlMessageDeliveries = `SELECT d.source, d.at, d.transport, d.outcome, coalesce(d.cause, ''), d.replay_batch, d.delivery_id, coalesce(r.refund_id, ''),
  count(*) OVER (PARTITION BY d.source), min(d.at) OVER (PARTITION BY d.source)
FROM deliveries d LEFT JOIN refunds r ON r.tenant_id = d.tenant_id AND r.rid = d.rid
WHERE d.tenant_id = $1 AND d.consumer = $2 AND d.event_id = $3 AND ($4 = '' OR d.source = $4) ORDER BY d.delivery_id DESC LIMIT $5`
)

// ListMessages gives a page of the messages that bridges brought for a tenant, the one with the latest delivery first, without
// their deliveries. Errors: refund.ErrUnavailable.
func (r *Reader) ListMessages(ctx context.Context, tenant refund.TenantID, q intake.MessageQuery) ([]intake.Message, error) {
	rows, err := r.pool.Query(ctx, sqlMessages, int64(tenant), q.Consumer, q.Outcome, pg.NullRID(q.Before), q.RefundID, max(1, q.Limit))
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, scanMessage)
	return out, pg.Translate(err)
}

func scanMessage(row pgx.CollectableRow) (intake.Message, error) {
	r, err := pg.Scan[messageRow](row)
	m := intake.Message{Consumer: r.Consumer, Source: r.Source, EventID: r.EventID}
	m.LastSeen, m.Outcome, m.Cause, m.LastDelivery = r.LastSeen, r.Outcome, r.Cause, r.Last
	m.RefundID, m.FirstSeen, m.TimesSeen, m.ReplayBatch = r.RefundID, r.FirstSeen, r.TimesSeen, pg.Deref(r.Batch)
	if r.DecidedAt != nil {
		m.Decision = &intake.MessageDecision{At: *r.DecidedAt, Type: intake.EventType(pg.Deref(r.Type)), Outcome: intake.Verdict(pg.Deref(r.Verdict)),
			Code: refund.Code(pg.Deref(r.Code)), Transport: pg.Deref(r.Transport)}
	}
	return m, err
}

// Messages returns the events with this id that a consumer took, one for each source, with their deliveries. source "" means any. An event
// that no bridge brought has a decision and no deliveries. An unknown event gives an empty list. Errors: refund.ErrUnavailable.
func (r *Reader) Messages(ctx context.Context, tenant refund.TenantID, consumer, eventID, source string) ([]intake.Message, error) {
	var sources []string
	found := map[string]*intake.Message{}
	err := pg.Snapshot(ctx, r.pool, func(b *pgx.Batch) {
		b.Queue(sqlMessageSources, int64(tenant), consumer, eventID, source).Query(func(rows pgx.Rows) (err error) {
			sources, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	}, func(b *pgx.Batch) {
		if len(sources) == 0 {
			return
		}
		for _, name := range sources {
			found[name] = &intake.Message{Consumer: consumer, Source: name, EventID: eventID}
		}
		b.Queue(sqlMessageReceipts, int64(tenant), consumer, sources, eventID).Query(func(rows pgx.Rows) error { return readDecisions(rows, found) })
		b.Queue(sqlMessageDeliveries, int64(tenant), consumer, eventID, source, messageDeliveries).Query(func(rows pgx.Rows) error {
			return readDeliveries(rows,
				found)
		})
	})
	if err != nil || len(sources) == 0 {
		return nil, err
	}
	out := make([]intake.Message, 0, len(found))
	for _, name := range sources {
		out = append(out, timely(*found[name]))
	}
	return out, nil
}

// timely orders deliveries by time and takes what was not traced from the receipt.
func timely(m intake.Message) intake.Message {
	slices.Reverse(m.Deliveries)
	m.Truncated = m.TimesSeen > len(m.Deliveries)
	if d := m.Decision; d != nil && m.TimesSeen == 0 {
		m.FirstSeen, m.LastSeen, m.Outcome, m.Cause = d.At, d.At, string(d.Outcome), string(d.Code)
	}
	return m
}

func readDecisions(rows pgx.Rows, found map[string]*intake.Message) error {
	var source, refundID, typ, outcome, code string
	var d intake.MessageDecision
	_, err := pgx.ForEachRow(rows, []any{&source, &d.At, &typ, &outcome, &code, &d.Transport, &refundID}, func() error {
		if m := found[source]; m != nil {
			d.Type, d.Outcome, d.Code = intake.EventType(typ), intake.Verdict(outcome), refund.Code(code)
			decided := d
			m.Decision, m.RefundID = &decided, refundID
		}
		return nil
	})
	return err
}

func readDeliveries(rows pgx.Rows, found map[string]*intake.Message) error {
	var source, refundID string
	var d intake.MessageDelivery
	var batch *[16]byte
	var id [16]byte
	var times int
	var first time.Time
	_, err := pgx.ForEachRow(rows, []any{&source, &d.At, &d.Transport, &d.Outcome, &d.Cause, &batch, &id, &refundID, &times, &first}, func() error {
		m := found[source]
		if m == nil {
			return nil
		}
		d.ReplayBatch = pg.Deref(batch)
		if len(m.Deliveries) == 0 { // the last one
			m.LastSeen, m.Outcome, m.Cause, m.LastDelivery = d.At, d.Outcome, d.Cause, id
			m.FirstSeen, m.TimesSeen = first, times
		}
		if m.ReplayBatch.IsZero() {
			m.ReplayBatch = d.ReplayBatch
		}
		if m.RefundID == "" {
			m.RefundID = refundID
		}
		m.Deliveries = append(m.Deliveries, d)
		return nil
	})
	return err
}
