package read

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// The rows of a timeline, a payment or a case are the domain's rows, which pg reads, and the columns that only a reader is shown.

// dispatchColumns are read by scanDispatchRow from pg.DispatchTables.
var dispatchColumns = pg.DispatchColumns + `, d.at`

func scanDispatchRow(row pgx.CollectableRow) (out refund.DispatchRow, err error) {
	out.Dispatch, err = pg.ScanDispatchAnd(row, &out.CreatedAt)
	return out, err
}

// attemptColumns are read by scanAttemptRow from attempts a.
var attemptColumns = pg.AttemptColumns + `, coalesce(a.rule, ''), a.late, a.evidence`

func scanAttemptRow(row pgx.CollectableRow) (out refund.AttemptRow, err error) {
	var evidence []byte
	out.Attempt, err = pg.ScanAttemptAnd(row, &out.Rule, &out.Late, &evidence)
	out.Evidence = json.RawMessage(evidence)
	return out, err
}

// effectColumns are read by scanEffect from effects e.
var effectColumns = pg.EffectColumns + `, e.source, coalesce(e.voucher::text, '')`

// scanEffectRow gives a reader of effectColumns for effects of the refund with this id; "" = of no refund of ours.
func scanEffectRow(refundID string) func(pgx.CollectableRow) (refund.EffectRow, error) {
	return func(row pgx.CollectableRow) (refund.EffectRow, error) {
		e, err := scanEffect(row)
		e.RefundID = refundID
		return e, err
	}
}

// scanEffect reads effectColumns, then the further columns of the query into more.
func scanEffect(row pgx.Row, more ...any) (out refund.EffectRow, err error) {
	var voucher string // beside out.Effect, which is assigned as a whole
	out.Effect, err = pg.ScanEffectAnd(row, append([]any{&out.Source, &voucher}, more...)...)
	out.Voucher = voucher
	return out, err
}
