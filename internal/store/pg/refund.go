package pg

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// RefundColumns read a refund with its open case and the channel's id of its live dispatch; scanRefund takes them in this order.
const RefundColumns = `r.tenant_id, r.rid, r.refund_id, r.payment_id, r.order_id, r.account, r.channel_reference, r.currency, r.exponent, r.amount,
  r.digest, r.prev_rid, r.reason, r.metadata, r.state, r.pending_reason, r.failure_code, r.failure_channel_code, r.exposed, r.ask_no, r.epoch, r.generation,
  r.lease_ends_at, r.next_action_at, r.dispatch_no, r.attempt_no, r.journal_seq, r.journal_head, r.created_at, r.state_since, r.updated_at, r.final_at,
  c.case_id, c.reasons, c.opened_at, d.channel_refund_id`

// RefundSides are joined to refunds r, in this order and after the join that finds r: the pools keep the order of joins as it is written.
const RefundSides = `
  LEFT JOIN cases c ON (c.tenant_id, c.case_id) = (r.tenant_id, r.case_id)
  LEFT JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (r.tenant_id, r.rid, r.dispatch_no)`

// ScanRefund reads refundColumns, then whatever else the query selects into more.
func ScanRefund(row pgx.Row, more ...any) (refund.Refund, error) {
	var (
		r                                     refund.Refund
		tenant                                int64
		rid                                   [16]byte
		prev, caseID                          *[16]byte
		digest, head, metadata                []byte
		currency, state                       string
		reason, pending, failure, channelCode *string
		channelID                             *string
		ask                                   *int
		lease, next, final, opened            *time.Time
		reasons                               []string
	)
	dest := append([]any{&tenant, &rid, &r.RefundID, &r.PaymentID, &r.OrderID, &r.Account, &r.ChannelReference, &currency, &r.Exponent, &r.Amount,
		&digest, &prev, &reason, &metadata, &state, &pending, &failure, &channelCode, &r.Exposed, &ask, &r.Epoch, &r.Generation,
		&lease, &next, &r.DispatchNo, &r.AttemptNo, &r.JournalSeq, &head, &r.CreatedAt, &r.StateSince, &r.UpdatedAt, &final,
		&caseID, &reasons, &opened, &channelID}, more...)
	if err := row.Scan(dest...); err != nil {
		return r, err
	}
	r.RefundRef = refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}
	r.Currency, r.State = refund.Currency(currency), refund.State(state)
	var err error
	if r.Digest, err = refund.DigestFromBytes(digest); err != nil {
		return r, err
	}
	copy(r.JournalHead[:], head)
	if metadata != nil {
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return r, err
		}
	}
	r.Prev, r.Reason, r.PendingReason = Deref(prev), Deref(reason), refund.PendingReason(Deref(pending))
	r.Failure = refund.Failure{Code: Deref(failure), ChannelCode: Deref(channelCode)}
	r.AskNo, r.ChannelRefundID = Deref(ask), Deref(channelID)
	r.LeaseEndsAt, r.NextActionAt, r.FinalAt = Deref(lease), Deref(next), Deref(final)
	if caseID != nil {
		r.Case = &refund.Case{ID: *caseID, Reasons: CaseReasons(reasons), OpenedAt: Deref(opened)}
	}
	return r, nil
}

func CaseReasons(in []string) []refund.CaseReason {
	out := make([]refund.CaseReason, len(in))
	for i, s := range in {
		out[i] = refund.CaseReason(s)
	}
	return out
}

// PaymentColumns are a payment's row as scanPayment takes it.
const PaymentColumns = `p.tenant_id, p.payment_id, p.order_id, p.account, p.channel_reference, p.currency, p.exponent, p.known_by, p.version,
  p.captured, p.reserved, p.refunded, p.refunded_elsewhere, p.held, p.excess, p.excess_accepted, p.refunds, p.last_rid,
  p.next_send_at, p.window_ends_at, p.created_at, p.paid_at`

// ScanPayment reads paymentColumns.
func ScanPayment(row pgx.Row) (refund.Payment, error) {
	var (
		p                refund.Payment
		tenant           int64
		currency, by     string
		last             *[16]byte
		nextSend, window *time.Time
		paid             *time.Time
	)
	err := row.Scan(&tenant, &p.PaymentID, &p.OrderID, &p.Account, &p.Reference, &currency, &p.Exponent, &by, &p.Version,
		&p.Captured, &p.Reserved, &p.Refunded, &p.RefundedElsewhere, &p.Held, &p.Excess, &p.ExcessAccepted, &p.Refunds, &last,
		&nextSend, &window, &p.CreatedAt, &paid)
	p.Tenant, p.Currency, p.KnownBy = refund.TenantID(tenant), refund.Currency(currency), refund.KnownBy(by)
	p.LastRID, p.NextSendAt, p.WindowEndsAt, p.PaidAt = Deref(last), Deref(nextSend), Deref(window), Deref(paid)
	return p, err
}
