package restore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// scenario is one way to get an older database. run returns after sending was held and has gone on.
type scenario struct {
	name  string
	short bool // a part of make test
	run   func(t *testing.T) *site
}

var scenarios = []scenario{
	{"a dump restored into the same database", true, dumpSameDatabase},
	{"a dump restored into a new database with the old name", false, dumpNewDatabase},
	{"a cold copy put back while another process lives", false, copyBesideAProcess},
	{"a cold copy put back, with an anchor file", true, copyWithAnchorFile},
	{"a recovery to a point in time", false, pointInTime},
	{"a failover to a standby that lacks the last commits", false, failover},
	{"a cold copy that nothing shows, declared by hand", true, declared},
	{"a restore declared while nothing is held", false, declaredOnly},
}

// TestARestoreSendsNothingTwice: what was paid after the backup is never paid again, whatever kind of restore it is. C50, C51, C52.
func TestARestoreSendsNothingTwice(t *testing.T) {
	t.Parallel()
	harness.Binary(t)
	for _, c := range scenarios {
		if !c.short && !*full {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			c.run(t).report(c.name, began)
		})
	}
}

// ready has a server, and refunds that are accepted and not sent.
func ready(t *testing.T, settings map[string]string) (*site, *postgres) {
	t.Helper()
	p := startPostgres(t, harness.NewDir(t), 0, settings)
	s := newSite(t, p.url())
	s.accept(p.url())
	return s, p
}

func dumpSameDatabase(t *testing.T) *site {
	s, p := ready(t, nil)
	dump := filepath.Join(t.TempDir(), "dump")
	p.program("pg_dump", "-Fc", "-d", p.url(), "-f", dump)
	s.stop(s.pay(p.url()))
	p.restoreOver(dump)
	s.serve(p.url(), "worker")
	s.wantHeld(p.url(), "table-oid")
	s.exposeAndEnd(p.url())
	return s
}

func dumpNewDatabase(t *testing.T) *site {
	s, p := ready(t, nil)
	dump := filepath.Join(t.TempDir(), "dump")
	p.program("pg_dump", "-Fc", "-d", p.url(), "-f", dump)
	s.stop(s.pay(p.url()))
	maintenance := dbtest.Sibling(p.url(), "postgres")
	execute(t, maintenance, `ALTER DATABASE refundry RENAME TO refundry_before; CREATE DATABASE refundry TEMPLATE template0`)
	p.program("pg_restore", "-d", p.url(), dump)
	s.serve(p.url(), "worker")
	s.wantHeld(p.url(), "database-oid")
	s.exposeAndEnd(p.url())
	return s
}

// The process that lives has seen a higher WAL position and a later end of the journal.
func copyBesideAProcess(t *testing.T) *site {
	s, p := ready(t, nil)
	copied := p.copied()
	s.pay(p.url()) // it lives on
	p.putBack(copied)
	s.wantHeld(p.url(), "wal-position", "journal-end")
	s.exposeAndEnd(p.url())
	return s
}

func copyWithAnchorFile(t *testing.T) *site {
	s, p := ready(t, nil)
	copied := p.copied()
	anchors := filepath.Join(t.TempDir(), "anchors")
	flags := []string{"--anchor-every", "1s", "--anchor-file", anchors}
	s.stop(s.pay(p.url(), flags...))
	if raw, err := os.ReadFile(anchors); err != nil || !strings.Contains(string(raw), `"seen"`) {
		t.Fatalf("%v: the anchor file does not say what was seen:\n%s", err, raw)
	}
	p.putBack(copied)
	s.serve(p.url(), "worker", flags...)
	s.wantHeld(p.url(), "anchor-file", "wal-position", "journal-end")
	s.exposeAndEnd(p.url())
	harness.Eventually(t, time.Minute, "the file and the database agree again", func() (bool, string) {
		r := harness.Verb(t, nil, "verify", "--database-url", p.url(), "--anchor-file", anchors)
		return r.Exit == 0, r.Stdout + r.Stderr
	})
	return s
}

