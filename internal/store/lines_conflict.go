package store

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// lineConflict is a line whose ids belong to several refunds, or to a refund of another payment.
type lineConflict struct {
	line  refund.ListedEffect
	named []refund.RefundRef
}

// numbersElsewhereSQL finds refunds of the account, by number, that belong to other payments. $1 account, $2 numbers, $3 tenant, $4 payment.
const numbersElsewhereSQL = `SELECT d.number, d.tenant_id, d.rid FROM dispatches d JOIN refunds r ON (r.tenant_id, r.rid) = (d.tenant_id, d.rid)
  WHERE d.account = $1 AND d.number = ANY($2) AND (r.tenant_id, r.payment_id) <> ($3, $4)`

// withoutConflicts takes out the lines that contradict themselves: nothing may follow from them. A line with a number of this payment stays,
// because Enter checks it under the refund's lock.
func (f *lockedPayment) withoutConflicts(lines []refund.ListedEffect) (clean []refund.ListedEffect, conflicts []lineConflict, err error) {
	elsewhere, err := f.numbersElsewhere(lines)
	if err != nil {
		return nil, nil, err
	}
	told := map[string]*refund.Record{}
	for i := range f.Records {
		for _, d := range f.Records[i].Dispatches {
			if d.ChannelRefundID != "" {
				told[d.ChannelRefundID] = &f.Records[i]
			}
		}
	}
	for _, l := range lines {
		if _, _, ours := f.Owner(l.Number); ours {
			clean = append(clean, l)
			continue
		}
		var named []refund.RefundRef
		if k, other := elsewhere[l.Number]; other {
			named = append(named, k)
		}
		// Another number for a channel refund that we know, or another refund's id: the channel told both.
		r := told[l.ChannelRefundID]
		if r != nil && (l.Number != "" || l.Names.ContradictsRecord(&r.Refund, "")) {
			named = append(named, r.RefundRef)
		}
		if len(named) == 0 && l.Names.Conflict == "" {
			clean = append(clean, l)
			continue
		}
		for i := range f.Records {
			if x := &f.Records[i]; l.Names.RefundID == x.RefundID && !slices.Contains(named, x.RefundRef) {
				named = append(named, x.RefundRef)
			}
		}
		conflicts = append(conflicts, lineConflict{l, named})
	}
	return clean, conflicts, nil
}

func (f *lockedPayment) numbersElsewhere(lines []refund.ListedEffect) (map[string]refund.RefundRef, error) {
	var numbers []string
	for _, l := range lines {
		if _, _, ours := f.Owner(l.Number); !ours && l.Number != "" {
			numbers = append(numbers, l.Number)
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	rows, err := f.tx.Query(f.ctx, numbersElsewhereSQL, f.Payment.Account, numbers, int64(f.Payment.Tenant), f.Payment.PaymentID)
	if err != nil {
		return nil, err
	}
	out := map[string]refund.RefundRef{}
	var number string
	var tenant int64
	var rid [16]byte
	_, err = pgx.ForEachRow(rows, []any{&number, &tenant, &rid}, func() error {
		out[number] = refund.RefundRef{Tenant: refund.TenantID(tenant), RID: rid}
		return nil
	})
	return out, err
}

// lineEvidence is the fact that a contradicting line leaves in the journal.
func lineEvidence(l refund.ListedEffect, source string) refund.Fact {
	return sanitize(refund.Fact{ChannelRefundID: l.ChannelRefundID, Amount: l.Amount, Currency: l.Currency, Code: l.Code, Source: source, Actor: actorLines})
}
