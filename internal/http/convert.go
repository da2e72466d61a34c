package httpapi

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/refundry/refundry/internal/http/oapi"
	"github.com/refundry/refundry/internal/refund"
)

// textOrNull and timeOrNull return nil for zero values.
func textOrNull[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func refundOf(r refund.Refund) oapi.Refund {
	out := oapi.Refund{
		RefundId: r.RefundID, State: r.State, OrderId: r.OrderID, PaymentId: r.PaymentID, Amount: r.Amount, Currency: string(r.Currency),
		ChannelAccount: r.Account, Version: int64(r.JournalSeq), Digest: r.Digest.String(), PendingReason: textOrNull(r.PendingReason),
		NextActionAt: timeOrNull(r.NextActionAt), Case: caseOf(r.Case), ChannelRefundId: textOrNull(r.ChannelRefundID),
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(), Reason: textOrNull(r.Reason), Metadata: r.Metadata,
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	if r.Failure.Code != "" {
		out.Failure = &oapi.Failure{Code: r.Failure.Code, ChannelCode: textOrNull(r.Failure.ChannelCode)}
	}
	return out
}

func caseOf(c *refund.Case) *oapi.Case {
	if c == nil {
		return nil
	}
	out := &oapi.Case{Id: uuid.UUID(c.ID), OpenedAt: c.OpenedAt.UTC(), Reasons: append([]refund.CaseReason{}, c.Reasons...)}
	if len(out.Reasons) > 0 {
		out.Reason = out.Reasons[0]
	}
	return out
}

func effectsOf(rows []EffectRow) []oapi.Effect {
	out := make([]oapi.Effect, len(rows))
	for i, e := range rows {
		out[i] = oapi.Effect{Id: uuid.UUID(e.ID), RefundId: textOrNull(e.RefundID), ChannelRefundId: textOrNull(e.ChannelRefundID), Amount: e.Amount,
			Currency: string(e.Currency), Status: e.Status, Source: e.Source, At: e.At.UTC(),
			ReversedAt: timeOrNull(e.ReversedAt), Voucher: voucherOf(e.Voucher)}
		if e.DispatchNo > 0 {
			no := e.DispatchNo
			out[i].Dispatch = &no
		}
	}
	return out
}

// voucherOf decodes the stored text of a voucher; nil = there is none.
func voucherOf(text string) *map[string]string {
	var v map[string]string
	if text == "" || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return &v
}

func paymentOf(p refund.Payment, effects []EffectRow, truncated bool) oapi.Payment {
	return oapi.Payment{
		PaymentId: p.PaymentID, OrderId: p.OrderID, Currency: string(p.Currency), ChannelAccount: p.Account, ChannelReference: p.Reference,
		KnownBy: p.KnownBy, Version: p.Version, Captured: p.Captured, Reserved: p.Reserved, Refunded: p.Refunded,
		RefundedElsewhere: p.RefundedElsewhere, Held: p.Held, Excess: p.Excess, Refundable: p.Refundable(), CreatedAt: p.CreatedAt.UTC(),
		PaidAt: timeOrNull(p.PaidAt), Effects: effectsOf(effects), Truncated: truncated,
	}
}

func timelineOf(t Timeline) oapi.Timeline {
	out := oapi.Timeline{
		RefundId: t.Refund.RefundID, State: t.Refund.State, Version: int64(t.Refund.JournalSeq),
		Case: caseOf(t.Refund.Case), Truncated: t.Truncated,
		Journal: make([]oapi.JournalEntry, len(t.Journal)), Dispatches: make([]oapi.Dispatch, len(t.Dispatches)),
		Attempts: make([]oapi.Attempt, len(t.Attempts)), Effects: effectsOf(t.Effects), Deliveries: make([]oapi.Delivery, len(t.Deliveries)),
	}
	for i, j := range t.Journal {
		out.Journal[i] = oapi.JournalEntry{Seq: int64(j.Seq), At: j.At.UTC(), Kind: j.Kind, To: j.To, Generation: j.Generation,
			Source: j.Source, Actor: j.Actor, Data: objectOr(j.Data, "{}")}
		if j.From != "" {
			from := j.From
			out.Journal[i].From = &from
		}
	}
	for i, d := range t.Dispatches {
		out.Dispatches[i] = oapi.Dispatch{Ordinal: d.Ordinal, Number: d.Number, ChannelAccount: t.Refund.Account, Exposed: d.Exposed,
			Acknowledged: d.Acknowledged, ChannelRefundId: textOrNull(d.ChannelRefundID), KeyExpiresAt: timeOrNull(d.KeyExpiresAt),
			AbsenceCountsFrom: timeOrNull(d.AbsenceCountsFrom), CreatedAt: d.CreatedAt.UTC()}
	}
	for i, a := range t.Attempts {
		out.Attempts[i] = oapi.Attempt{Ordinal: a.No, Dispatch: a.DispatchNo, Kind: a.Kind, Generation: a.Generation,
			StartedAt: a.StartedAt.UTC(), NotAfter: a.NotAfter.UTC(), AnsweredAt: timeOrNull(a.AnsweredAt), Answer: textOrNull(a.Answer),
			Rule: textOrNull(a.Rule), Late: a.Late, Evidence: objectOr(a.Evidence, "null")}
	}
	for i, d := range t.Deliveries {
		out.Deliveries[i] = oapi.Delivery{At: d.At.UTC(), Consumer: d.Consumer, Source: textOrNull(d.Source), EventId: textOrNull(d.EventID),
			Transport: d.Transport, Outcome: d.Outcome, Cause: textOrNull(d.Cause)}
	}
	return out
}

func objectOr(data json.RawMessage, otherwise string) json.RawMessage {
	if len(data) == 0 {
		return json.RawMessage(otherwise)
	}
	return data
}
