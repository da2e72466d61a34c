package store

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

var insertEffectSQL = pg.Named[effectArgs](`INSERT INTO effects (tenant_id, effect_id, account, payment_id, rid, dispatch_no, channel_refund_id,
    amount, currency, counted, status, source, at, reversed_at, voucher, told_at, pending, covered_by)
  VALUES (@tenant, @effect, @account, @payment, @rid, @dispatch_no, @channel_refund_id, @amount, @currency, @counted, @status, @source, @at, @reversed_at,
    @voucher::text::jsonb, @told_at, @pending, @covered_by)`)

var updateEffectSQL = pg.Named[effectArgs](`UPDATE effects SET rid = @rid, dispatch_no = @dispatch_no, channel_refund_id = @channel_refund_id, status = @status,
    reversed_at = @reversed_at, pending = @pending, covered_by = @covered_by,
    source = CASE WHEN @source::text = 'person' THEN 'person' ELSE source END, voucher = coalesce(@voucher::text::jsonb, voucher)
  WHERE tenant_id = @tenant AND effect_id = @effect`)

// effectArgs are a row of effects.
type effectArgs struct {
	Tenant          int64      `arg:"tenant"`
	Effect          [16]byte   `arg:"effect"`
	Account         string     `arg:"account"`
	Payment         string     `arg:"payment"`
	RID             *[16]byte  `arg:"rid"`
	DispatchNo      *int       `arg:"dispatch_no"`
	ChannelRefundID *string    `arg:"channel_refund_id"`
	Amount          int64      `arg:"amount"`
	Currency        string     `arg:"currency"`
	Counted         int64      `arg:"counted"`
	Status          string     `arg:"status"`
	Source          string     `arg:"source"`
	At              time.Time  `arg:"at"`
	ReversedAt      *time.Time `arg:"reversed_at"`
	Voucher         *string    `arg:"voucher"`
	ToldAt          *time.Time `arg:"told_at"`
	Pending         bool       `arg:"pending"`
	CoveredBy       *[16]byte  `arg:"covered_by"`
}

// disownLineSQL stores a person's answer that a line is not a refund's.
const disownLineSQL = `UPDATE effects SET not_of = not_of || $3::uuid WHERE tenant_id = $1 AND effect_id = $2 AND rid IS NULL AND NOT not_of @> ARRAY[$3::uuid]`

const insertEffectEventSQL = `INSERT INTO effect_events (tenant_id, effect_id, n, from_status, to_status, source, actor, data, at)
  SELECT $1, $2, coalesce(max(n), 0) + 1, $3, $4, $5, $6, $7, $8 FROM effect_events WHERE tenant_id = $1 AND effect_id = $2`

const insertLedgerAccountsSQL = `INSERT INTO ledger_accounts (tenant_id, code, currency, kind)
  VALUES ($1, $2, $4, 'expense'), ($1, $3, $4, 'asset') ON CONFLICT DO NOTHING`

const insertPostingSQL = `INSERT INTO postings (tenant_id, effect_id, kind, debit, credit, amount, currency, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// effects writes effects that moved or returned, with their postings. Changed rows come first, because one effect may take the channel
// refund id of another.
func (w *changeWriter) effects() {
	before := map[refund.RID]refund.Effect{}
	for _, e := range w.ch.Before.Effects {
		before[e.ID] = e
	}
	for id := range w.ch.After.NotOurs {
		if !w.ch.Before.NotOurs[id] {
			w.one("answer about a line", disownLineSQL, w.tenant, [16]byte(id), w.rid)
		}
	}
	for _, frees := range []bool{true, false} { // an effect that loses its id comes before the effect that takes it
		for _, e := range w.ch.After.Effects {
			old, known := before[e.ID]
			if gives := e.Status == refund.EffectDropped || e.ChannelRefundID == ""; known && old != e && gives == frees {
				w.one("effect", updateEffectSQL.SQL, updateEffectSQL.Args(w.effect(e))...)
			}
		}
	}
	for _, e := range w.ch.After.Effects {
		if _, known := before[e.ID]; !known {
			w.one("new effect", insertEffectSQL.SQL, insertEffectSQL.Args(w.effect(e))...)
		}
		w.postings(e, before[e.ID].Status)
		w.effectEvent(e, before[e.ID])
	}
}

// effect returns the row of an effect.
func (w *changeWriter) effect(e refund.Effect) *effectArgs {
	return &effectArgs{
		Tenant: w.tenant, Effect: e.ID, Account: w.ch.After.Account, Payment: w.ch.After.PaymentID, RID: w.owner(e), DispatchNo: pg.Null(e.DispatchNo),
		ChannelRefundID: pg.Null(e.ChannelRefundID), Amount: e.Amount, Currency: string(e.Currency), Counted: e.Counted, Status: string(e.Status),
		Source: w.source(e), At: w.at, ReversedAt: pg.NullTime(e.ReversedAt), Voucher: pg.Null(e.Voucher), ToldAt: pg.NullTime(e.ToldAt),
		Pending: e.Pending, CoveredBy: pg.NullRID(e.CoveredBy),
	}
}

// effectEvent keeps the history of effects that belong, or belonged, to no refund: no journal has it.
func (w *changeWriter) effectEvent(e, old refund.Effect) {
	same := old // who covers a line, and that its money moved, is no event of its own
	same.CoveredBy, same.Pending = e.CoveredBy, e.Pending
	if same == e || (e.Ours && (old.ID.IsZero() || old.Ours)) {
		return
	}
	data := map[string]any{"payment": w.ch.After.PaymentID, "amount": e.Amount, "currency": string(e.Currency), "channelRefundId": e.ChannelRefundID}
	if e.Ours {
		data["refund"], data["dispatch"] = w.ch.After.RID.String(), e.DispatchNo
	}
	if !w.ch.Decision.IsZero() {
		data["decision"] = w.ch.Decision.String()
	}
	text, err := refund.CanonicalJSON(data)
	if err != nil { // strings and integers always marshal
		text = "{}"
	}
	actor := w.f.Actor
	if actor == "" {
		actor = actorLines
	}
	w.one("event of an effect", insertEffectEventSQL, w.tenant, [16]byte(e.ID), pg.Null(string(old.Status)), string(e.Status), w.f.Source, actor, text, w.at)
}

func (w *changeWriter) owner(e refund.Effect) *[16]byte {
	if !e.Ours {
		return nil
	}
	return &w.rid
}

func (w *changeWriter) source(e refund.Effect) string {
	if e.ByPerson {
		return pg.SourcePerson
	}
	return w.f.Source
}

// postings books money that moved as an expense against the channel's balance, and money that returned as the mirror of that.
func (w *changeWriter) postings(e refund.Effect, before refund.EffectStatus) {
	expense, asset := "refunds:"+w.ch.After.Account, "channel:"+w.ch.After.Account
	stood := before == refund.EffectMoved || before == refund.EffectReversed
	stands := e.Status == refund.EffectMoved || e.Status == refund.EffectReversed
	returned := e.Status == refund.EffectReversed && before != refund.EffectReversed
	if !returned && (stood || !stands) {
		return
	}
	w.any(insertLedgerAccountsSQL, w.tenant, expense, asset, string(e.Currency))
	if stands && !stood {
		w.one("posting", insertPostingSQL, w.tenant, [16]byte(e.ID), "REFUND", expense, asset, e.Amount, string(e.Currency), w.at)
	}
	if returned {
		w.one("mirror posting", insertPostingSQL, w.tenant, [16]byte(e.ID), "REVERSAL", asset, expense, e.Amount, string(e.Currency), w.at)
	}
}
