package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

// damageFolder has one script for each kind of damage. Its first comment says what it does and how it must be found: by check, by anchor
// (the copy outside of the database), or by signature of a refund's document.
const damageFolder = "../../test/damage"

// leastFoundByChecks of leastDamages kinds are found by verify alone, without an anchor file or an exported document.
const (
	leastDamages       = 104
	leastFoundByChecks = 95
)

type damageScript struct {
	name, sql, by, refund string
}

func damageScripts(t *testing.T) []damageScript {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(damageFolder, "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	var out []damageScript
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(raw), "\n")
		_, how, ok := strings.Cut(first, " Found by: ")
		if !ok {
			t.Fatalf("%s: the first line does not say how it must be found", file)
		}
		by, refund, _ := strings.Cut(strings.TrimSuffix(how, "."), " of ")
		out = append(out, damageScript{strings.TrimSuffix(filepath.Base(file), ".sql"), string(raw), by, refund})
	}
	return out
}

func TestTheDamageFixtureIsSound(t *testing.T) {
	t.Parallel()
	f := newDamageFixture(t)
	a := f.anchorer(t)
	a.once(t)
	wantBroken(t, f.verify(t, trusting(a)), "", "")
}

// Every kind of damage is found as its script says. Each is done in a transaction that is rolled back.
func TestEveryKindOfDamageIsFound(t *testing.T) {
	t.Parallel()
	f := newDamageFixture(t)
	a := f.anchorer(t)
	a.once(t)
	d := damageRun{f: f, plain: f.verifier(t), anchored: f.verifier(t, trusting(a))}
	conn, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `SET search_path = refundry`); err != nil {
		t.Fatal(err)
	}
	d.conn = conn
	var table strings.Builder
	scripts, byChecks := damageScripts(t), 0
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			found := d.find(t, s)
			fmt.Fprintf(&table, "%-80s %-10s %s\n", s.name, s.by, found)
			if s.by == "check" {
				byChecks++
			}
		})
	}
	t.Logf("\n%s%d of %d kinds of damage are found by checks alone", table.String(), byChecks, len(scripts))
	if len(scripts) < leastDamages || byChecks < leastFoundByChecks {
		t.Errorf("%d of %d kinds are found by checks alone, want %d of %d at least", byChecks, len(scripts), leastFoundByChecks, leastDamages)
	}
}

// damageRun finds damages with what each of its verifiers knows.
type damageRun struct {
	f               *damageFixture
	conn            *pgx.Conn
	plain, anchored *verify.Verifier
}

func (f *testWorkflow) verifier(t *testing.T, change ...func(*verify.Config)) *verify.Verifier {
	t.Helper()
	cfg := verify.Config{URL: f.url, Overdue: 100 * time.Hour, Samples: 30, Page: 4}
	for _, c := range change {
		c(&cfg)
	}
	v, err := verify.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// find does the damage and checks that it is found as it must be, and by nothing that is weaker.
func (d *damageRun) find(t *testing.T, s damageScript) (found string) {
	t.Helper()
	tx, err := d.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pg.Undo(context.Background(), tx)
	if _, err := tx.Exec(t.Context(), s.sql); err != nil {
		t.Fatal(err)
	}
	run := func(v *verify.Verifier) []string {
		r, err := v.Within(plantedTx{tx}).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return foundBy(r)
	}
	checks := run(d.plain)
	if (len(checks) > 0) != (s.by == "check") {
		t.Errorf("checks found %v; it must be found by %s", checks, s.by)
	}
	if s.by == "check" {
		return strings.Join(checks, ", ")
	}
	copies := run(d.anchored)
	if (len(copies) > 0) != (s.by == "anchor") {
		t.Errorf("anchors found %v; it must be found by %s", copies, s.by)
	}
	return strings.Join(copies, ", ")
}
