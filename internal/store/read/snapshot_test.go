package read_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/read"
)

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	url := dbtest.Template(t, "store", func(url string) error {
		_, err := migrate.Up(context.Background(), migrate.Config{URL: url})
		return err
	})
	pool, err := pg.OpenHot(t.Context(), pg.HotConfig{URL: url, Schema: "refundry", MaxConns: 2, LockTimeout: pg.DefaultLockTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func TestSnapshotStepsReadOneStateOfTheDatabase(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	var before, after int
	count := func(into *int) func(pgx.Row) error { return func(row pgx.Row) error { return row.Scan(into) } }
	err := pg.Snapshot(t.Context(), pool,
		func(b *pgx.Batch) { b.Queue(`SELECT count(*) FROM tenants`).QueryRow(count(&before)) },
		func(b *pgx.Batch) {
			if _, err := pool.Exec(t.Context(), `INSERT INTO tenants (code) VALUES ('between')`); err != nil {
				t.Error(err)
			}
			b.Queue(`SELECT count(*) FROM tenants`).QueryRow(count(&after))
		})
	if err != nil || before != 0 || after != 0 {
		t.Errorf("%d, then %d tenants, %v; want 0 and 0: a commit between two steps is invisible to the second", before, after, err)
	}
}

func TestSnapshotRefusesWrites(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	if err := pg.Snapshot(t.Context(), pool, func(b *pgx.Batch) { b.Queue(`INSERT INTO tenants (code) VALUES ('w')`) }); err == nil {
		t.Error("a write succeeded; want an error: the transaction is READ ONLY")
	}
}

// An answer "not found" after the first of two steps leaves a transaction open, which must not cost the connection.
func TestNotFoundKeepsTheConnection(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	r := read.New(pool, nil)
	for range 3 {
		if _, err := r.FindCase(t.Context(), 1, pg.NewRID()); !errors.Is(err, refund.ErrNotFound) {
			t.Errorf("FindCase: %v, want %v", err, refund.ErrNotFound)
		}
		if _, err := r.Timeline(t.Context(), 1, "rf_1"); !errors.Is(err, refund.ErrNotFound) {
			t.Errorf("Timeline: %v, want %v", err, refund.ErrNotFound)
		}
		if _, err := r.FindPayment(t.Context(), 1, "pay_1"); !errors.Is(err, refund.ErrNotFound) {
			t.Errorf("FindPayment: %v, want %v", err, refund.ErrNotFound)
		}
	}
	if n := pool.Stat().NewConnsCount(); n != 1 {
		t.Errorf("%d connections were opened, want 1", n)
	}
}
