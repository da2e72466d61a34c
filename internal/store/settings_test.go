package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// byRole opens the test store's database again with the settings of its role, for a process that serves, on one connection.
func (b *testStore) byRole(t *testing.T) *Store {
	t.Helper()
	role := b.pool.Config().ConnConfig.User
	if _, err := pg.SetRole(t.Context(), b.url, role, "refundry"); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{URL: b.url, Params: pg.ParamsRole, MaxConns: 1, HoldOnFailover: true, Accounts: anyAccount{testContract()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// asByDefault are the settings whose wanted value is PostgreSQL's default, or that of a machine on UTC.
var asByDefault = map[string]bool{"timezone": true, "default_transaction_isolation": true, "default_transaction_deferrable": true,
	"transform_null_equals": true, "standard_conforming_strings": true, "client_encoding": true, "bytea_output": true, "datestyle": true,
	"intervalstyle": true}

// alterDatabase changes a default of the database, for connections that are opened later.
func (b *testStore) alterDatabase(t *testing.T, change string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I `+change+`', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
}

// TestDefaultsOfTheDatabaseChangeNoMeaning: a connection sends every setting that decides what a statement means.
func TestDefaultsOfTheDatabaseChangeNoMeaning(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	for _, change := range []string{`SET default_transaction_isolation TO "repeatable read"`, `SET default_transaction_deferrable TO on`,
		`SET transform_null_equals TO on`, `SET bytea_output TO "escape"`, `SET datestyle TO "German"`, `SET intervalstyle TO "iso_8601"`,
		`SET timezone TO "Asia/Tokyo"`, `SET lock_timeout TO 1`, `SET statement_timeout TO 1`, `SET client_encoding TO "LATIN1"`} {
		b.alterDatabase(t, change)
	}
	s, err := Open(t.Context(), Config{URL: b.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	own, err := pg.OpenPool(t.Context(), b.url, "refundry", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	for name, pool := range map[string]*pgxpool.Pool{"the hot path": s.pool, "a session of its own": own} {
		var got string
		if err := pool.QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('transaction_isolation'), '\x00ff'::bytea::text,
			timestamptz '2026-01-02 03:04Z', interval '1 day')`).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if want := `read committed \x00ff 2026-01-02 03:04:00+00 1 day`; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestDefaultsThatLoseCommitsOrGuardsAreRefused: they are the operator's to set, so a connection does not override them.
func TestDefaultsThatLoseCommitsOrGuardsAreRefused(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"synchronous_commit": "off", "session_replication_role": "replica"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTestStore(t)
			b.alterDatabase(t, `SET `+name+` TO `+value)
			var e *pg.SettingsError
			if _, err := Open(t.Context(), Config{URL: b.url}); !errors.As(err, &e) || !strings.Contains(err.Error(), name+" is "+value) {
				t.Errorf("opening the store: %v, want a *SettingsError that names %s", err, name)
			}
			if _, err := pg.OpenPool(t.Context(), b.url, "refundry", 1); !errors.As(err, &e) {
				t.Errorf("opening a pool of its own: %v, want a *SettingsError", err)
			}
			b.pool.Reset()
			if err := b.Ping(t.Context()); !errors.Is(err, refund.ErrUnavailable) {
				t.Errorf("a new connection of a running process: %v, want ErrUnavailable", err)
			}
		})
	}
}

// TestRoleLacksSettings: every setting that differs is named, and a process that runs stops connecting when the role loses one.
func TestRoleLacksSettings(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	_, err := Open(t.Context(), Config{URL: b.url, Params: pg.ParamsRole})
	var lacks *pg.SettingsError
	if !errors.As(err, &lacks) || !errors.Is(err, refund.ErrUnavailable) {
		t.Fatalf("%v, want a *SettingsError of the class unavailable", err)
	}
	var names []string
	for _, d := range lacks.Differences {
		names = append(names, d.Name)
	}
	for name := range pg.HotSettings("refundry", pg.DefaultLockTimeout) {
		if !asByDefault[name] && !slices.Contains(names, name) {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	s := b.byRole(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pool.Exec(t.Context(), `ALTER ROLE `+lacks.Role+` IN DATABASE `+lacks.Database+` SET lock_timeout TO 0`); err != nil {
		t.Fatal(err)
	}
	s.pool.Reset()
	if err := s.Ping(t.Context()); !errors.Is(err, refund.ErrUnavailable) || !strings.Contains(err.Error(), "lock_timeout is 0, wanted 2000") {
		t.Errorf("a new connection without lock_timeout: %v, want a refusal that names it", err)
	}
}

// TestOwnSessionsKeepThePlannersDefaults: also where the role has the settings of the hot path.
func TestOwnSessionsKeepThePlannersDefaults(t *testing.T) {
	t.Parallel()
	b := newTestStore(t)
	b.byRole(t)
	pool, err := pg.OpenPool(t.Context(), b.url, "refundry", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var differ []string
	if err := pool.QueryRow(t.Context(), `SELECT coalesce(array_agg(name || '=' || setting), '{}') FROM pg_settings
		WHERE name LIKE ANY('{enable_%,plan_cache_mode,%_collapse_limit}') AND setting <> boot_val`).Scan(&differ); err != nil {
		t.Fatal(err)
	}
	if len(differ) > 0 {
		t.Errorf("%v, want the planner's defaults", differ)
	}
}

// TestClaimThroughAPoolerWhenTheDatabaseMoved: a connection that is open already claims no send on a database that was restored or has
// failed over, before anybody has held sending.
func TestClaimThroughAPoolerWhenTheDatabaseMoved(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	s := f.byRole(t)
	ask, send := f.refund(t, "rf_ask"), f.refund(t, "rf_send")
	f.enter(t, ask, answered(f.claim(t, ask, refund.AttemptSend, 10*time.Second), refund.Unknown))
	claim := f.claimOf(f.load(t, send), refund.AttemptSend, 10*time.Second)
	change := func(sql string) {
		if _, err := f.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	change(`CREATE TABLE agreed AS TABLE installation`)
	for _, move := range []string{`timeline = timeline + 1`, `timeline = timeline - 1`, `system_identifier = '1' || system_identifier`} {
		change(`UPDATE installation SET ` + move)
		if _, err := s.Claim(t.Context(), claim); !errors.Is(err, refund.ErrNotOwner) {
			t.Errorf("%s: %v, want ErrNotOwner", move, err)
		}
		if n := f.count(t, `SELECT count(*) FROM installation WHERE sending_held_since IS NOT NULL`); n != 0 {
			t.Fatal("sending is held: the claim was refused for that, not for the move")
		}
		if move == `timeline = timeline - 1` {
			if _, err := s.Claim(t.Context(), f.claimOf(f.load(t, ask), refund.AttemptQuery, 10*time.Second)); err != nil {
				t.Errorf("a question moves no money and is asked all the same: %v", err)
			}
		}
		change(`UPDATE installation SET (timeline, system_identifier) = (SELECT timeline, system_identifier FROM agreed)`)
	}
	if _, err := s.Claim(t.Context(), claim); err != nil {
		t.Errorf("back on the agreed database: %v", err)
	}
}

// TestClaimThroughAPoolerAfterARestore: the open connection claims no send on another database and none behind the WAL position that the
// process has seen, also where a failover is declared lossless; that alone allows another timeline.
func TestClaimThroughAPoolerAfterARestore(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.agreed(t)
	lossless := *f.byRole(t)
	lossless.cfg.HoldOnFailover, lossless.cfg.HoldOnRestore = false, true
	claim := f.claimOf(f.load(t, f.refund(t, "rf")), refund.AttemptSend, 10*time.Second)
	seen := lossless.epochs.highest()
	for _, c := range []struct {
		name, move, back string
		wal              int64
		want             error
	}{
		{name: "another database", move: `database_oid = database_oid + 1`, back: `database_oid = database_oid - 1`, want: refund.ErrNotOwner},
		{name: "another table", move: `table_oid = table_oid + 1`, back: `table_oid = table_oid - 1`, want: refund.ErrNotOwner},
		{name: "behind the WAL position", move: `epoch = epoch`, back: `epoch = epoch`, wal: 1 << 40, want: refund.ErrNotOwner},
		{name: "another timeline", move: `timeline = timeline + 1`, back: `timeline = timeline - 1`},
	} {
		f.plant(t, `UPDATE installation SET `+c.move)
		lossless.epochs = &epochWatch{log: lossless.log, seen: seen}
		lossless.epochs.seen.WAL += c.wal
		if _, err := lossless.Claim(t.Context(), claim); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		f.plant(t, `UPDATE installation SET `+c.back)
	}
}
