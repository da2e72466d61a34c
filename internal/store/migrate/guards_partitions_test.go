package migrate

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// partitionsSQL lists every partition of every partitioned table of a schema.
const partitionsSQL = `SELECT p.relname, c.relname FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_class c ON c.oid = i.inhrelid
  WHERE p.relkind = 'p' AND p.relnamespace = $1::regnamespace ORDER BY 1, 2`

// The guards of a partitioned table hold for statements on each of its partitions.
func TestEveryPartitionRefusesWhatItsTableRefuses(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	pool := migrateTestPool(t, url, "cell_a")
	rows, err := pool.Query(t.Context(), partitionsSQL, "cell_a")
	if err != nil {
		t.Fatal(err)
	}
	type partition struct{ Parent, Name string }
	parts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[partition])
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]string{"receipts": "digest = digest", "deliveries": "outcome = outcome"}
	seen := map[string]int{}
	for _, p := range parts {
		write, ok := writes[p.Parent]
		if !ok {
			t.Errorf("partitioned table %s has no statement here", p.Parent)
			continue
		}
		seen[p.Parent]++
		for _, stmt := range []string{"DELETE FROM %s", "DELETE FROM %s WHERE false", "TRUNCATE %s", "UPDATE %s SET " + write} {
			_, err := pool.Exec(t.Context(), fmt.Sprintf(stmt, p.Name))
			wantRefusal(t, fmt.Sprintf(stmt, p.Name), err, "23514", p.Parent+"_append_only")
		}
	}
	if seen["receipts"] < 5 || seen["deliveries"] < 9 {
		t.Errorf("partitions tried: %v, want the default, those of this month or day, and those of the coming ones", seen)
	}
	if _, err := pool.Exec(t.Context(), `SELECT guard_partition('receipts_default'::regclass)`); err != nil {
		t.Errorf("guarding a guarded partition: %v, want nothing to happen", err)
	}
	if _, err := pool.Exec(t.Context(), `SELECT guard_partition('refunds'::regclass)`); err == nil {
		t.Error("a table that is no partition cannot be guarded as one")
	}
}

// partitionGuardsSQL counts the guards of every partitioned table of a schema that one of its partitions lacks.
const partitionGuardsSQL = `SELECT count(*), coalesce(string_agg(i.inhrelid::regclass || ' lacks ' || t.tgname, ', ' ORDER BY i.inhrelid, t.tgname), '')
  FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent JOIN pg_trigger t ON t.tgrelid = p.oid AND NOT t.tgisinternal
  WHERE p.relkind = 'p' AND p.relnamespace = $1::regnamespace AND NOT EXISTS (SELECT FROM pg_trigger x
    WHERE x.tgrelid = i.inhrelid AND x.tgname = t.tgname AND x.tgtype = t.tgtype AND x.tgenabled = t.tgenabled AND x.tgfoid = t.tgfoid)`

// A migration that adds a guard to a partitioned table calls guard_partition for its partitions, too.
func TestEveryPartitionHasTheGuardsOfItsTable(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	pool := migrateTestPool(t, url, "cell_a")
	wantMissing := func(name string, want int) {
		t.Helper()
		var n int
		var which string
		if err := pool.QueryRow(t.Context(), partitionGuardsSQL, "cell_a").Scan(&n, &which); err != nil || n != want {
			t.Errorf("%s: %d guards are missing, want %d: %s %v", name, n, want, which, err)
		}
	}
	run := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	wantMissing("after all migrations", 0)
	run(`CREATE TRIGGER receipts_later BEFORE UPDATE OF transport ON receipts FOR EACH STATEMENT EXECUTE FUNCTION append_only('receipts_later')`)
	var parts int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_inherits WHERE inhparent = 'receipts'::regclass`).Scan(&parts); err != nil {
		t.Fatal(err)
	}
	wantMissing("after a guard without guard_partition", parts)
	run(`SELECT guard_partition(inhrelid::regclass) FROM pg_inherits WHERE inhparent = 'receipts'::regclass`)
	wantMissing("after guard_partition", 0)
	_, err := pool.Exec(t.Context(), `UPDATE receipts_default SET transport = 'x'`)
	wantRefusal(t, "the later guard holds in a partition", err, "23514", "receipts_later")
}