func pointInTime(t *testing.T) *site {
	archive := filepath.Join(harness.NewDir(t), "archive")
	if err := os.Mkdir(archive, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(archive, 0o777); err != nil { // the server's user writes here
		t.Fatal(err)
	}
	s, p := ready(t, map[string]string{"archive_mode": "on", "archive_command": "cp %p " + archive + "/%f"})
	dir := p.baseBackup()
	one[string](t, p.url(), `SELECT pg_create_restore_point('before')::text`)
	s.stop(s.pay(p.url()))
	segment := one[string](t, p.url(), `SELECT pg_walfile_name(pg_switch_wal())`)
	harness.Eventually(t, time.Minute, "the WAL is archived", func() (bool, string) {
		last := one[string](t, p.url(), `SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver`)
		return last >= segment, last
	})
	p.stop()
	signal(t, p, dir, "recovery.signal")
	restored := startPostgres(t, dir, p.db.Port(), map[string]string{"archive_mode": "off", "restore_command": "cp " + archive + "/%f %p",
		"recovery_target_name": "before", "recovery_target_action": "promote"})
	untilPrimary(t, restored)
	s.serve(restored.url(), "worker")
	s.wantHeld(restored.url(), "timeline")
	s.exposeAndEnd(restored.url())
	return s
}

// sessionsBegin is long enough for a process that has lost its connections to connect again.
const sessionsBegin = 4 * time.Second

// The standby answers on the address of the lost server, so that the process that lives finds it.
func failover(t *testing.T) *site {
	s, p := ready(t, nil)
	dir := p.baseBackup("--write-recovery-conf")
	s.pay(p.url()) // it lives on
	p.stop()
	standby := startPostgres(t, dir, p.db.Port(), nil)
	if !one[bool](t, standby.url(), `SELECT pg_is_in_recovery()`) {
		t.Fatal("the standby is none")
	}
	began := time.Now()
	harness.Eventually(t, time.Minute, "the process has had time to connect again", func() (bool, string) { return time.Since(began) > sessionsBegin, "too early" })
	if n := one[int](t, standby.url(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'refundry' AND backend_start < now() - interval '1 s'`); n > 0 {
		t.Errorf("%d sessions that may claim a send have begun on the standby, and live through its promotion", n)
	}
	one[bool](t, standby.url(), `SELECT pg_promote()`)
	untilPrimary(t, standby)
	s.wantHeld(standby.url(), "timeline")
	s.exposeAndEnd(standby.url())
	return s
}

// Nothing shows this restore: no process lived, and there is no anchor file.
func declared(t *testing.T) *site {
	s, p := ready(t, nil)
	copied := p.copied()
	s.stop(s.pay(p.url()))
	p.putBack(copied)
	if e := s.epoch(p.url(), "show"); e.Moved || e.SendingHeldSince != nil {
		t.Errorf("there is a sign after all: %+v", e)
	}
	if r := harness.Verb(t, nil, "epoch", "expose", "--yes", "--database-url", p.url()); r.Exit == 0 || !strings.Contains(r.Stderr, "--restored") {
		t.Errorf("exit %d, want a refusal that names --restored: %s", r.Exit, r.Stderr)
	}
	if e := s.epoch(p.url(), "hold"); e.SendingHeldSince == nil {
		t.Errorf("%+v", e)
	}
	s.serve(p.url(), "worker")
	s.wantHeld(p.url(), "operator")
	s.exposeAndEnd(p.url())
	return s
}

func declaredOnly(t *testing.T) *site {
	s, p := ready(t, nil)
	copied := p.copied()
	s.stop(s.pay(p.url()))
	p.putBack(copied)
	s.because = "nothing, exposed at once"
	if e := s.epoch(p.url(), "show"); e.Moved {
		t.Errorf("there is a sign after all: %+v", e)
	}
	s.epoch(p.url(), "expose", "--yes", "--restored")
	s.serve(p.url(), "worker")
	s.exposeAndEnd(p.url(), "--restored") // while the service runs, too
	return s
}

func signal(t *testing.T, p *postgres, dir, name string) {
	t.Helper()
	file := filepath.Join(dir, "postgres", "data", name)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.own(file)
}

func untilPrimary(t *testing.T, p *postgres) {
	t.Helper()
	harness.Eventually(t, time.Minute, "the server takes writes", func() (bool, string) {
		return !one[bool](t, p.url(), `SELECT pg_is_in_recovery()`), "in recovery"
	})
}
