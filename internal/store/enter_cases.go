package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

const closeCaseSQL = `UPDATE cases SET reasons = '{}', closed_at = $3, closed_how = $4 WHERE tenant_id = $1 AND case_id = $2 AND closed_at IS NULL`

const openCaseSQL = `INSERT INTO cases (tenant_id, case_id, rid, payment_id, reasons, evidence, opened_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`

const updateCaseSQL = `UPDATE cases SET reasons = $3 WHERE tenant_id = $1 AND case_id = $2 AND closed_at IS NULL`

// voidDecisionsSQL voids open proposals and approved decisions that were not applied: the record has changed since.
const voidDecisionsSQL = `UPDATE decisions SET verdict = 'VOID', checked_at = $3
  WHERE tenant_id = $1 AND case_id = $2 AND (verdict IS NULL OR (verdict = 'APPROVED' AND applied_at IS NULL)) AND decision_id IS DISTINCT FROM $4`

// openPaymentCaseSQL opens a payment's case for excess that no fact of a refund explains. A payment has at most one open case.
const openPaymentCaseSQL = `INSERT INTO cases (tenant_id, case_id, payment_id, reasons, evidence, opened_at) VALUES ($1, $2, $3, '{excess}', $4, $5)
  ON CONFLICT (tenant_id, payment_id) WHERE closed_at IS NULL AND rid IS NULL DO NOTHING`

// closePaymentCaseSQL closes the case when the excess is gone or accepted.
const closePaymentCaseSQL = `UPDATE cases SET reasons = '{}', closed_at = $3, closed_how = $4
  WHERE tenant_id = $1 AND payment_id = $2 AND rid IS NULL AND closed_at IS NULL`

// sourceDecision is the source of the facts of applied decisions. Such a fact voids the other decisions of its case.
const sourceDecision = "decision"

// cases closes, opens and changes cases before the refund's row refers to another one.
func (w *changeWriter) cases() {
	old, next := w.ch.Before.Case, w.ch.After.Case
	if old != nil && w.ch.VoidProposals {
		w.any(voidDecisionsSQL, w.tenant, [16]byte(old.ID), w.at, pg.NullRID(w.ch.Decision))
	}
	how := w.how()
	if old != nil && (next == nil || next.ID != old.ID) {
		w.one("closed case", closeCaseSQL, w.tenant, [16]byte(old.ID), w.at, how)
	}
	if made := w.made(); made != nil {
		w.one("new case", openCaseSQL, w.tenant, [16]byte(made.ID), w.rid, w.ch.After.PaymentID, reasonTexts(made.Reasons), w.caseEvidence(), w.at)
		if next == nil {
			w.one("new case, answered at once", closeCaseSQL, w.tenant, [16]byte(made.ID), w.at, how)
		}
	}
	if old != nil && next != nil && next.ID == old.ID && !slices.Equal(old.Reasons, next.Reasons) {
		w.one("case", updateCaseSQL, w.tenant, [16]byte(next.ID), reasonTexts(next.Reasons))
	}
}

// how names the reason for closing a case.
func (w *changeWriter) how() string {
	if w.f.Source == sourceDecision {
		return sourceDecision + ":" + strings.ToLower(string(w.f.Kind))
	}
	return "fact:" + strings.ToLower(string(w.f.Kind))
}

// excess opens the payment's own case when a line that is no refund of ours has raised the excess above the accepted amount, and closes it
// when the excess is accepted or gone. Excess by a refund's fact belongs to that refund's case.
func (w *changeWriter) excess() {
	b, a := w.ch.Before.Payment, w.ch.After.Payment
	switch {
	case a.Excess <= a.ExcessAccepted:
		w.any(closePaymentCaseSQL, w.tenant, a.PaymentID, w.at, w.how())
	case a.Excess > b.Excess && w.ch.After.RID.IsZero():
		w.any(openPaymentCaseSQL, w.tenant, [16]byte(w.newCase), a.PaymentID, w.caseEvidence(), w.at)
	}
}

// made is the case that the change opens, even if a later step of the change closes it.
func (w *changeWriter) made() *refund.Case {
	fresh := func(c *refund.Case) bool { return c != nil && (w.ch.Before.Case == nil || c.ID != w.ch.Before.Case.ID) }
	if fresh(w.ch.After.Case) {
		return w.ch.After.Case
	}
	for _, t := range w.ch.Steps {
		if fresh(t.Row.Case) {
			return t.Row.Case
		}
	}
	return nil
}

// caseEvidence summarises the fact that opened the case.
func (w *changeWriter) caseEvidence() map[string]any {
	out := map[string]any{"fact": string(w.f.Kind), "source": w.f.Source, "rows": w.ch.Rows, "journalSeq": w.ch.After.JournalSeq,
		"state": string(w.ch.After.State)}
	if w.f.Amount != 0 || w.f.ChannelRefundID != "" {
		out["said"] = strings.TrimSpace(fmt.Sprint(w.f.Amount, " ", w.f.Currency, " ", w.f.ChannelRefundID))
	}
	if w.f.Kind == refund.ReviewRequested { // a person's own words, which no journal row has
		out["review"] = w.f.Evidence
	}
	return out
}

func reasonTexts(in []refund.CaseReason) []string {
	out := make([]string, len(in))
	for i, r := range in {
		out[i] = string(r)
	}
	return out
}
