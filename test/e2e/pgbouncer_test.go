package e2e

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/devdb"
	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// pooled is a migrated database behind a PgBouncer in transaction mode.
type pooled struct{ direct, through, role string }

func newPooled(t *testing.T, settings ...string) pooled {
	t.Helper()
	direct := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", direct)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	return pooled{direct, harness.StartBouncer(t, direct, settings...).URL(), u.User.Username()}
}

// flags returns the flags for the pooler, besides --database-url.
func (p pooled) flags() []string {
	return []string{"--database-params", "role", "--database-url-direct", p.direct}
}

// refused runs a command that must fail and checks its message.
func refused(t *testing.T, says []string, args ...string) {
	t.Helper()
	r := harness.Verb(t, nil, args...)
	if r.Exit == 0 {
		t.Fatalf("refundry %s succeeded, want a refusal", strings.Join(args, " "))
	}
	for _, s := range says {
		if !strings.Contains(r.Stderr, s) {
			t.Errorf("refundry %s: the refusal does not say %q:\n%s", args[0], s, r.Stderr)
		}
	}
}

// TestPgBouncer runs whole refunds, shared work, takeovers and late answers with transactions that use different server
// connections of the pooler.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	p := newPooled(t)
	harness.MustVerb(t, "migrate", "--role", p.role, "--database-url", p.direct)
	harness.MustVerb(t, append([]string{"tenant", "list", "--database-url", p.through}, p.flags()...)...)
	shareWork(t, p.direct, replicas{url: p.through, flags: p.flags()})
}

// TestPgBouncerDatabaseAway stops PostgreSQL behind the pooler and starts it again.
func TestPgBouncerDatabaseAway(t *testing.T) {
	t.Parallel()
	postgres := dbtest.Server(t, nil)
	p := pooled{direct: postgres.URL(), role: devdb.Role}
	harness.MustVerb(t, "migrate", "--database-url", p.direct)
	harness.MustVerb(t, "migrate", "--role", p.role, "--database-url", p.direct)
	p.through = harness.StartBouncer(t, p.direct).URL()
	databaseAway(t, postgres, p.through, p.flags()...)
}

// TestPgBouncerJobsAreNotified checks that the notification of a new job arrives, so that it is not found by polling only.
func TestPgBouncerJobsAreNotified(t *testing.T) {
	t.Parallel()
	p := newPooled(t)
	ctx := bounded(t, 2*time.Minute)
	harness.MustVerb(t, "migrate", "--role", p.role, "--database-url", p.direct)
	harness.AddTenant(t, p.direct, "shop")
	channel := harness.StartSimulator(t)
	server := harness.Serve(t, p.through, harness.Account(channel, "demo", "keyed-queryable", "shop"), "api,worker", p.flags()...)
	client := server.Client(harness.AddKey(t, p.direct, "shop", "checkout", caller))
	listener, err := pgx.Connect(ctx, p.direct)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close(context.WithoutCancel(ctx)) }()
	if _, err := listener.Exec(ctx, `LISTEN "refundry.river_insert"`); err != nil {
		t.Fatal(err)
	}
	client.Accept(ctx, request("notified", 100, 100))
	if _, err := listener.WaitForNotification(ctx); err != nil {
		t.Errorf("no notification of the new job: %v", err)
	}
	client.UntilState(ctx, "notified", "SUCCESS", 30*time.Second)
	db := harness.OpenDB(t, p.direct)
	harness.Eventually(t, 30*time.Second, "a session of the jobs' pool listens", func() (bool, string) {
		last := db.Text(ctx, `SELECT string_agg(query, '; ') FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'refundry-jobs'`)
		return strings.Contains(last, "LISTEN "), last
	})
}

