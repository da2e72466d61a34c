package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/refundry/refundry/internal/refund"
)

// prepare creates the next schema: migrated, with one tenant and the payments.
func (b *run) prepare(ctx context.Context) (schema string, tenant refund.Tenant, err error) {
	b.schemas++
	schema = fmt.Sprintf("%s_%d_%d", b.cfg.Schema, os.Getpid(), b.schemas)
	if err := b.cfg.Migrate(ctx, schema); err != nil {
		return schema, tenant, err
	}
	id, err := b.psql(ctx, fmt.Sprintf(`INSERT INTO %s.tenants (code) VALUES ('bench') RETURNING tenant_id`, schema))
	if err != nil {
		return schema, tenant, err
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return schema, tenant, fmt.Errorf("bench: tenant id %q: %w", id, err)
	}
	_, err = b.psql(ctx, fmt.Sprintf(`INSERT INTO %s.payments (tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by, captured)
		SELECT %d, 'pay-' || lpad(i::text, 7, '0'), 'ord-' || lpad(i::text, 7, '0'), '%s', 'bench-pay-' || lpad(i::text, 7, '0'), 'USD', 2, 'snapshot', %d FROM generate_series(0, %d) i`,
		schema, n, b.cfg.Account, capturedAmount, b.cfg.Payments-1))
	if err != nil {
		return schema, tenant, err
	}
	_, err = b.psql(ctx, fmt.Sprintf(`VACUUM (ANALYZE) %s.payments`, schema))
	return schema, refund.Tenant{ID: refund.TenantID(n), Code: "bench"}, err
}

// drop drops the schema in two steps: dropping all its tables at once needs more locks than a server has by default.
func (b *run) drop(ctx context.Context, schema string) error {
	_, err := b.psql(ctx, fmt.Sprintf(`DROP SCHEMA IF EXISTS %s CASCADE`, schema))
	return err
}

func (b *run) checkpoint(ctx context.Context) error {
	_, err := b.psql(ctx, `CHECKPOINT`)
	return err
}

// psql runs one statement and returns its only value.
func (b *run) psql(ctx context.Context, sql string) (string, error) {
	cmd := exec.CommandContext(ctx, b.cfg.Psql, "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, b.cfg.URL) // #nosec G204 -- the configured program
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, tail(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// program returns the path of one of PostgreSQL's programs: the configured one, the one in PATH, or the newest one in the
// folders of packages.
func program(configured, name string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/", "/usr/pgsql-*/bin/", "/opt/homebrew/opt/postgresql@*/bin/",
		"/usr/local/opt/postgresql@*/bin/"} {
		list, err := filepath.Glob(pattern + name)
		if err != nil {
			return "", err
		}
		found = append(found, list...)
	}
	if len(found) == 0 {
		return "", fmt.Errorf("bench: %s is not installed; it comes with PostgreSQL", name)
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}
