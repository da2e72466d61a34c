package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/migrations"
)

// ErrNotMigrated says that the schema lacks steps that this binary needs. Run Migrate.
var ErrNotMigrated = errors.New("schema is not migrated")

// ErrDraftSchema says that the schema was made by a build before v0.1.0. Stored words changed with that release, so such a schema is
// neither read nor migrated.
var ErrDraftSchema = errors.New("schema was made by a build before v0.1.0")

// refuseDraft returns ErrDraftSchema for a schema that a build before the first release has made.
func refuseDraft(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	var draft bool
	table := pgx.Identifier{schema, draftVersionTable}.Sanitize()
	if err := pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, table).Scan(&draft); err != nil {
		return fmt.Errorf("check schema %s: %w", schema, err)
	}
	if draft {
		return fmt.Errorf("%w: %s has the table %s. Its stored words differ and cannot be migrated: use another database or --schema",
			ErrDraftSchema, schema, draftVersionTable)
	}
	return nil
}

// Check is for readiness: nil when schema (empty: "refundry") has every step that this binary knows, River's tables and the
// installation row. A newer schema is fine, so that old replicas stay ready during an upgrade.
//
// Errors: ErrNotMigrated, ErrDraftSchema, or the database's own when it cannot be asked.
func Check(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	if schema == "" {
		schema = DefaultSchema
	}
	if err := pg.CheckSchemaName(schema); err != nil {
		return err
	}
	want, err := latestStep()
	if err != nil {
		return err
	}
	var have int64
	var installed bool
	err = pool.QueryRow(ctx, fmt.Sprintf(`SELECT (SELECT coalesce(max(version_id), 0) FROM %s WHERE is_applied), EXISTS (SELECT 1 FROM %s)`,
		pgx.Identifier{schema, versionTable}.Sanitize(), pgx.Identifier{schema, "installation"}.Sanitize())).Scan(&have, &installed)
	if pg.IsMissingRelation(err) {
		if draft := refuseDraft(ctx, pool, schema); draft != nil {
			return draft
		}
		return fmt.Errorf("%w: %s is empty or missing", ErrNotMigrated, schema)
	}
	if err != nil {
		return fmt.Errorf("check migrations of %s: %w", schema, err)
	}
	if have < want || !installed {
		return fmt.Errorf("%w: %s is at step %d of %d, installation row: %t", ErrNotMigrated, schema, have, want, installed)
	}
	return checkRiver(ctx, pool, schema)
}

func checkRiver(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	migrator, err := newRiverMigrator(pool, Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	steps := riverSteps()
	res, err := migrator.Validate(ctx, &rivermigrate.ValidateOpts{TargetVersion: steps[len(steps)-1].river})
	if err != nil {
		return fmt.Errorf("check river's tables in %s: %w", schema, err)
	}
	if !res.OK {
		return fmt.Errorf("%w: river: %s", ErrNotMigrated, strings.Join(res.Messages, "; "))
	}
	return nil
}

// latestStep is the highest number among the embedded files and the Go steps.
func latestStep() (int64, error) {
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	var latest int64
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s has no number: %w", name, err)
		}
		latest = max(latest, n)
	}
	for _, s := range riverSteps() {
		latest = max(latest, s.step)
	}
	return latest, nil
}