// TestPgBouncerRefused starts what would have wrong settings, or no session where one is needed. It does not run, and the
// message says what to do.
func TestPgBouncerRefused(t *testing.T) {
	t.Parallel()
	p := newPooled(t)
	option := []string{"pooler", "--database-params=role", "--database-url-direct", "migrate --role"}
	refused(t, option, "serve", "--database-url", p.through)
	refused(t, option, "tenant", "list", "--database-url", p.through)
	refused(t, []string{"pooler", "behind its question mark"}, "tenant", "list", "--database-url", p.through+"&jit=off", "--database-params", "role")
	direct := []string{"pooler", "--database-url-direct"}
	refused(t, direct, "migrate", "--database-url", p.through)
	refused(t, direct, "verify", "--database-url", p.through)

	lacks := []string{`role "` + p.role + `"`, "enable_seqscan is on, wanted off", "lock_timeout is 0, wanted 2000",
		"plan_cache_mode is auto, wanted force_generic_plan",
		"search_path is ", "statement_timeout is 0, wanted 30000", "migrate --role " + p.role}
	refused(t, lacks, append([]string{"serve", "--database-url", p.through}, p.flags()...)...)

	printed := harness.MustVerb(t, "migrate", "--role", p.role, "--print", "--database-url", p.direct)
	refused(t, lacks, append([]string{"serve", "--database-url", p.through}, p.flags()...)...) // --print has changed nothing
	conn, err := pgx.Connect(t.Context(), p.direct)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), printed); err != nil {
		t.Errorf("the printed statements: %v\n%s", err, printed)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
	fresh := harness.StartBouncer(t, p.direct).URL() // the other pooler has older connections
	harness.MustVerb(t, "tenant", "list", "--database-url", fresh, "--database-params", "role")
	refused(t, direct, "serve", "--database-url", fresh, "--database-params", "role") // no session for LISTEN
}

// TestPgBouncerThatDropsSettings has a pooler with ignore_startup_parameters, which accepts all connections and drops their
// settings.
func TestPgBouncerThatDropsSettings(t *testing.T) {
	t.Parallel()
	const drops = "ignore_startup_parameters = search_path, plan_cache_mode, enable_seqscan, enable_hashjoin, enable_mergejoin, join_collapse_limit, " +
		"lock_timeout, statement_timeout, idle_in_transaction_session_timeout, default_transaction_isolation, default_transaction_deferrable, " +
		"transform_null_equals, bytea_output, intervalstyle"
	p := newPooled(t, drops+", jit, default_transaction_read_only, work_mem")
	hot := []string{"pooler dropped", "enable_seqscan is on, wanted off", "--database-params=role"}
	own := []string{"pooler dropped", "search_path is ", "--database-url-direct"}
	refused(t, hot, "serve", "--database-url", p.through)
	refused(t, own, "migrate", "--database-url", p.through)
	harness.MustVerb(t, "migrate", "--role", p.role, "--database-url", p.direct)
	fresh := harness.StartBouncer(t, p.direct, drops).URL()
	refused(t, []string{"enable_seqscan is off, wanted on", "--database-url-direct"}, "migrate", "--database-url", fresh)
}

// TestNoFreeConnection checks that a full server gets another message than one that is down.
func TestNoFreeConnection(t *testing.T) {
	t.Parallel()
	direct := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", direct)
	ctx := bounded(t, 2*time.Minute)
	conn, err := pgx.Connect(ctx, direct)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	name := conn.Config().Database
	for _, sql := range []string{`CREATE ROLE ` + name + ` LOGIN PASSWORD 'x' CONNECTION LIMIT 0`, `GRANT USAGE ON SCHEMA refundry TO ` + name} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, sql := range []string{`REVOKE USAGE ON SCHEMA refundry FROM ` + name, `DROP ROLE ` + name} {
			if _, err := conn.Exec(context.WithoutCancel(ctx), sql); err != nil {
				t.Error(err)
			}
		}
	}()
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(name, "x")
	refused(t, []string{"no free connection", "53300", "CONNECTION LIMIT"}, "serve", "--database-url", u.String())
}
