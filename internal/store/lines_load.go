package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

func (f *lockedPayment) load(tenant refund.TenantID, paymentID string) error {
	rows, err := f.tx.Query(f.ctx, refundsOfPaymentSQL, int64(tenant), paymentID)
	if err != nil {
		return err
	}
	rids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return err
	}
	if _, err := f.tx.Exec(f.ctx, lockRefundsSQL, int64(tenant), rids); err != nil {
		return err
	}
	if f.Payment, err = pg.ScanPayment(f.tx.QueryRow(f.ctx, sqlLockPayment, int64(tenant), paymentID)); err != nil {
		return err
	}
	if last := [16]byte(f.Payment.LastRID); len(rids) > 0 && last != rids[len(rids)-1] && !contains(rids, last) {
		return errNewRefund
	}
	f.Records = make([]refund.Record, len(rids))
	b := &pgx.Batch{}
	for i, rid := range rids {
		f.s.queueRecord(b, refund.RefundRef{Tenant: tenant, RID: rid}, pg.LoadPaymentSQL, &f.Records[i])
	}
	b.Queue(heldLinesSQL, int64(tenant), paymentID).Query(func(rows pgx.Rows) (err error) {
		f.Lines, err = pgx.CollectRows(rows, pg.ScanEffect)
		return err
	})
	if err := f.tx.SendBatch(f.ctx, b).Close(); err != nil {
		return err
	}
	if f.Now, err = txNow(f.ctx, f.tx); err != nil {
		return err
	}
	for i := range f.Records {
		f.u.found(&f.Records[i].Refund)
		f.Records[i].Effects = own(f.Records[i].Effects)
		if f.Records[i].Now.After(f.Now) {
			f.Now = f.Records[i].Now
		}
	}
	if f.Contract.Profile == "" {
		f.Contract, err = f.s.lineContract(f.ctx, f.tx, f.Payment.Account, tenant)
	}
	return err
}

func contains(rids [][16]byte, rid [16]byte) bool {
	for _, r := range rids {
		if r == rid {
			return true
		}
	}
	return false
}

// own returns the refund's effects without the payment's lines.
func own(effects []refund.Effect) (out []refund.Effect) {
	for _, e := range effects {
		if e.Ours {
			out = append(out, e)
		}
	}
	return out
}

// taken returns the ids that effects of other payments of the account have.
func (f *lockedPayment) taken(ctx context.Context, lines []refund.ListedEffect) (map[string]bool, error) {
	var ids []string
	for _, l := range lines {
		if l.ChannelRefundID != "" {
			ids = append(ids, l.ChannelRefundID)
		}
	}
	rows, err := f.tx.Query(ctx, takenIDsSQL, f.Payment.Account, ids, int64(f.Payment.Tenant), f.Payment.PaymentID)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, id := range found {
		out[id] = true
	}
	return out, err
}
