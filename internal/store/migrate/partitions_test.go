package migrate

import (
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

func TestEnsurePartitions(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	pool := migrateTestPool(t, url, "cell_a")
	ctx := t.Context()
	december := func() time.Time { return time.Date(2031, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)) } // January in UTC
	cfg := PartitionsConfig{Schema: "cell_a", Months: 1, Days: 1, Now: december}
	const receipt = `INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome, rid)
		VALUES (1, 'rest', 'rest', 'e1', $1, 'refund.requested', decode(repeat('01', 33), 'hex'), '{}', 'TAKEN', gen_random_uuid())`
	if _, err := pool.Exec(ctx, receipt, time.Date(2032, 2, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	got, err := EnsurePartitions(ctx, pool, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"receipts_2032_01", "deliveries_2032_01_01", "deliveries_2032_01_02"}; !slices.Equal(got.Created, want) {
		t.Errorf("created %v, want %v", got.Created, want)
	}
	if want := []string{"receipts_2032_02"}; !slices.Equal(got.Blocked, want) {
		t.Errorf("a month with a row in the default partition cannot be made: blocked %v, want %v", got.Blocked, want)
	}
	january := time.Date(2032, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := pool.Exec(ctx, receipt, january); err != nil {
		t.Fatal(err)
	}
	var where string
	if err := pool.QueryRow(ctx, `SELECT tableoid::regclass::text FROM receipts WHERE month = $1`, january).Scan(&where); err != nil ||
		where != "receipts_2032_01" {
		t.Errorf("the row is in %q, want its month's partition (%v)", where, err)
	}
	_, err = pool.Exec(ctx, `UPDATE receipts SET code = 'x' WHERE month = $1`, january)
	wantRefusal(t, "guards hold in a new partition", err, "23514", "receipts_append_only")
}

// A long read of the default partition postpones a partition; it neither fails the call nor waits for ever.
func TestEnsurePartitionsGivesWay(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	mustMigrate(t, Config{URL: url, Schema: "cell_a"})
	pool := migrateTestPool(t, url, "cell_a")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE receipts_default IN ACCESS SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	cfg := PartitionsConfig{Schema: "cell_a", Months: 1, Days: 1, LockTimeout: 50 * time.Millisecond,
		Now: func() time.Time { return time.Date(2040, 5, 1, 0, 0, 0, 0, time.UTC) }}
	got, err := EnsurePartitions(t.Context(), pool, cfg)
	if err != nil || !slices.Equal(got.Postponed, []string{"receipts_2040_05", "receipts_2040_06"}) {
		t.Errorf("postponed %v (%v)", got.Postponed, err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err = EnsurePartitions(t.Context(), pool, cfg); err != nil || len(got.Created) != 2 {
		t.Errorf("the next call makes them: %+v (%v)", got, err)
	}
}
