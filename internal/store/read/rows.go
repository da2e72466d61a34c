package read

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// dispatchRow is a row of dispatches d in a timeline.
type dispatchRow struct {
	Ordinal           int        `sql:"d.no"`
	Number            string     `sql:"d.number"`
	KeyExpiresAt      *time.Time `sql:"d.key_expires_at"`
	AbsenceCountsFrom *time.Time `sql:"d.absence_counts_from"`
	Exposed           bool       `sql:"d.exposed"`
	Overridden        bool       `sql:"d.overridden_by IS NOT NULL"`
	FinalNegativeAt   *time.Time `sql:"d.final_negative_at"`
	Acknowledged      bool       `sql:"d.acknowledged"`
	ChannelRefundID   string     `sql:"coalesce(d.channel_refund_id, '')"`
	CreatedAt         time.Time  `sql:"d.at"`
	Retired           bool       `sql:"EXISTS (SELECT 1 FROM retired_dispatches x WHERE (x.tenant_id, x.rid, x.no) = (d.tenant_id, d.rid, d.no))"`
}

func scanDispatchRow(row pgx.CollectableRow) (refund.DispatchRow, error) {
	d, err := pg.Scan[dispatchRow](row)
	var out refund.DispatchRow
	out.Ordinal, out.Number, out.KeyExpiresAt, out.AbsenceCountsFrom = d.Ordinal, d.Number, pg.Deref(d.KeyExpiresAt), pg.Deref(d.AbsenceCountsFrom)
	out.Exposed, out.Overridden, out.FinalNegativeAt, out.Acknowledged = d.Exposed, d.Overridden, pg.Deref(d.FinalNegativeAt), d.Acknowledged
	out.ChannelRefundID, out.CreatedAt, out.Retired = d.ChannelRefundID, d.CreatedAt, d.Retired
	return out, err
}

// attemptRow is a row of attempts a in a timeline.
type attemptRow struct {
	No              int        `sql:"a.no"`
	DispatchNo      int        `sql:"a.dispatch_no"`
	Kind            string     `sql:"a.kind"`
	Epoch           int        `sql:"a.epoch"`
	Generation      int        `sql:"a.generation"`
	ContractVersion int        `sql:"a.contract_version"`
	StartedAt       time.Time  `sql:"a.started_at"`
	NotAfter        time.Time  `sql:"a.not_after"`
	AnsweredAt      *time.Time `sql:"a.answered_at"`
	Answer          string     `sql:"coalesce(a.answer, '')"`
	Rule            string     `sql:"coalesce(a.rule, '')"`
	Late            bool       `sql:"a.late"`
	Evidence        []byte     `sql:"a.evidence"`
}

func scanAttemptRow(row pgx.CollectableRow) (refund.AttemptRow, error) {
	a, err := pg.Scan[attemptRow](row)
	var out refund.AttemptRow
	out.No, out.DispatchNo, out.Kind, out.Epoch, out.Generation = a.No, a.DispatchNo, refund.AttemptKind(a.Kind), a.Epoch, a.Generation
	out.ContractVersion, out.StartedAt, out.NotAfter, out.AnsweredAt = a.ContractVersion, a.StartedAt, a.NotAfter, pg.Deref(a.AnsweredAt)
	out.Answer, out.Rule, out.Late = refund.FactKind(a.Answer), a.Rule, a.Late
	if a.Evidence != nil {
		out.Evidence = json.RawMessage(a.Evidence)
	}
	return out, err
}

// effectRow is a row of effects e in a timeline, a payment or a case.
type effectRow struct {
	ID              [16]byte   `sql:"e.effect_id"`
	DispatchNo      *int       `sql:"e.dispatch_no"`
	ChannelRefundID string     `sql:"coalesce(e.channel_refund_id, '')"`
	Amount          int64      `sql:"e.amount"`
	Currency        string     `sql:"e.currency"`
	Counted         int64      `sql:"e.counted"`
	Status          string     `sql:"e.status"`
	Source          string     `sql:"e.source"`
	At              time.Time  `sql:"e.at"`
	ReversedAt      *time.Time `sql:"e.reversed_at"`
	Voucher         []byte     `sql:"e.voucher"`
}

var effectColumns = pg.Columns[effectRow]()

// scanEffectRow gives a reader of effectColumns for effects of the refund with this id; "" = of no refund of ours.
func scanEffectRow(refundID string) func(pgx.CollectableRow) (refund.EffectRow, error) {
	return func(row pgx.CollectableRow) (refund.EffectRow, error) {
		e, err := pg.Scan[effectRow](row)
		return e.effect(refundID), err
	}
}

func (e *effectRow) effect(refundID string) refund.EffectRow {
	out := refund.EffectRow{RefundID: refundID}
	out.ID, out.Ours, out.DispatchNo = e.ID, e.DispatchNo != nil, pg.Deref(e.DispatchNo)
	out.ChannelRefundID, out.Amount, out.Currency, out.Counted = e.ChannelRefundID, e.Amount, refund.Currency(e.Currency), e.Counted
	out.Status, out.Source, out.At, out.ReversedAt = refund.EffectStatus(e.Status), e.Source, e.At, pg.Deref(e.ReversedAt)
	out.Voucher = string(e.Voucher)
	return out
}
