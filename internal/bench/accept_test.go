package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/jobs"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
)

type oneAccount struct{}

func (oneAccount) Account(name string, _ refund.TenantID) (refund.Contract, bool, bool) {
	return refund.Contract{Profile: "bench", Version: 1}, name == "demo", true
}

// door is the store's door without HTTP, with River's job for each refund if enqueue is set.
func door(url string, enqueue bool) Variant {
	name := "door"
	if !enqueue {
		name = "no-job"
	}
	return Variant{Name: name, Open: func(ctx context.Context, schema string, _ refund.Tenant) (Target, error) {
		cfg := store.Config{URL: url, Schema: schema, Accounts: oneAccount{}}
		if enqueue {
			e, err := jobs.NewEnqueuer(schema)
			if err != nil {
				return Target{}, err
			}
			cfg.Enqueuer = e
		}
		s, err := store.Open(ctx, cfg)
		if err != nil {
			return Target{}, err
		}
		d := intake.NewDoor(intake.DoorConfig{Accepter: s, NewRID: pg.NewRID})
		return Target{Close: func() { d.Stop(); s.Close() }, Accept: func(ctx context.Context, in intake.Intake) error {
			out, err := d.Accept(ctx, []intake.Intake{in})
			if err == nil && out[0].Verdict != intake.Taken {
				err = fmt.Errorf("%s %s", out[0].Verdict, out[0].Code)
			}
			return err
		}}, nil
	}}
}

func migrator(url string) func(ctx context.Context, schema string) error {
	return func(ctx context.Context, schema string) error {
		_, err := migrate.Up(ctx, migrate.Config{URL: url, Schema: schema})
		return err
	}
}

// TestAccept runs a short measurement. Both sides write, the ratio is that of their figures, and the schemas are dropped.
func TestAccept(t *testing.T) {
	url := dbtest.New(t)
	var progress strings.Builder
	r, err := Accept(t.Context(), AcceptConfig{URL: url, Migrate: migrator(url), Variants: []Variant{door(url, true)}, Callers: []int{4},
		Duration: 3 * time.Second, Warmup: 200 * time.Millisecond, Rounds: 1, Payments: 100, Progress: &progress})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 2 || r.Results[0].Variant != Floor || r.Results[1].Variant != "door" {
		t.Fatalf("results %+v, want floor and door", r.Results)
	}
	for _, x := range r.Results {
		if m := x.Median; m.PerSecond <= 0 || m.P50 <= 0 || m.P99 < m.P50 {
			t.Errorf("%s: %+v", x.Variant, m)
		}
	}
	if got, want := r.Results[1].Median.Ratio, r.Results[1].Median.PerSecond/r.Results[0].Median.PerSecond; got != want {
		t.Errorf("ratio %v, want %v", got, want)
	}
	if n := strings.Count(progress.String(), "\n"); n != 2 {
		t.Errorf("%d lines of progress, want 2:\n%s", n, progress.String())
	}
	b := &run{}
	b.cfg.URL = url
	if b.cfg.Psql, err = program("", "psql"); err != nil {
		t.Fatal(err)
	}
	if left, err := b.psql(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'bench%'`); err != nil || left != "0" {
		t.Errorf("%s schemas are left, %v", left, err)
	}
}

// TestFloorWritesTheSameRows checks that the floor writes as many rows in each table as the door, of the same size within a
// few bytes. There are many payments, so that hardly any has an earlier refund, which the floor does not write.
func TestFloorWritesTheSameRows(t *testing.T) {
	url := dbtest.New(t)
	cfg, err := AcceptConfig{URL: url, Migrate: migrator(url), Variants: []Variant{door(url, true)}, Duration: 3 * time.Second, Warmup: time.Millisecond,
		Payments: 20_000}.complete()
	if err != nil {
		t.Fatal(err)
	}
	b := &run{cfg: cfg}
	sizes := func(ours bool) map[string]string {
		schema, tenant, err := b.prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ours {
			target, err := cfg.Variants[0].Open(t.Context(), schema, tenant)
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			if _, err := b.load(t.Context(), target, tenant, 2); err != nil {
				t.Fatal(err)
			}
		} else if _, err := b.floor(t.Context(), schema, tenant, 2); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, table := range []string{"receipts", "refund_keys", "refunds", "dispatches", "journal", "river_job"} {
			size, err := b.psql(t.Context(), fmt.Sprintf(`SELECT (count(*) > 0)::text || ' ' ||
				(count(*) - (SELECT sum(refunds) FROM %[1]s.payments)) || ' ' ||
				round(avg(pg_column_size(x.*))) FROM %[1]s.%[2]s x`, schema, table))
			if err != nil {
				t.Fatal(err)
			}
			out[table] = size
		}
		return out
	}
	floor, door := sizes(false), sizes(true)
	for table := range floor {
		var rows, other string
		var more, less, a, z int
		if _, err := fmt.Sscan(floor[table], &rows, &more, &a); err != nil {
			t.Fatalf("%s: %q", table, floor[table])
		}
		if _, err := fmt.Sscan(door[table], &other, &less, &z); err != nil {
			t.Fatalf("%s: %q", table, door[table])
		}
		if rows != "true" || other != "true" || more != 0 || less != 0 {
			t.Errorf("%s: floor %q, door %q: want as many rows as refunds", table, floor[table], door[table])
		}
		if a < z*95/100 || a > z*105/100 {
			t.Errorf("%s: a row of the floor has %d bytes, one of the door %d", table, a, z)
		}
	}
}

// BenchmarkAccept is the measurement itself, on a server of its own with fsync on: go test -run '^$' -bench Accept -benchtime 1x.
func BenchmarkAccept(b *testing.B) {
	url := dbtest.Server(b, map[string]string{"max_wal_size": "4GB", "shared_buffers": "256MB"}).URL()
	for b.Loop() {
		r, err := Accept(b.Context(), AcceptConfig{URL: url, Migrate: migrator(url), Variants: []Variant{door(url, true), door(url, false)}, Progress: os.Stderr})
		if err != nil {
			b.Fatal(err)
		}
		r.Print(os.Stderr)
		for _, x := range r.Results {
			b.ReportMetric(x.Median.PerSecond, fmt.Sprintf("%s-%d/s", x.Variant, x.Callers))
		}
	}
}
