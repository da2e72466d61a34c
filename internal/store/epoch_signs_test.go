package store

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
)

// agreed makes the installation agree to its database, as the first start does.
func (f *testWorkflow) agreed(t *testing.T) EpochState {
	t.Helper()
	if _, err := f.WatchEpoch(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	e := f.epoch(t)
	if e.AgreedAt == nil || e.Moved || e.HeldSince != nil {
		t.Fatalf("%+v, want an agreement and no sign", e)
	}
	return e
}

func (f *testWorkflow) wantHeld(t *testing.T, because string) {
	t.Helper()
	if e := f.epoch(t); e.HeldSince == nil || e.HeldBecause != because {
		t.Errorf("held since %v because of %q, want %q", e.HeldSince, e.HeldBecause, because)
	}
}

// A database made by the migrations before has no agreement: the first start records it and holds nothing.
func TestTheFirstStartRecordsTheSigns(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	if e := f.epoch(t); e.AgreedAt != nil || e.Moved {
		t.Fatalf("%+v, want a database of before", e)
	}
	e := f.agreed(t)
	if e.DatabaseOID != e.ActualDatabaseOID || e.TableOID != e.ActualTableOID || e.DatabaseOID == 0 || e.TableOID == 0 {
		t.Errorf("%+v", e)
	}
	if again := f.agreed(t); !again.AgreedAt.Equal(*e.AgreedAt) {
		t.Errorf("agreed at %s and again at %s", e.AgreedAt, again.AgreedAt)
	}
	url := dbtest.New(t)
	if _, err := migrate.Up(t.Context(), migrate.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	fresh := openWorkflow(t, url)
	if e := fresh.epoch(t); e.AgreedAt == nil || e.Moved {
		t.Errorf("a new installation: %+v", e)
	}
	fresh.agreed(t)
}

// A process that was not there cannot know that the row is older, but the oids differ.
func TestACopiedDatabaseHoldsSending(t *testing.T) {
	t.Parallel()
	url := dbtest.Template(t, "store-agreed", func(url string) error {
		_, err := migrate.Up(context.Background(), migrate.Config{URL: url})
		return err
	})
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{testContract()}, HoldOnRestore: true}) // a failover alone would not hold
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := &testWorkflow{testStore: &testStore{Store: s, url: url}}
	f.wantHeld(t, "database-oid")
	if e := f.epoch(t); len(e.Signs) != 1 || e.Signs[0] != pg.SignDatabase {
		t.Errorf("signs %v", e.Signs)
	}
}

// rebuilt puts the table installation back as a dump does: with the same rows and another oid.
const rebuilt = `CREATE TABLE put_back (LIKE installation INCLUDING ALL); INSERT INTO put_back TABLE installation; DROP TABLE installation;
	ALTER TABLE put_back RENAME TO installation`

