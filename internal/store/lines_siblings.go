package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// newestContractSQL reads the newest stored contract of an account, for lines of an account that this process does not know.
const newestContractSQL = `SELECT version, contract::text FROM contracts WHERE account = $1 ORDER BY version DESC LIMIT 1`

// readSiblings reads the other refunds of the record's payment where lines matter (refund.Record.NeedsSiblings), because it depends on
// them whose a line is and how much of the payment it keeps. The caller holds the lock of the payment, which every change of one of them
// needs; a claim alone does not, and its send cannot have made a line that was recorded before.
func (s *Store) readSiblings(ctx context.Context, tx pgx.Tx, rec *refund.Record) error {
	if !rec.NeedsSiblings() {
		return nil
	}
	rows, err := tx.Query(ctx, refundsOfPaymentSQL, int64(rec.Tenant), rec.PaymentID)
	if err != nil {
		return err
	}
	rids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return err
	}
	siblings := make([]refund.Record, 0, len(rids))
	b := &pgx.Batch{}
	for _, rid := range rids {
		if rid == [16]byte(rec.RID) {
			continue
		}
		siblings = append(siblings, refund.Record{})
		s.queueRecord(b, refund.RefundRef{Tenant: rec.Tenant, RID: rid}, pg.LoadPaymentSQL, &siblings[len(siblings)-1])
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for i := range siblings {
		siblings[i].Effects = own(siblings[i].Effects)
	}
	rec.Siblings = siblings
	return nil
}

// lineContract returns the contract by which lines of an account are judged: the configured one, or the newest stored one if this
// process does not know the account. Errors: ErrNoChannel if there is neither.
func (s *Store) lineContract(ctx context.Context, tx pgx.Tx, account string, tenant refund.TenantID) (refund.Contract, error) {
	c, known := s.contractOf(account, tenant)
	if known {
		return c, nil
	}
	var version int
	var text string
	err := tx.QueryRow(ctx, newestContractSQL, account).Scan(&version, &text)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, refund.ErrNoChannel
	}
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return c, fmt.Errorf("store: contract %d of account %s cannot be read: %w", version, account, err)
	}
	c.Version = version
	return c, nil
}
