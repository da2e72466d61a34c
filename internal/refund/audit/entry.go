package audit

import (
	"encoding/json"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// journalRow is a journal row with its data decoded.
type journalRow struct {
	Seq        int
	At         time.Time
	Kind       string
	From, To   refund.State
	Generation int
	Source     string

	Dispatch, Attempt int
	Call              refund.AttemptKind // of a claim
	Contract          int                // of a claim
	Rule              string
	ChannelRefundID   string
	Amount            int64
	Currency          refund.Currency
	Case              []refund.CaseReason
	Effect            refund.RID // of a decision
	code              string     // the channel's
}

func (r *journalRow) claim() bool {
	return r.Source == "worker" && (r.Kind == kindClaimSend || r.Kind == kindClaimAsk)
}

var (
	kindClaimSend = refund.JournalKind(refund.ClaimSend)
	kindClaimAsk  = refund.JournalKind(refund.ClaimAsk)
)

// decode reads a row's data. Data that cannot be read gives the columns alone: its digest has been checked before.
func decode(e *StoredEntry) journalRow {
	r := journalRow{Seq: e.Seq, At: e.At, Kind: e.Kind, From: e.From, To: e.To, Generation: e.Generation, Source: e.Source}
	var data struct {
		Dispatch, Attempt int
		Call              refund.AttemptKind
		Contract          int
		Rule              string
		ChannelRefundID   string
		Amount            int64
		Currency          refund.Currency
		Case              []refund.CaseReason
		Effect            refund.RID
		Code              string
	}
	if e.Seq == 1 || json.Unmarshal([]byte(e.Data), &data) != nil {
		return r
	}
	r.Dispatch, r.Attempt, r.Call, r.Contract, r.Rule = data.Dispatch, data.Attempt, data.Call, data.Contract, data.Rule
	r.ChannelRefundID, r.Amount, r.Currency, r.Case, r.Effect = data.ChannelRefundID, data.Amount, data.Currency, data.Case, data.Effect
	r.code = data.Code
	return r
}

// reported returns the kind of the fact that the row is about. A rule with two moves writes one fact as two rows of other kinds.
func (f *Fold) reported(r *journalRow) string {
	if kind := f.a.twoRows[r.Rule]; kind != "" {
		return kind
	}
	return r.Kind
}
