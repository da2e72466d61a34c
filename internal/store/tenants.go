package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// TenantRow is a tenant as `refundry tenant` shows it.
type TenantRow struct {
	ID        refund.TenantID `json:"id"`
	Code      string          `json:"code"`
	Mode      string          `json:"mode"` // live or test
	CreatedAt time.Time       `json:"createdAt"`
	ClosedAt  *time.Time      `json:"closedAt"`
}

// Tenant converts the row to the tenant of an intake.
func (t TenantRow) Tenant() refund.Tenant {
	return refund.Tenant{ID: t.ID, Code: t.Code, Closed: t.ClosedAt != nil}
}

const (
	tenantColumns  = `tenant_id, code, mode, created_at, closed_at`
	sqlAddTenant   = `INSERT INTO tenants (code, mode) VALUES ($1, $2) ON CONFLICT (code) DO NOTHING`
	sqlTenant      = `SELECT ` + tenantColumns + ` FROM tenants WHERE code = $1`
	sqlTenants     = `SELECT ` + tenantColumns + ` FROM tenants ORDER BY code`
	sqlCloseTenant = `UPDATE tenants SET closed_at = coalesce(closed_at, now()) WHERE code = $1`
	sqlAddActor    = `INSERT INTO actors (tenant_id, name, kind) VALUES ($1, $2, $3) ON CONFLICT ON CONSTRAINT actors_name_uq DO NOTHING`
	sqlActor       = `SELECT actor_id FROM actors WHERE tenant_id = $1 AND name = $2 AND disabled_at IS NULL`
	sqlKeyStored   = `SELECT EXISTS (SELECT FROM api_keys WHERE prefix = $1 AND secret_hash = $2)`
	sqlAddKey      = `INSERT INTO api_keys (prefix, tenant_id, actor_id, secret_hash, scopes, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`
	sqlRevokeKey   = `UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE prefix = $1`
	sqlKeys        = `SELECT k.prefix, a.name, k.scopes, k.created_at, k.expires_at, k.revoked_at FROM api_keys k
    JOIN actors a USING (tenant_id, actor_id) WHERE k.tenant_id = $1 ORDER BY k.created_at, k.prefix`
	sqlLookupKey = `SELECT k.secret_hash, t.tenant_id, t.code, t.closed_at IS NOT NULL, t.mode, a.name, a.disabled_at IS NOT NULL, k.scopes, k.expires_at,
    k.revoked_at
FROM api_keys k JOIN tenants t USING (tenant_id) JOIN actors a USING (tenant_id, actor_id) WHERE k.prefix = $1`
)

func scanTenant(row pgx.CollectableRow) (TenantRow, error) {
	var t TenantRow
	var id int64
	err := row.Scan(&id, &t.Code, &t.Mode, &t.CreatedAt, &t.ClosedAt)
	t.ID = refund.TenantID(id)
	return t, err
}

// AddTenant creates a tenant, or returns the one with this code and mode. A code is never given to another tenant.
func (s *Store) AddTenant(ctx context.Context, code, mode string) (TenantRow, error) {
	if !refund.ValidTenantCode(code) {
		return TenantRow{}, fmt.Errorf("tenant code %q: use a-z, 0-9 and -, at most 63 characters, not starting with -", code)
	}
	fault.Point(fault.TenantBefore)
	if _, err := s.pool.Exec(ctx, sqlAddTenant, code, mode); err != nil {
		return TenantRow{}, pg.Translate(err)
	}
	fault.Point(fault.TenantCommitted)
	t, err := s.Tenant(ctx, code)
	if err == nil && t.Mode != mode {
		return t, fmt.Errorf("tenant %s exists and is in mode %s: live and test are separate tenants", code, t.Mode)
	}
	return t, err
}

// Tenant finds a tenant by its code. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (s *Store) Tenant(ctx context.Context, code string) (TenantRow, error) {
	rows, err := s.pool.Query(ctx, sqlTenant, code)
	if err != nil {
		return TenantRow{}, pg.Translate(err)
	}
	t, err := pgx.CollectExactlyOneRow(rows, scanTenant)
	return t, pg.Translate(err)
}

