package pg

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// refundRow is a row of refunds r, with its open case c and its live dispatch d.
type refundRow struct {
	Tenant           int64      `sql:"r.tenant_id"`
	RID              [16]byte   `sql:"r.rid"`
	RefundID         string     `sql:"r.refund_id"`
	PaymentID        string     `sql:"r.payment_id"`
	OrderID          string     `sql:"r.order_id"`
	Account          string     `sql:"r.account"`
	ChannelReference string     `sql:"r.channel_reference"`
	Currency         string     `sql:"r.currency"`
	Exponent         int        `sql:"r.exponent"`
	Amount           int64      `sql:"r.amount"`
	Digest           []byte     `sql:"r.digest"`
	Prev             *[16]byte  `sql:"r.prev_rid"`
	Reason           *string    `sql:"r.reason"`
	Metadata         []byte     `sql:"r.metadata"`
	State            string     `sql:"r.state"`
	PendingReason    *string    `sql:"r.pending_reason"`
	FailureCode      *string    `sql:"r.failure_code"`
	FailureChannel   *string    `sql:"r.failure_channel_code"`
	Exposed          bool       `sql:"r.exposed"`
	AskNo            *int       `sql:"r.ask_no"`
	Epoch            int        `sql:"r.epoch"`
	Generation       int        `sql:"r.generation"`
	LeaseEndsAt      *time.Time `sql:"r.lease_ends_at"`
	NextActionAt     *time.Time `sql:"r.next_action_at"`
	DispatchNo       int        `sql:"r.dispatch_no"`
	AttemptNo        int        `sql:"r.attempt_no"`
	JournalSeq       int        `sql:"r.journal_seq"`
	JournalHead      []byte     `sql:"r.journal_head"`
	CreatedAt        time.Time  `sql:"r.created_at"`
	StateSince       time.Time  `sql:"r.state_since"`
	UpdatedAt        time.Time  `sql:"r.updated_at"`
	FinalAt          *time.Time `sql:"r.final_at"`
	CaseID           *[16]byte  `sql:"c.case_id"`
	CaseReasons      []string   `sql:"c.reasons"`
	CaseOpenedAt     *time.Time `sql:"c.opened_at"`
	ChannelRefundID  *string    `sql:"d.channel_refund_id"`
}

// RefundColumns are read by ScanRefund from refunds r and RefundSides.
var RefundColumns = Columns[refundRow]()

// RefundSides are joined to refunds r, in this order and after the join that finds r: the pools keep the order of joins as it is written.
const RefundSides = `
  LEFT JOIN cases c ON (c.tenant_id, c.case_id) = (r.tenant_id, r.case_id)
  LEFT JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (r.tenant_id, r.rid, r.dispatch_no)`

// ScanRefund reads RefundColumns, then the further columns of the query into more.
func ScanRefund(row pgx.Row, more ...any) (refund.Refund, error) {
	r, err := Scan[refundRow](row, more...)
	if err != nil {
		return refund.Refund{}, err
	}
	return r.refund()
}

func (r *refundRow) refund() (refund.Refund, error) {
	out := refund.Refund{RefundRef: refund.RefundRef{Tenant: refund.TenantID(r.Tenant), RID: r.RID}}
	out.RefundID, out.PaymentID, out.OrderID, out.Account, out.ChannelReference = r.RefundID, r.PaymentID, r.OrderID, r.Account, r.ChannelReference
	out.Currency, out.Exponent, out.Amount = refund.Currency(r.Currency), r.Exponent, r.Amount
	out.Prev, out.Reason = Deref(r.Prev), Deref(r.Reason)
	out.State, out.PendingReason = refund.State(r.State), refund.PendingReason(Deref(r.PendingReason))
	out.Failure = refund.Failure{Code: Deref(r.FailureCode), ChannelCode: Deref(r.FailureChannel)}
	out.Exposed, out.AskNo, out.Epoch, out.Generation = r.Exposed, Deref(r.AskNo), r.Epoch, r.Generation
	out.LeaseEndsAt, out.NextActionAt = Deref(r.LeaseEndsAt), Deref(r.NextActionAt)
	out.DispatchNo, out.AttemptNo, out.JournalSeq = r.DispatchNo, r.AttemptNo, r.JournalSeq
	out.CreatedAt, out.StateSince, out.UpdatedAt, out.FinalAt = r.CreatedAt, r.StateSince, r.UpdatedAt, Deref(r.FinalAt)
	out.ChannelRefundID = Deref(r.ChannelRefundID)
	copy(out.JournalHead[:], r.JournalHead)
	if r.CaseID != nil {
		out.Case = &refund.Case{ID: *r.CaseID, Reasons: CaseReasons(r.CaseReasons), OpenedAt: Deref(r.CaseOpenedAt)}
	}
	if r.Metadata != nil {
		if err := json.Unmarshal(r.Metadata, &out.Metadata); err != nil {
			return out, err
		}
	}
	var err error
	out.Digest, err = refund.DigestFromBytes(r.Digest)
	return out, err
}

// CaseReasons converts the reasons of a case as they are stored.
func CaseReasons(in []string) []refund.CaseReason {
	out := make([]refund.CaseReason, len(in))
	for i, s := range in {
		out[i] = refund.CaseReason(s)
	}
	return out
}
