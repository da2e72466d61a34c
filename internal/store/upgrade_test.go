package store

import (
	"compress/gzip"
	"io"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/verify"
)

// testdata/schema-0007.sql.gz is a dump of a database with the migrations 0001 to 0007 and refunds in every state, which the code of that
// version made: sent, answered, noticed, decided by people, with lines, conflicts and parked messages.
func openSchema0007(t *testing.T) *testWorkflow {
	t.Helper()
	f, err := os.Open("testdata/schema-0007.sql.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	url := dbtest.New(t)
	run(t, url, string(dump))
	// The database was not restored: it is told that it has always been on this server.
	run(t, url, `UPDATE refundry.installation SET system_identifier = (SELECT system_identifier::text FROM pg_control_system())`)
	if _, err := migrate.Up(t.Context(), migrate.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	jobs := &jobLog{}
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{damageContract()}, Enqueuer: jobs, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w := &testWorkflow{testStore: &testStore{Store: s, url: url}, jobs: jobs, contract: damageContract()}
	if err := s.pool.QueryRow(t.Context(), `SELECT tenant_id, code FROM tenants WHERE code = 'demo'`).Scan((*int64)(&w.tenant.ID), &w.tenant.Code); err != nil {
		t.Fatal(err)
	}
	return w
}

// run executes statements as the owner of the database.
func run(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// A database of an older schema is migrated with refunds in every state. The promises hold, and what was open goes on.
func TestADatabaseOfAnOlderSchemaIsMigratedWithItsRefunds(t *testing.T) {
	t.Parallel()
	f := openSchema0007(t)
	for _, s := range refund.States() {
		if n := f.count(t, `SELECT count(*) FROM refunds WHERE state = $1`, string(s)); n == 0 {
			t.Errorf("the old database has no refund in %s", s)
		}
	}
	long := func(c *verify.Config) { c.Overdue = 100 * 365 * 24 * time.Hour } // its timers are as old as the dump
	wantBroken(t, f.verify(t, long), "", "")
	if _, err := f.Sweep(t.Context(), 1000); err != nil { // what is overdue gets its job
		t.Fatal(err)
	}
	if n := f.count(t, `SELECT count(*) FROM refunds WHERE next_action_at < now() - interval '1 minute'`); n != 0 {
		t.Errorf("%d timers are still overdue", n)
	}
	k := f.refund(t, "new")
	f.enter(t, k, succeeded(f.claim(t, k, refund.AttemptSend, 10*time.Second), "ch_new"))
	f.wantState(t, k, refund.StateSuccess)
	wantBroken(t, f.verify(t, long), "", "")
}
