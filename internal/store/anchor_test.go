package store

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

var anchorKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

// testAnchorer is an Anchorer whose file the test knows.
type testAnchorer struct {
	*verify.Anchorer
	file string
}

func (f *testWorkflow) anchorer(t *testing.T, change ...func(*verify.AnchorConfig)) testAnchorer {
	t.Helper()
	cfg := verify.AnchorConfig{Pool: f.pool, Key: anchorKey, File: filepath.Join(t.TempDir(), "anchors"), MaxRows: 10}
	for _, c := range change {
		c(&cfg)
	}
	a, err := verify.NewAnchorer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return testAnchorer{a, cfg.File}
}

// anchorerOn is an anchorer with a file that may exist.
func (f *testWorkflow) anchorerOn(t *testing.T, file string) testAnchorer {
	t.Helper()
	return f.anchorer(t, func(c *verify.AnchorConfig) { c.File = file })
}

func (a testAnchorer) once(t *testing.T) {
	t.Helper()
	if err := a.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func trusting(a testAnchorer) func(*verify.Config) {
	return func(c *verify.Config) { c.Anchors = verify.AnchorTrust{Key: a.PublicKey(), File: a.file} }
}

func TestAnchorsCoverTheJournal(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	a := f.anchorer(t)
	a.once(t)
	r := f.verify(t, trusting(a))
	wantBroken(t, r, "", "")
	if want := (r.Rows + 9) / 10; r.Anchors != want {
		t.Errorf("%d anchors of 10 rows for %d rows, want %d", r.Anchors, r.Rows, want)
	}
	a.once(t)
	if again := f.verify(t, trusting(a)); again.Anchors != r.Anchors {
		t.Error("nothing new needs no anchor")
	}
	f.refund(t, "more")
	a.once(t)
	other := f.anchorer(t, func(c *verify.AnchorConfig) { c.Key = nil }) // another replica without the key: it copies
	other.once(t)
	if again := f.verify(t, trusting(a)); again.Anchors != r.Anchors+1 || !again.OK {
		t.Errorf("%+v", again)
	}
	mine, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err := os.ReadFile(other.file); err != nil || !bytes.Equal(mine, theirs) {
		t.Errorf("the replicas' files differ (%v):\n%s\n%s", err, mine, theirs)
	}
}

// chained rewrites the hashes of a refund's journal and its head, as an attacker with write access to the database would.
func (f *testWorkflow) chained(t *testing.T, conn *pgx.Conn, id string) {
	t.Helper()
	r, err := f.reader().FindRefund(t.Context(), f.tenant.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), `SELECT `+verify.EntryColumns+` FROM journal x WHERE x.rid = $1 ORDER BY seq`, [16]byte(r.RID))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (audit.StoredEntry, error) {
		_, e, err := verify.ScanEntry(row)
		return e, err
	})
	if err != nil {
		t.Fatal(err)
	}
	var head [32]byte
	for _, e := range entries {
		digest := e.Entry.Digest()
		head = refund.JournalHash(head, r.RID, int32(e.Seq), e.At, digest)
		if _, err := conn.Exec(t.Context(), `UPDATE journal SET digest = $3, hash = $4 WHERE rid = $1 AND seq = $2`, [16]byte(r.RID), e.Seq, digest[:],
			head[:]); err != nil {
			t.Fatal(err)
		}
	}
	last := entries[len(entries)-1]
	if _, err := conn.Exec(t.Context(), `UPDATE refunds SET journal_head = $2, journal_seq = $3 WHERE rid = $1`, [16]byte(r.RID), head[:], last.Seq); err != nil {
		t.Fatal(err)
	}
}

// gone removes a refund with everything of it.
const gone = `DELETE FROM journal WHERE rid = @; DELETE FROM dispatches WHERE rid = @; DELETE FROM receipts WHERE rid = @; DELETE FROM refund_keys WHERE rid = @;
	UPDATE payments SET reserved = 0, refunds = 0, last_rid = NULL WHERE last_rid = @; DELETE FROM refunds WHERE rid = @`

