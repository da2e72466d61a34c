package migrate

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// recordInstallation writes the one installation row if it is missing and reads it back. An installation that is continued under its old id
// has lost the record of what it sent: sending is held until `refundry epoch expose`. It also agrees to no database yet, so that what was
// seen of the lost one still counts (see pg.Sighting).
func recordInstallation(ctx context.Context, pool *pgxpool.Pool, cfg Config, res *Result) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("installation id: %w", err)
	}
	if cfg.InstallationID != "" {
		if id, err = uuid.Parse(cfg.InstallationID); err != nil {
			return fmt.Errorf("installation id %q: %w", cfg.InstallationID, err)
		}
	}
	_, err = pool.Exec(ctx, `INSERT INTO installation (installation_id, system_identifier, timeline, epoch, database_oid, table_oid, agreed_at,
			sending_held_since, held_because)
		SELECT $1, s.system_identifier::text, c.timeline_id, 1, CASE WHEN $2 THEN d.oid END, CASE WHEN $2 THEN 'installation'::regclass::oid END,
			CASE WHEN $2 THEN clock_timestamp() END, CASE WHEN NOT $2 THEN clock_timestamp() END, CASE WHEN NOT $2 THEN 'operator' END
		FROM pg_control_system() s, pg_control_checkpoint() c, pg_database d WHERE d.datname = current_database()
		ON CONFLICT (one) DO NOTHING`, id.String(), cfg.InstallationID == "")
	if err != nil {
		return fmt.Errorf("write installation: %w", err)
	}
	err = pool.QueryRow(ctx, `SELECT i.installation_id::text,
		(i.system_identifier, i.timeline) IS DISTINCT FROM (s.system_identifier::text, c.timeline_id)
			OR coalesce((i.database_oid, i.table_oid) <> (d.oid::bigint, i.tableoid::bigint), false)
		FROM installation i, pg_control_system() s, pg_control_checkpoint() c, pg_database d
		WHERE d.datname = current_database()`).Scan(&res.InstallationID, &res.ClusterChanged)
	if err != nil {
		return fmt.Errorf("read installation: %w", err)
	}
	if cfg.InstallationID != "" && res.InstallationID != id.String() {
		return fmt.Errorf("schema %s is installation %s, not %s", cfg.Schema, res.InstallationID, id)
	}
	if res.ClusterChanged {
		cfg.Logger.WarnContext(ctx, "the database is not the one that the installation agreed to be on", "schema", cfg.Schema)
	}
	return nil
}
