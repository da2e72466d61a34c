package migrate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// migrateTestPool is a pool on url whose sessions see the schema first; it ends with the test.
func migrateTestPool(t *testing.T, url, schema string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 8
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func mustMigrate(t *testing.T, cfg Config) Result {
	t.Helper()
	res, err := Up(t.Context(), cfg)
	if err != nil {
		t.Fatalf("migrate: %v", err)
	}
	return res
}

func TestMigrateIsIdempotentAndCellsAreApart(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	a := mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	if again := mustMigrate(t, Config{URL: url, Schema: "cell_a"}); len(again.Applied) != 0 || len(again.Partitions.Created) != 0 ||
		again.InstallationID != a.InstallationID {
		t.Errorf("a second run does nothing and finds the same installation; got %+v", again)
	}
	b := mustMigrate(t, Config{Pool: migrateTestPool(t, url, "public"), Schema: "cell_b"})
	if len(b.Applied) != len(a.Applied) || b.InstallationID == a.InstallationID {
		t.Errorf("a second cell in the same database is an installation of its own; got %+v", b)
	}
}

func TestMigrateInstallation(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	const id = "018f6f4e-7c00-7000-8000-000000000001"
	if got := mustMigrate(t, Config{URL: url, InstallationID: strings.ToUpper(id)}).InstallationID; got != id {
		t.Errorf("installation id %s, want the given one in canonical form", got)
	}
	mustMigrate(t, Config{URL: url, InstallationID: id})
	if _, err := Up(t.Context(), Config{URL: url, InstallationID: uuid.NewString()}); err == nil {
		t.Error("another id for an existing installation must be refused: it would change every dispatch number")
	}
	pool := migrateTestPool(t, url, DefaultSchema)
	var rows, epoch int
	var sameCluster bool
	err := pool.QueryRow(t.Context(), `SELECT count(*), min(i.epoch), bool_and(i.system_identifier = s.system_identifier::text AND i.timeline = c.timeline_id)
		FROM installation i, pg_control_system() s, pg_control_checkpoint() c`).Scan(&rows, &epoch, &sameCluster)
	if err != nil || rows != 1 || epoch != 1 || !sameCluster {
		t.Errorf("one row in epoch 1 on this cluster; got %d rows, epoch %d, same cluster %t (%v)", rows, epoch, sameCluster, err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE installation SET timeline = timeline + 1`); err != nil {
		t.Fatal(err)
	}
	if res := mustMigrate(t, Config{URL: url}); !res.ClusterChanged {
		t.Error("ClusterChanged is false on another timeline, want true")
	}
}

// Who continues a lost installation has lost the record of what it sent.
func TestAContinuedInstallationHoldsSending(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"": "agreed", uuid.NewString(): "held because of operator"} {
		url := dbtest.New(t)
		mustMigrate(t, Config{URL: url, InstallationID: id})
		mustMigrate(t, Config{URL: url, InstallationID: id}) // changes nothing
		var got string
		if err := migrateTestPool(t, url, DefaultSchema).QueryRow(t.Context(), `SELECT concat_ws(', ', CASE WHEN agreed_at IS NOT NULL THEN 'agreed' END,
			CASE WHEN sending_held_since IS NOT NULL THEN 'held because of ' || held_because END) FROM installation`).Scan(&got); err != nil || got != want {
			t.Errorf("installation id %q: %q, want %q (%v)", id, got, want, err)
		}
	}
}

func TestMigrateRefusesBadConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"no database":     {},
		"quoted schema":   {URL: "postgres://127.0.0.1:1/x", Schema: `a"b`},
		"upper case":      {URL: "postgres://127.0.0.1:1/x", Schema: "Cell"},
		"long schema":     {URL: "postgres://127.0.0.1:1/x", Schema: strings.Repeat("a", 47)},
		"unparsable url":  {URL: "postgres://%zz"},
		"nobody is there": {URL: "postgres://127.0.0.1:1/x?connect_timeout=2"},
	} {
		if _, err := Up(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Up(t.Context(), Config{URL: dbtest.New(t), InstallationID: "not-a-uuid"}); err == nil {
		t.Error("an installation id that is no uuid must be refused")
	}
}

func TestCheckMigratedSeesWhatIsMissing(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	pool := migrateTestPool(t, url, "cell_a")
	if err := Check(t.Context(), pool, "cell_a"); !errors.Is(err, ErrNotMigrated) {
		t.Errorf("an empty database is not migrated, got %v", err)
	}
	mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	steps := []struct{ what, harm, repair string }{
		{"our newest step", `UPDATE schema_version SET is_applied = false WHERE version_id = (SELECT max(version_id) FROM schema_version)`, `UPDATE schema_version SET is_applied = true`},
		{"a version of River's", `DELETE FROM river_migration WHERE version = 8`, `INSERT INTO river_migration (line, version) VALUES ('main', 8)`},
		{"the installation row", `ALTER TABLE installation RENAME TO away`, `ALTER TABLE away RENAME TO installation`},
	}
	for _, s := range steps {
		if _, err := pool.Exec(t.Context(), s.harm); err != nil {
			t.Fatal(err)
		}
		if err := Check(t.Context(), pool, "cell_a"); !errors.Is(err, ErrNotMigrated) {
			t.Errorf("without %s: got %v", s.what, err)
		}
		if _, err := pool.Exec(t.Context(), s.repair); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO schema_version (version_id, is_applied) VALUES (99, true)`); err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), pool, "cell_a"); err != nil {
		t.Errorf("an old replica stays ready beside a newer schema, got %v", err)
	}
	mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	pool.Close()
	if err := Check(t.Context(), pool, "cell_a"); err == nil || errors.Is(err, ErrNotMigrated) {
		t.Errorf("a database that cannot be asked is not called unmigrated, got %v", err)
	}
}

// A crash between River's own versions and our record of the step must not need a hand.
func TestMigrateGoesOnAfterACrashInRiversStep(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	cfg, err := Config{URL: url, Schema: "cell_a"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := openPool(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA cell_a`); err != nil {
		t.Fatal(err)
	}
	river := riverSteps()[0].step
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	provider, err := newProvider(db, pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(t.Context(), river); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `DELETE FROM schema_version WHERE version_id = $1`, river); err != nil {
		t.Fatal(err)
	}
	if got := mustMigrate(t, Config{URL: url, Schema: "cell_a"}).Applied; len(got) == 0 || got[0] != "0008_river" {
		t.Errorf("the step is recorded again, got %v", got)
	}
}

// A schema made before the first release is named as such and left as it is.
func TestMigrateRefusesASchemaOfBeforeTheFirstRelease(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	pool := migrateTestPool(t, url, "refundry")
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA refundry; CREATE TABLE refundry.goose_db_version (id int)`); err != nil {
		t.Fatal(err)
	}
	_, err := Up(t.Context(), Config{URL: url})
	if !errors.Is(err, ErrDraftSchema) || !strings.Contains(err.Error(), "refundry") {
		t.Errorf("migrate: %v, want ErrDraftSchema naming the schema", err)
	}
	if err := Check(t.Context(), pool, ""); !errors.Is(err, ErrDraftSchema) {
		t.Errorf("check: %v, want ErrDraftSchema: nobody must be told to migrate", err)
	}
	var tables int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_tables WHERE schemaname = 'refundry'`).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables (%v), want the one that was there", tables, err)
	}
}