// Five ways to change history that keep every hash chain valid: only anchors reveal them.
func TestAnchorsFindAChangedHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, check, sql string
		rechain          []string
	}{
		{name: "edit", check: "anchor-hash", sql: `UPDATE journal SET actor = 'actor:mallory' WHERE rid = $pending`, rechain: []string{"pending_0"}},
		{name: "delete", check: "anchor-hash", sql: gone},
		{name: "insert", check: "anchor-hash", sql: `INSERT INTO journal (tenant_id, rid, seq, pos, kind, from_state, to_state, generation, source, actor, at, data, digest, hash)
			SELECT tenant_id, rid, 4, (SELECT max(pos) FROM journal) - 1, 'checked', 'UNKNOWN', 'UNKNOWN', generation, source, 'actor:mallory', at, '{}', digest, hash FROM journal WHERE rid = $unknown AND seq = 3`,
			rechain: []string{"unknown_0"}},
		{name: "reorder", check: "anchor-hash", sql: `DROP INDEX journal_pos_uq; UPDATE journal SET pos = CASE WHEN rid = $first THEN (SELECT pos FROM journal WHERE rid = $second)
			ELSE (SELECT pos FROM journal WHERE rid = $first) END WHERE rid IN ($first, $second)`},
		{name: "tail cut", check: "anchor-missing", sql: gone + `; DELETE FROM journal_anchors WHERE upto_pos > (SELECT max(pos) FROM journal)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newVerifyFixture(t)
			switch c.name {
			case "delete":
				f.refund(t, "victim")
				f.refund(t, "behind")
			case "insert":
				f.plant(t, `SELECT setval('journal_pos_seq', (SELECT max(pos) FROM journal) + 5)`) // positions that a rollback has left empty
				f.refund(t, "behind")
			case "tail cut":
				f.anchorer(t).once(t)
				f.refund(t, "victim")
			}
			a := f.anchorer(t)
			a.once(t)
			sql := c.sql
			if strings.Contains(sql, "@") {
				r, err := f.reader().FindRefund(t.Context(), f.tenant.ID, "victim_0")
				if err != nil {
					t.Fatal(err)
				}
				sql = strings.ReplaceAll(sql, "@", "'"+r.RID.String()+"'")
			}
			f.plant(t, sql)
			f.rechain(t, c.rechain)
			wantBroken(t, f.verify(t, trusting(a)), "P7", c.check)
			f.plant(t, `DELETE FROM journal_anchors`)
			wantBroken(t, f.verify(t), "", "") // the chain alone does not tell
		})
	}
}

func (f *testWorkflow) rechain(t *testing.T, ids []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), `SET search_path = refundry; SET session_replication_role = replica`); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		f.chained(t, conn, id)
	}
}

// An attacker who rewrites the anchors too lacks the key, and the file has the old anchors.
func TestAnchorsCannotBeRewritten(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	a := f.anchorer(t)
	a.once(t)
	f.plant(t, `UPDATE journal SET actor = 'actor:mallory' WHERE rid = $pending; DELETE FROM journal_anchors`)
	f.rechain(t, []string{"pending_0"})
	forger := f.anchorer(t, func(c *verify.AnchorConfig) { c.Key = nil })
	forger.once(t)
	wantBroken(t, f.verify(t), "", "")
	wantBroken(t, f.verify(t, func(c *verify.Config) { c.Anchors.Key = a.PublicKey() }), "P7", "anchor-signature")
	wantBroken(t, f.verify(t, func(c *verify.Config) { c.Anchors.File = a.file }), "P7", "anchor-differs")
	if err := os.WriteFile(a.file, []byte("{}\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, f.verify(t, func(c *verify.Config) { c.Anchors.File = a.file }), "P7", "anchor-file")
}

// The anchorer waits for a writer that has drawn its position and commits late: its row is in an anchor or after it.
func TestAnchorsWaitForLateCommits(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	tx, err := f.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `INSERT INTO journal (tenant_id, rid, seq, kind, to_state, generation, source, actor, at, data, digest, hash)
		SELECT tenant_id, gen_random_uuid(), 1, kind, to_state, generation, source, actor, at, data, digest, hash FROM journal LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	f.refund(t, "later") // draws a position behind it and commits first
	hasty := f.anchorer(t, func(c *verify.AnchorConfig) { c.Fence = 50 * time.Millisecond })
	if err := hasty.Once(t.Context()); !errors.Is(err, pg.ErrFenceBusy) {
		t.Fatalf("anchored over a writer that is still at it: %v", err)
	}
	if n := f.count(t, `SELECT count(*) FROM journal_anchors`); n != 0 {
		t.Fatalf("%d anchors", n)
	}
	a := f.anchorer(t, func(c *verify.AnchorConfig) { c.Fence = time.Minute })
	done := make(chan error, 1)
	go func() { done <- a.Once(t.Context()) }()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := f.count(t, `SELECT count(*) FROM journal j WHERE pos > (SELECT max(upto_pos) FROM journal_anchors)`); n != 0 {
		t.Errorf("%d rows without an anchor", n)
	}
	wantBroken(t, f.verify(t, trusting(a)), "P7", "journal-orphan") // the row itself is of no refund; the anchors are right
}

// A restore removes anchors that the file has. Nothing is appended until a new epoch; then the file continues after its old lines.
func TestAnchorFileAfterARestore(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	a := f.anchorer(t)
	a.once(t)
	f.plant(t, `DELETE FROM journal_anchors WHERE upto_pos = (SELECT max(upto_pos) FROM journal_anchors)`)
	f.plant(t, `DELETE FROM journal_anchors WHERE upto_pos = (SELECT max(upto_pos) FROM journal_anchors)`)
	before, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	restored := f.anchorer(t, func(c *verify.AnchorConfig) { c.File, c.MaxRows = a.file, 7 }) // anchors the same rows in other ranges
	if err := restored.Once(t.Context()); err == nil {
		t.Error("no error from a database that is older than the file")
	}
	f.plant(t, `UPDATE installation SET epoch = 2, sending_held_since = now()`)
	f.refund(t, "after")
	restored.once(t)
	after, err := os.ReadFile(a.file)
	if err != nil || !bytes.HasPrefix(after, before) || bytes.Count(after, []byte(`"keptUpTo"`)) != 1 {
		t.Fatalf("%v: want the old lines, then one new epoch:\n%s", err, after)
	}
	wantBroken(t, f.verify(t, trusting(a)), "", "")
}

// A crash in the middle of a line loses nothing: the anchor is in the database.
func TestAnchorFileEndsInAHalfLine(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	a := f.anchorer(t)
	a.once(t)
	whole, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.file, whole[:len(whole)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	a.once(t)
	if again, err := os.ReadFile(a.file); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("%v: the file is\n%s\nwant\n%s", err, again, whole)
	}
	if h := hex.EncodeToString(a.PublicKey()); len(h) != 64 {
		t.Errorf("public key %s", h)
	}
}
