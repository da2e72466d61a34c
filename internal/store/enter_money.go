package store

import (
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const insertEffectSQL = `INSERT INTO effects (tenant_id, effect_id, account, payment_id, rid, dispatch_no, channel_refund_id, amount, currency,
    counted, status, source, at, reversed_at, voucher)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text::jsonb)`

const updateEffectSQL = `UPDATE effects SET rid = $3, dispatch_no = $4, channel_refund_id = $5, status = $6, reversed_at = $7, voucher = coalesce($8::text::jsonb, voucher)
  WHERE tenant_id = $1 AND effect_id = $2`

const insertEffectEventSQL = `INSERT INTO effect_events (tenant_id, effect_id, n, from_status, to_status, source, actor, data, at)
  SELECT $1, $2, coalesce(max(n), 0) + 1, $3, $4, $5, $6, $7, $8 FROM effect_events WHERE tenant_id = $1 AND effect_id = $2`

const insertLedgerAccountsSQL = `INSERT INTO ledger_accounts (tenant_id, code, currency, kind)
  VALUES ($1, $2, $4, 'expense'), ($1, $3, $4, 'asset') ON CONFLICT DO NOTHING`

const insertPostingSQL = `INSERT INTO postings (tenant_id, effect_id, kind, debit, credit, amount, currency, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

// effects writes what moved or returned, and its postings. Changed rows first: an id that leaves one effect may come to another.
func (w *writing) effects() {
	before := map[refund.RID]refund.Effect{}
	for _, e := range w.ch.Before.Effects {
		before[e.ID] = e
	}
	for _, frees := range []bool{true, false} { // whoever gives an id away goes before whoever gets it
		for _, e := range w.ch.After.Effects {
			old, known := before[e.ID]
			if gives := e.Status == refund.EffectDropped || e.ChannelRefundID == ""; known && old != e && gives == frees {
				w.one("effect", updateEffectSQL, w.tenant, [16]byte(e.ID), w.owner(e), pg.Null(e.DispatchNo), pg.Null(e.ChannelRefundID), string(e.Status), pg.NullTime(e.ReversedAt), pg.Null(e.Voucher))
			}
		}
	}
	for _, e := range w.ch.After.Effects {
		if _, known := before[e.ID]; !known {
			w.one("new effect", insertEffectSQL, w.tenant, [16]byte(e.ID), w.ch.After.Account, w.ch.After.PaymentID, w.owner(e), pg.Null(e.DispatchNo),
				pg.Null(e.ChannelRefundID), e.Amount, string(e.Currency), e.Counted, string(e.Status), w.source(e), w.at, pg.NullTime(e.ReversedAt), pg.Null(e.Voucher))
		}
		w.postings(e, before[e.ID].Status)
		w.effectEvent(e, before[e.ID])
	}
}

// effectEvent keeps the history of effects that no refund's journal tells: those that are, or were, of no refund.
func (w *writing) effectEvent(e, old refund.Effect) {
	if old == e || (e.Ours && (old.ID.IsZero() || old.Ours)) {
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
	if err != nil { // only strings and integers go in
		text = "{}"
	}
	actor := w.f.Actor
	if actor == "" {
		actor = actorLines
	}
	w.one("event of an effect", insertEffectEventSQL, w.tenant, [16]byte(e.ID), pg.Null(string(old.Status)), string(e.Status), w.f.Source, actor, text, w.at)
}

func (w *writing) owner(e refund.Effect) *[16]byte {
	if !e.Ours {
		return nil
	}
	return &w.rid
}

func (w *writing) source(e refund.Effect) string {
	if e.ByPerson {
		return pg.SourcePerson
	}
	return w.f.Source
}

// postings: money that moved takes from the channel's balance and is an expense; what returned is its mirror.
func (w *writing) postings(e refund.Effect, before refund.EffectStatus) {
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
