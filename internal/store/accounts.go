package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
)

// AccountConfig is one channel account as the configuration names it.
type AccountConfig struct {
	Name     string
	Adapter  string
	Tenants  []string // codes
	Contract refund.Contract
	Prefixes map[string]string // by tenant code: the beginning of the tenant's payment references; absent = any reference
}

// SyncedAccount is what the database knows of a configured account.
type SyncedAccount struct {
	Contract refund.Contract // with its version
	Tenants  map[refund.TenantID]bool
	Prefixes map[refund.TenantID]string // of payment references
}

// ContractOf returns the contract for a tenant, with the prefix of the tenant's payment references.
func (a SyncedAccount) ContractOf(t refund.TenantID) refund.Contract {
	c := a.Contract
	c.ReferencePrefix = a.Prefixes[t]
	return c
}

const (
	sqlAddAccount = `INSERT INTO accounts (account, adapter) VALUES ($1, $2) ON CONFLICT (account) DO UPDATE
    SET adapter = excluded.adapter, disabled_at = NULL`
	sqlAllowTenant    = `INSERT INTO account_tenants (account, tenant_id) SELECT $1, tenant_id FROM tenants WHERE code = $2 ON CONFLICT DO NOTHING`
	sqlDisallow       = `DELETE FROM account_tenants a USING tenants t WHERE a.tenant_id = t.tenant_id AND a.account = $1 AND NOT t.code = ANY($2::text[])`
	sqlAllowed        = `SELECT a.tenant_id, t.code FROM account_tenants a JOIN tenants t USING (tenant_id) WHERE a.account = $1`
	sqlLastContract   = `SELECT version, digest FROM contracts WHERE account = $1 ORDER BY version DESC LIMIT 1`
	sqlAddContract    = `INSERT INTO contracts (account, version, contract, digest) VALUES ($1, $2, $3::text::json, $4)`
	sqlOrphanAccounts = `SELECT DISTINCT r.account FROM refunds r WHERE r.next_action_at IS NOT NULL AND NOT r.account = ANY($1::text[]) ORDER BY 1`
	lockAccounts      = "accounts"
)

// SyncAccounts stores the configured accounts. A contract whose digest differs from the newest stored one becomes the next version. An
// advisory lock serializes replicas that start at once. Errors: an account with open refunds that is missing from the configuration, a
// tenant that does not exist.
func (s *Store) SyncAccounts(ctx context.Context, accounts []AccountConfig) (map[string]SyncedAccount, error) {
	out := map[string]SyncedAccount{}
	err := s.inTx(ctx, "accounts of the configuration", func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlMutex, s.advisory(lockAccounts, 0, "")); err != nil {
			return err
		}
		names := make([]string, 0, len(accounts))
		for _, a := range accounts {
			names = append(names, a.Name)
			synced, err := syncAccount(ctx, tx, a)
			if err != nil {
				return fmt.Errorf("account %s: %w", a.Name, err)
			}
			out[a.Name] = synced
		}
		fault.Point(fault.AccountsWritten)
		return noOrphans(ctx, tx, names)
	})
	fault.Point(fault.AccountsCommitted)
	return out, err
}

func syncAccount(ctx context.Context, tx pgx.Tx, a AccountConfig) (SyncedAccount, error) {
	out := SyncedAccount{Contract: a.Contract, Tenants: map[refund.TenantID]bool{}, Prefixes: map[refund.TenantID]string{}}
	if err := a.Contract.Validate(); err != nil {
		return out, err
	}
	if _, err := tx.Exec(ctx, sqlAddAccount, a.Name, a.Adapter); err != nil {
		return out, err
	}
	if _, err := tx.Exec(ctx, sqlDisallow, a.Name, a.Tenants); err != nil {
		return out, err
	}
	for _, code := range a.Tenants {
		if _, err := tx.Exec(ctx, sqlAllowTenant, a.Name, code); err != nil {
			return out, err
		}
	}
	found, err := allowedTenants(ctx, tx, a.Name)
	if err != nil {
		return out, err
	}
	for code, id := range found {
		out.Tenants[id], out.Prefixes[id] = true, a.Prefixes[code]
	}
	for _, code := range a.Tenants {
		if found[code] == 0 {
			return out, fmt.Errorf("tenant %q does not exist (make it with `refundry tenant add %s`)", code, code)
		}
	}
	out.Contract.Version, err = contractVersion(ctx, tx, a)
	return out, err
}

// allowedTenants returns the tenants of an account by their codes.
func allowedTenants(ctx context.Context, tx pgx.Tx, account string) (map[string]refund.TenantID, error) {
	rows, err := tx.Query(ctx, sqlAllowed, account)
	if err != nil {
		return nil, err
	}
	var id int64
	var code string
	out := map[string]refund.TenantID{}
	_, err = pgx.ForEachRow(rows, []any{&id, &code}, func() error {
		out[code] = refund.TenantID(id)
		return nil
	})
	return out, err
}

func contractVersion(ctx context.Context, tx pgx.Tx, a AccountConfig) (int, error) {
	text, err := a.Contract.Encode()
	if err != nil {
		return 0, err
	}
	digest := sha256.Sum256(text)
	var version int
	var stored []byte
	err = tx.QueryRow(ctx, sqlLastContract, a.Name).Scan(&version, &stored)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, err
	}
	if string(stored) == string(digest[:]) {
		return version, nil
	}
	_, err = tx.Exec(ctx, sqlAddContract, a.Name, version+1, string(text), digest[:])
	return version + 1, err
}

func noOrphans(ctx context.Context, tx pgx.Tx, names []string) error {
	rows, err := tx.Query(ctx, sqlOrphanAccounts, names)
	if err != nil {
		return err
	}
	orphans, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(orphans) > 0 {
		sort.Strings(orphans)
		return fmt.Errorf("store: open refunds need accounts that the configuration leaves out: %s", strings.Join(orphans, ", "))
	}
	return nil
}