// A dump can be restored below an open connection, so the claim itself compares the table.
func TestARestoredTableSendsNothingFromTheFirstClaimOn(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.agreed(t)
	k, asked := f.refund(t, "rf"), f.refund(t, "asked")
	f.enter(t, asked, answered(f.claim(t, asked, refund.AttemptSend, 10*time.Second), refund.Unknown))
	f.plant(t, rebuilt)
	if _, err := f.Claim(t.Context(), f.claimOf(f.load(t, k), refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("a send was claimed on a restored dump: %v", err)
	}
	if f.epoch(t).HeldSince != nil {
		t.Fatal("held before anybody has looked: the claim was refused for that")
	}
	if _, err := f.Claim(t.Context(), f.claimOf(f.load(t, asked), refund.AttemptQuery, 10*time.Second)); err != nil {
		t.Errorf("a query moves no money: %v", err)
	}
	if e, err := f.WatchEpoch(t.Context(), true); err != nil || e.HeldSince == nil {
		t.Errorf("a lossless failover explains no restored dump: %v %+v", err, e)
	}
	f.wantHeld(t, "table-oid")
	if _, err := f.ExposeEpoch(t.Context(), ExposeConfig{}); err != nil {
		t.Fatal(err)
	}
	if e := f.agreed(t); e.Epoch != 2 || e.HeldBecause != "" {
		t.Errorf("%+v", e)
	}
}

// Statements that move or rewrite the table keep its oid.
func TestARewrittenTableIsNoSign(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.agreed(t)
	conn, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, sql := range []string{`VACUUM FULL refundry.installation`, `CLUSTER refundry.installation USING installation_pk`, `REINDEX TABLE refundry.installation`,
		`ALTER TABLE refundry.installation SET TABLESPACE pg_default`, `CHECKPOINT`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if e, err := f.WatchEpoch(t.Context(), false); err != nil || e.Moved {
			t.Errorf("%s: %v %+v", sql, err, e.Signs)
		}
	}
}

// A database that was renamed is the same one.
func TestARenamedDatabaseIsNoSign(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	if _, err := migrate.Up(t.Context(), migrate.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	maintenance, err := pgx.Connect(t.Context(), dbtest.Sibling(url, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = maintenance.Close(context.Background()) }()
	rename := func(from, to string) {
		if _, err := maintenance.Exec(t.Context(), `ALTER DATABASE `+pgx.Identifier{from}.Sanitize()+` RENAME TO `+pgx.Identifier{to}.Sanitize()); err != nil {
			t.Fatal(err)
		}
	}
	rename(cfg.Database, cfg.Database+"_renamed")
	defer rename(cfg.Database+"_renamed", cfg.Database)
	s, err := Open(t.Context(), Config{URL: dbtest.Sibling(url, cfg.Database+"_renamed"), Accounts: anyAccount{testContract()}, HoldOnRestore: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if e, err := s.EpochState(t.Context()); err != nil || e.Moved || e.HeldSince != nil {
		t.Errorf("%v %+v", err, e)
	}
}

// One process that remembers holds the others, too: those that start after the restore remember nothing.
func TestOneProcessThatRemembersHoldsAll(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.agreed(t)
	k := f.refund(t, "rf")
	later, err := Open(t.Context(), Config{URL: f.url, Accounts: anyAccount{f.contract}, HoldOnFailover: true, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	seen := f.epochs.highest()
	seen.WAL += 1 << 40
	f.Remember(seen)
	if e, err := later.WatchEpoch(t.Context(), false); err != nil || e.HeldSince != nil {
		t.Fatalf("the later process knows nothing: %v %+v", err, e)
	}
	if e, err := f.WatchEpoch(t.Context(), false); err != nil || e.HeldSince == nil {
		t.Fatalf("%v %+v", err, e)
	}
	if _, err := later.Claim(t.Context(), f.claimOf(f.load(t, k), refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("the later process has claimed a send: %v", err)
	}
}

// What a process has seen is kept in its memory, where no restore can change it.
func TestADatabaseBehindWhatWasSeenHoldsSending(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, because string
		lossless      bool
		change        func(*pg.Sighting)
	}{
		{name: "WAL position", because: "wal-position", change: func(s *pg.Sighting) { s.WAL += 1 << 40 }},
		{name: "end of the journal", because: "journal-end", change: func(s *pg.Sighting) { s.Journal += 1000 }},
		{name: "WAL position, failover declared lossless", because: "wal-position", lossless: true, change: func(s *pg.Sighting) { s.WAL += 1 << 40 }},
		{name: "agreement", because: "agreement", change: func(s *pg.Sighting) { s.AgreedAt = s.AgreedAt.Add(time.Second) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newVerifyFixture(t)
			f.agreed(t)
			seen := f.epochs.highest()
			c.change(&seen)
			f.Remember(seen)
			if e, err := f.WatchEpoch(t.Context(), c.lossless); err != nil || e.HeldSince == nil {
				t.Fatalf("%v %+v", err, e)
			}
			f.wantHeld(t, c.because)
			if c.because == "agreement" {
				f.waitUntil(t, seen.AgreedAt)
			}
			if _, err := f.ExposeEpoch(t.Context(), ExposeConfig{}); err != nil {
				t.Fatal(err)
			}
			if e := f.agreed(t); e.Epoch != 2 {
				t.Errorf("the next epoch settles what was seen before: %+v", e)
			}
		})
	}
}

// The second restore of a backup finds a process that has seen the epoch after the first one.
func TestASecondRestoreOfOneBackupHoldsAgain(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.agreed(t)
	f.plant(t, `CREATE TABLE backup AS TABLE installation`)
	if _, err := f.HoldSending(t.Context(), pg.SignOperator); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ExposeEpoch(t.Context(), ExposeConfig{}); err != nil {
		t.Fatal(err)
	}
	f.agreed(t)
	f.plant(t, `DELETE FROM installation; INSERT INTO installation TABLE backup`)
	if e, err := f.WatchEpoch(t.Context(), false); err != nil || e.HeldSince == nil {
		t.Fatalf("%v %+v", err, e)
	}
	f.wantHeld(t, "agreement")
	if e, err := f.ExposeEpoch(t.Context(), ExposeConfig{}); err != nil || e.Epoch != 2 { // the number of the lost epoch
		t.Fatalf("%v %+v", err, e)
	}
	f.agreed(t)
}

// The comparison runs with every new connection and twice a second: it must read the end of an index, never the journal.
func TestTheSignsAreReadCheaply(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	rows, err := f.pool.Query(t.Context(), "EXPLAIN "+epochSQL)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if plan := strings.Join(lines, "\n"); err != nil || !strings.Contains(plan, "Index Only Scan Backward using journal_pos_uq") || strings.Contains(plan, "on refunds") {
		t.Errorf("%v\n%s", err, plan)
	}
}

// A standby may lag: nothing is compared with it, and it is never what was seen.
func TestSightings(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	seen := pg.Sighting{Epoch: 2, AgreedAt: at, System: "s", Timeline: 1, WAL: 100, Journal: 10}
	with := func(change func(*pg.Sighting)) pg.Sighting {
		s := seen
		change(&s)
		return s
	}
	old := pg.Sighting{Epoch: 2, Journal: 10} // of a file without agreements
	for _, c := range []struct {
		name      string
		seen, now pg.Sighting
		want      string
	}{
		{"the same", seen, seen, ""},
		{"further", seen, with(func(s *pg.Sighting) { s.WAL, s.Journal = 101, 11 }), ""},
		{"WAL behind", seen, with(func(s *pg.Sighting) { s.WAL = 99 }), "wal-position"},
		{"WAL behind on another timeline", seen, with(func(s *pg.Sighting) { s.WAL, s.Timeline = 99, 2 }), ""},
		{"journal behind on another timeline", seen, with(func(s *pg.Sighting) { s.Journal, s.Timeline = 9, 2 }), "journal-end"},
		{"an older row", seen, with(func(s *pg.Sighting) { s.AgreedAt = at.Add(-1) }), "agreement"},
		{"a row without agreement", seen, with(func(s *pg.Sighting) { s.AgreedAt = time.Time{} }), "agreement"},
		{"a later agreement", seen, pg.Sighting{Epoch: 1, AgreedAt: at.Add(1)}, ""},
		{"a standby that lags", seen, with(func(s *pg.Sighting) { s.Standby, s.Journal, s.WAL = true, 1, 0 }), ""},
		{"nothing was seen", pg.Sighting{}, seen, ""},
		{"an old file, behind", old, with(func(s *pg.Sighting) { s.Journal = 9 }), "journal-end"},
		{"an old file, the epoch before", old, with(func(s *pg.Sighting) { s.Epoch = 1 }), "agreement"},
		{"an old file, the next epoch", old, with(func(s *pg.Sighting) { s.Epoch, s.Journal = 3, 9 }), ""},
	} {
		if got := because(c.seen.Behind(c.now)); got != c.want {
			t.Errorf("%s: signs %q, want %q", c.name, got, c.want)
		}
	}
	if got := seen.And(with(func(s *pg.Sighting) { s.WAL, s.Journal = 99, 11 })); got.WAL != 100 || got.Journal != 11 {
		t.Errorf("the highest of both: %+v", got)
	}
	if got := seen.And(with(func(s *pg.Sighting) { s.Standby, s.Journal = true, math.MaxInt64 })); got != seen {
		t.Errorf("a standby is not counted: %+v", got)
	}
	if got := seen.And(old); got != seen {
		t.Errorf("what names no agreement is older: %+v", got)
	}
}

// An operator's word needs no sign, and is told apart from one.
func TestAnOperatorHoldsAndExposesWithoutASign(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.agreed(t)
	k := f.refund(t, "rf")
	if held, err := f.HoldSending(t.Context(), pg.SignOperator); err != nil || !held {
		t.Fatalf("%t %v", held, err)
	}
	if held, err := f.HoldSending(t.Context(), pg.SignOperator); err != nil || held {
		t.Errorf("held twice: %t %v", held, err)
	}
	f.wantHeld(t, "operator")
	if _, err := f.Claim(t.Context(), f.claimOf(f.load(t, k), refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("claimed while an operator holds: %v", err)
	}
	for want := 2; want <= 3; want++ { // the second time without a hold
		if e, err := f.ExposeEpoch(t.Context(), ExposeConfig{}); err != nil || e.Epoch != want || e.HeldSince != nil || e.Unmarked != 0 {
			t.Errorf("epoch %d: %v %+v", want, err, e)
		}
	}
	if r := f.load(t, k); r.State != refund.StateUnknown || !r.MarkedIn(3) {
		t.Errorf("%+v", r.Refund)
	}
	wantBroken(t, f.verify(t), "", "")
}

// The anchor file tells a process that has not lived how far the database was.
func TestTheAnchorFileShowsARestore(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.agreed(t)
	a := f.anchorer(t)
	a.once(t)
	raw, err := os.ReadFile(a.file)
	if err != nil || strings.Count(string(raw), `"seen"`) != 1 {
		t.Fatalf("%v: want one member seen in\n%s", err, raw)
	}
	seen, err := a.Seen(t.Context())
	if e := f.epoch(t); err != nil || seen.WAL == 0 || seen.Journal == 0 || !seen.AgreedAt.Equal(*e.AgreedAt) || seen.System != e.ActualSystem || seen.Epoch != 1 {
		t.Fatalf("%v %+v", err, seen)
	}
	old := a.file + ".old" // as the versions before wrote it
	head, _, _ := strings.Cut(string(raw[strings.LastIndex(strings.TrimSpace(string(raw)), "\n")+1:]), `"seen"`)
	if err := os.WriteFile(old, []byte(head+`"at":"2026-01-01T00:00:00Z"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if was, err := f.anchorerOn(t, old).Seen(t.Context()); err != nil || was.Journal == 0 || was.WAL != 0 || !was.AgreedAt.IsZero() {
		t.Errorf("an old line: %v %+v", err, was)
	}
	if foreign, err := f.anchorerOn(t, a.file+".none").Seen(t.Context()); err != nil || foreign != (pg.Sighting{}) {
		t.Errorf("no file: %v %+v", err, foreign)
	}
	other := newVerifyFixture(t)
	other.plant(t, `UPDATE installation SET installation_id = gen_random_uuid()`)
	if s, _ := other.anchorerOn(t, a.file).Seen(t.Context()); s != (pg.Sighting{}) {
		t.Errorf("the file of another installation: %+v", s)
	}

	s, err := Open(t.Context(), Config{URL: f.url, Accounts: anyAccount{f.contract}, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Remember(seen)
	if e, err := s.WatchEpoch(t.Context(), false); err != nil || e.Moved {
		t.Fatalf("nothing was restored: %v %+v", err, e)
	}
	seen.WAL += 1 << 40
	s.Remember(seen)
	if e, err := s.WatchEpoch(t.Context(), false); err != nil || e.HeldSince == nil {
		t.Errorf("%v %+v", err, e)
	}
	f.wantHeld(t, "wal-position")
}

// The last second before a restore counts too: the process remembers the claims that it has made since it last looked.
func TestADatabaseWithoutAClaimOfThisProcessHoldsSending(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	k := f.refund(t, "rf")
	f.agreed(t)
	before := f.epochs.highest().Journal
	f.claim(t, k, refund.AttemptSend, 10*time.Second)
	if after := f.epochs.highest().Journal; after <= before {
		t.Fatalf("seen up to %d before the claim and up to %d after it", before, after)
	}
	f.plant(t, `DELETE FROM journal WHERE pos = (SELECT max(pos) FROM journal)`) // what a restore to the time before it would lack
	if e, err := f.WatchEpoch(t.Context(), false); err != nil || e.HeldSince == nil {
		t.Fatalf("%v %+v", err, e)
	}
	f.wantHeld(t, "journal-end")
}
