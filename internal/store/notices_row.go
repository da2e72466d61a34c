package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// keepNoticeSQL stores a notice, tied to its refund where that is known, or counts a repeat of one.
var keepNoticeSQL = pg.Named[noticeArgs](`INSERT INTO notices (account, digest, number, channel_refund_id, headers, body, fact, tenant_id, rid)
  VALUES (@account, @digest, @number, @channel_refund_id, @headers, @body, @fact, @tenant, @rid)
  ON CONFLICT ON CONSTRAINT notices_pk DO UPDATE SET times_seen = notices.times_seen + 1
  RETURNING times_seen, rid IS NOT NULL`)

const matchNoticeSQL = `UPDATE notices SET tenant_id = $3, rid = $4 WHERE account = $1 AND digest = $2 AND rid IS NULL`

// noticeArgs are a row of notices as it is written.
type noticeArgs struct {
	Account         string              `arg:"account"`
	Digest          []byte              `arg:"digest"`
	Number          *string             `arg:"number"`
	ChannelRefundID *string             `arg:"channel_refund_id"`
	Headers         map[string][]string `arg:"headers"`
	Body            []byte              `arg:"body"`
	Fact            noticeFact          `arg:"fact"`
	Tenant          *int64              `arg:"tenant"` // with rid: the refund, NULL until it is known
	RID             *[16]byte           `arg:"rid"`
}

// noticeRow is a row of notices n as it is read.
type noticeRow struct {
	Account         string     `sql:"n.account"`
	Digest          []byte     `sql:"n.digest"`
	Number          *string    `sql:"n.number"`
	ChannelRefundID *string    `sql:"n.channel_refund_id"`
	Fact            noticeFact `sql:"n.fact"`
}

// noticeFact is the column fact: what the notice reports. The channel's id in it repeats the column channel_refund_id.
type noticeFact struct {
	Status          refund.FactKind `json:"status,omitempty"`
	ChannelRefundID string          `json:"channelRefundId,omitempty"`
	Amount          int64           `json:"amount,omitempty"`
	Currency        refund.Currency `json:"currency,omitempty"`
	Code            string          `json:"code,omitempty"`

	RefundID         string `json:"refundId,omitempty"`
	PaymentReference string `json:"paymentReference,omitempty"`
	Conflict         string `json:"conflict,omitempty"`
}

// noticeColumns are read by scanNotice.
var noticeColumns = pg.Columns[noticeRow]()

// storedNotice is a notice as it was read from its row.
type storedNotice struct {
	refund.Notice
	account string
}

// scanNotice reads noticeColumns, then the further columns of the query into more.
func scanNotice(row pgx.Row, more ...any) (storedNotice, error) {
	r, err := pg.Scan[noticeRow](row, more...)
	n := storedNotice{account: r.Account, Notice: refund.Notice{
		Number: pg.Deref(r.Number), ChannelRefundID: pg.Deref(r.ChannelRefundID), Status: r.Fact.Status, Amount: r.Fact.Amount, Currency: r.Fact.Currency,
		Code: r.Fact.Code, Names: refund.Names{RefundID: r.Fact.RefundID, PaymentReference: r.Fact.PaymentReference, Conflict: r.Fact.Conflict},
	}}
	copy(n.Digest[:], r.Digest) // 32 bytes by constraint
	return n, err
}

// scanKept is scanNotice for pgx.CollectRows.
func scanKept(row pgx.CollectableRow) (storedNotice, error) { return scanNotice(row) }

// keepNotice writes the row. seen counts this notice too; tied reports whether the row has a refund now.
func keepNotice(ctx context.Context, tx pgx.Tx, account string, n refund.KeptNotice, k *refund.RefundRef) (seen int, tied bool, err error) {
	row := noticeArgs{
		Account: account, Digest: n.Digest[:], Number: pg.Null(n.Number), ChannelRefundID: pg.Null(n.ChannelRefundID), Headers: storableHeaders(n.Headers),
		Body: n.Body,
		Fact: noticeFact{Status: n.Status, ChannelRefundID: n.ChannelRefundID, Amount: n.Amount,
			Currency: refund.Currency(bounded(string(n.Currency), longestCode)), Code: bounded(n.Code, longestCode),
			RefundID: n.Names.RefundID, PaymentReference: n.Names.PaymentReference, Conflict: n.Names.Conflict},
	}
	if k != nil {
		tenant, rid := int64(k.Tenant), [16]byte(k.RID)
		row.Tenant, row.RID = &tenant, &rid
	}
	err = tx.QueryRow(ctx, keepNoticeSQL.SQL, keepNoticeSQL.Args(&row)...).Scan(&seen, &tied)
	return seen, tied, err
}

// tieNotice gives a kept notice its refund. It returns false if the notice has one.
func tieNotice(ctx context.Context, tx pgx.Tx, account string, digest [32]byte, k refund.RefundRef) (bool, error) {
	tag, err := tx.Exec(ctx, matchNoticeSQL, account, digest[:], int64(k.Tenant), [16]byte(k.RID))
	return tag.RowsAffected() == 1, err
}
