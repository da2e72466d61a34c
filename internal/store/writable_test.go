package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// probeNow lets the next CheckWritable ask the database.
func (s *Store) probeNow() {
	s.writeProbe.mu.Lock()
	s.writeProbe.until = time.Time{}
	s.writeProbe.mu.Unlock()
}

// TestReadinessKnowsWhetherTheDatabaseTakesWrites: a server that only reads answers a ping. Each request meanwhile is refused as unavailable.
func TestReadinessKnowsWhetherTheDatabaseTakesWrites(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	admin, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.WithoutCancel(t.Context())) }()
	set := func(value string) {
		if _, err := admin.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only TO `+value+`',
			current_database()); END $$`); err != nil {
			t.Fatal(err)
		}
	}
	s := f.openSecond(t, f.url)
	if err := s.CheckWritable(t.Context()); err != nil {
		t.Fatalf("a healthy database: %v", err)
	}
	set("on")
	s.pool.Reset()
	if err := s.CheckWritable(t.Context()); err != nil {
		t.Errorf("asked again within 10 s: %v", err)
	}
	s.probeNow()
	if err := s.CheckWritable(t.Context()); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("a database that only reads: %v, want ErrUnavailable", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("it answers: %v", err)
	}
	if _, err := s.AddTenant(t.Context(), "late", "test"); !errors.Is(err, refund.ErrUnavailable) {
		t.Errorf("a write: %v, want ErrUnavailable", err)
	}
	set("off")
	s.probeNow()
	if err := s.CheckWritable(t.Context()); err != nil {
		t.Errorf("it takes writes again, and the pool has new connections: %v", err)
	}
}
