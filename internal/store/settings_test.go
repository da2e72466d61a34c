package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

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
		if name != "timezone" && !slices.Contains(names, name) { // a machine may be on UTC
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
