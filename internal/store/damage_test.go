package store

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

// damageFolder has one script for each kind of damage. Its first comment says what it does and how it must be found: by check, by anchor
// (the copy outside of the database), or by the signature of a refund's document. Of a check it names the promise and the check.
const damageFolder = "../../test/damage"

// leastFoundByChecks of leastDamages kinds are found by verify alone, without an anchor file or an exported document.
const (
	leastDamages       = 104
	leastFoundByChecks = 95
)

type damageScript struct {
	name, sql string
	kind      string // what it does, in a sentence
	by        string // check, anchor or signature
	what      string // of a check, such as "P8 effect-missing"; of a signature the refund
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
		kind, how, _ := strings.Cut(strings.TrimPrefix(first, "-- "), ". Found by: ")
		by, what, _ := strings.Cut(strings.TrimSuffix(how, "."), " ")
		if !slices.Contains([]string{"check", "anchor", "signature"}, by) {
			t.Fatalf("%s: the first line does not say how it must be found", file)
		}
		out = append(out, damageScript{strings.TrimSuffix(filepath.Base(file), ".sql"), string(raw), kind, by, strings.TrimPrefix(what, "of ")})
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
	scripts, by := damageScripts(t), map[string]int{}
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			found := d.find(t, s)
			if !t.Failed() {
				by[s.by]++
			}
			fmt.Fprintf(&table, "%-50s %-10s %s\n", s.name, s.by, found)
		})
	}
	t.Logf("\n%s%d kinds of damage: found by check %d, by anchor %d, by signature %d", table.String(), len(scripts), by["check"], by["anchor"], by["signature"])
	if len(scripts) < leastDamages || by["check"] < leastFoundByChecks || by["check"]+by["anchor"]+by["signature"] != len(scripts) {
		t.Errorf("found %v of %d kinds, want all of at least %d, and %d of them by a check", by, len(scripts), leastDamages, leastFoundByChecks)
	}
}

// docs/verify.md lists every kind of damage, with what finds it.
func TestEveryKindOfDamageIsDocumented(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, s := range damageScripts(t) {
		number, _, _ := strings.Cut(s.name, "-")
		found := strings.TrimSuffix(s.by+" "+s.what, " ")
		if s.by == "signature" {
			found = s.by
		}
		fmt.Fprintf(&want, "| [%s](../test/damage/%s.sql) | %s | %s |\n", number, s.name, s.kind, found)
	}
	if !strings.Contains(string(raw), want.String()) {
		t.Errorf("docs/verify.md does not have these lines:\n%s", want.String())
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
	before := d.document(t, tx, s)
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
	if (len(checks) > 0) != (s.by == "check") || s.by == "check" && !slices.Contains(checks, s.what) {
		t.Errorf("checks found %v; it must be found by %s %s", checks, s.by, s.what)
	}
	if s.by == "check" {
		return strings.Join(checks, ", ")
	}
	copies := run(d.anchored)
	if (len(copies) > 0) != (s.by == "anchor") {
		t.Errorf("anchors found %v; it must be found by %s", copies, s.by)
	}
	if s.by != "signature" {
		return strings.Join(copies, ", ")
	}
	after := d.document(t, tx, s)
	after.Signature, after.ExportedAt = before.Signature, before.ExportedAt // the damage is done to the document, whose key nobody has
	for _, c := range []struct {
		e    verify.Evidence
		want bool
	}{{before, false}, {after, true}} {
		r, err := verify.CheckEvidence(rawOf(t, c.e), 20, anchorKey.Public().(ed25519.PublicKey))
		if err != nil || slices.Contains(foundBy(r), "P8 document-signature") != c.want {
			t.Errorf("the document before the damage must be signed, the one after it not: %v %v", err, foundBy(r))
		}
	}
	return "P8 document-signature"
}

// document is the signed document of the script's refund, as the transaction sees it; without a refund it is empty.
func (d *damageRun) document(t *testing.T, tx pgx.Tx, s damageScript) verify.Evidence {
	t.Helper()
	if s.by != "signature" {
		return verify.Evidence{}
	}
	e, err := d.plain.Within(plantedTx{tx}).Export(t.Context(), "demo", s.what)
	if err == nil {
		e, err = e.Sign(anchorKey)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}
