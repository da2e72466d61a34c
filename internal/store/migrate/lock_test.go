package migrate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

func TestMigrateThreeReplicasAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	start := make(chan struct{})
	results, errs := make([]Result, 3), make([]error, 3)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			<-start
			results[i], errs[i] = Up(t.Context(), Config{URL: url, Schema: "cell_a"})
		})
	}
	close(start)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("no replica may fail: %v", err)
	}
	var applied, created []string
	for _, r := range results {
		applied = append(applied, r.Applied...)
		created = append(created, r.Partitions.Created...)
		if r.InstallationID != results[0].InstallationID {
			t.Errorf("replicas disagree on the installation: %s and %s", r.InstallationID, results[0].InstallationID)
		}
		if r.ClusterChanged {
			t.Error("a new installation is on its own cluster")
		}
	}
	latest, err := latestStep()
	if err != nil {
		t.Fatal(err)
	}
	if len(applied) != int(latest) || !slices.IsSorted(applied) {
		t.Errorf("every step is applied once, in order; got %v", applied)
	}
	slices.Sort(created)
	if len(created) != 4+8 || len(slices.Compact(created)) != 12 {
		t.Errorf("4 months and 8 days are made once each; got %v", created)
	}
	pool := migrateTestPool(t, url, "cell_a")
	if err := Check(t.Context(), pool, "cell_a"); err != nil {
		t.Errorf("ready after migrate: %v", err)
	}
	var elsewhere int
	err = pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname NOT IN ('cell_a', 'pg_catalog', 'information_schema', 'pg_toast')`).Scan(&elsewhere)
	if err != nil || elsewhere != 0 {
		t.Errorf("everything is in the named schema; %d relations are not (%v)", elsewhere, err)
	}
}

func TestMigrateGivesUpOnAHeldLock(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, migrateLockKey("cell_a")); err != nil {
		t.Fatal(err)
	}
	_, err = Up(t.Context(), Config{URL: url, Schema: "cell_a", LockTimeout: 300 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want the deadline of the lock, got %v", err)
	}
	mustMigrate(t, Config{URL: url, Schema: "cell_b"}) // another cell's lock is another one
}
