package pg

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// ReadContracts reads every stored contract by account and version.
func ReadContracts(ctx context.Context, q Querier) (map[string]map[int]refund.Contract, error) {
	rows, err := q.Query(ctx, `SELECT account, version, contract::text FROM contracts`)
	if err != nil {
		return nil, err
	}
	out := map[string]map[int]refund.Contract{}
	var account, text string
	var version int
	_, err = pgx.ForEachRow(rows, []any{&account, &version, &text}, func() error {
		var c refund.Contract
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return fmt.Errorf("store: contract %d of account %s cannot be read: %w", version, account, err)
		}
		c.Version = version
		if out[account] == nil {
			out[account] = map[int]refund.Contract{}
		}
		out[account][version] = c
		return nil
	})
	return out, err
}