// Tenants lists all of them by code.
func (s *Store) Tenants(ctx context.Context) ([]TenantRow, error) {
	rows, err := s.pool.Query(ctx, sqlTenants)
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, scanTenant)
	return out, pg.Translate(err)
}

// CloseTenant stops a tenant's intakes. Open refunds are finished and nothing is deleted. Closing again is no error. Errors:
// refund.ErrNotFound.
func (s *Store) CloseTenant(ctx context.Context, code string) error {
	fault.Point(fault.TenantCloseBefore)
	ct, err := s.pool.Exec(ctx, sqlCloseTenant, code)
	fault.Point(fault.TenantCloseCommitted)
	if err == nil && ct.RowsAffected() == 0 {
		return refund.ErrNotFound
	}
	return pg.Translate(err)
}

// KeyRow is an API key as `refundry key` shows it; its secret is stored as a hash only.
type KeyRow struct {
	Prefix    string     `json:"prefix"`
	Actor     string     `json:"actor"`
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt"`
	RevokedAt *time.Time `json:"revokedAt"`
}

// NewKey describes a key to add. Kind is the kind of the actor if it does not exist yet: person or system.
type NewKey struct {
	Tenant      TenantRow
	Actor, Kind string
	Scopes      []string
	ExpiresAt   time.Time // zero = never
}

// AddKey stores the hash of an actor's key and creates the actor if it is new. The caller shows the key once.
func (s *Store) AddKey(ctx context.Context, n NewKey, key access.APIKey) error {
	fault.Point(fault.KeyBefore)
	err := s.inTx(ctx, "key "+key.Prefix, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlAddActor, int64(n.Tenant.ID), n.Actor, n.Kind); err != nil {
			return err
		}
		var actor int64
		if err := tx.QueryRow(ctx, sqlActor, int64(n.Tenant.ID), n.Actor).Scan(&actor); err != nil {
			return fmt.Errorf("actor %q: %w", n.Actor, err)
		}
		hash := key.SecretHash()
		var stored bool // by a run before, whose COMMIT was not answered
		if err := tx.QueryRow(ctx, sqlKeyStored, key.Prefix, hash[:]).Scan(&stored); err != nil || stored {
			return err
		}
		_, err := tx.Exec(ctx, sqlAddKey, key.Prefix, int64(n.Tenant.ID), actor, hash[:], n.Scopes, pg.Null(n.ExpiresAt))
		return err
	})
	fault.Point(fault.KeyCommitted)
	return err
}

// RevokeKey revokes a key. Revoking again is no error. Errors: refund.ErrNotFound.
func (s *Store) RevokeKey(ctx context.Context, prefix string) error {
	fault.Point(fault.KeyRevokeBefore)
	ct, err := s.pool.Exec(ctx, sqlRevokeKey, prefix)
	fault.Point(fault.KeyRevokeCommitted)
	if err == nil && ct.RowsAffected() == 0 {
		return refund.ErrNotFound
	}
	return pg.Translate(err)
}

// Keys lists a tenant's keys.
func (s *Store) Keys(ctx context.Context, t TenantRow) ([]KeyRow, error) {
	rows, err := s.pool.Query(ctx, sqlKeys, int64(t.ID))
	if err != nil {
		return nil, pg.Translate(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (KeyRow, error) {
		var k KeyRow
		err := row.Scan(&k.Prefix, &k.Actor, &k.Scopes, &k.CreatedAt, &k.ExpiresAt, &k.RevokedAt)
		return k, err
	})
	return out, pg.Translate(err)
}

// Lookup finds a key by its prefix. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (s *Store) Lookup(ctx context.Context, prefix string) (access.APIKeyRecord, error) {
	var k access.APIKeyRecord
	var hash []byte
	var tenant int64
	var expires, revoked *time.Time
	err := s.pool.QueryRow(ctx, sqlLookupKey, prefix).Scan(&hash, &tenant, &k.Tenant.Code, &k.Tenant.Closed, &k.Mode, &k.ActorName, &k.ActorDisabled,
		&k.Scopes, &expires, &revoked)
	k.Tenant.ID = refund.TenantID(tenant)
	copy(k.SecretHash[:], hash)
	k.ExpiresAt, k.RevokedAt = pg.Deref(expires), pg.Deref(revoked)
	return k, pg.Translate(err)
}
