package harness

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/refund"
)

// DB reads the database of the program for what the API does not return.
type DB struct {
	t    testing.TB
	pool *pgxpool.Pool
}

// OpenDB connects to a database, with the program's schema as search path, until the test ends.
func OpenDB(t testing.TB, url string) *DB {
	t.Helper()
	pool := openPool(t, url)
	t.Cleanup(pool.Close)
	return &DB{t, pool}
}

func openPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 3
	cfg.ConnConfig.RuntimeParams["search_path"] = "refundry"
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// Exec changes rows without the program.
func (d *DB) Exec(ctx context.Context, sql string, args ...any) {
	d.t.Helper()
	if _, err := d.pool.Exec(ctx, sql, args...); err != nil {
		d.t.Fatal(err)
	}
}

// Int returns one number.
func (d *DB) Int(ctx context.Context, sql string, args ...any) int64 {
	d.t.Helper()
	var n int64
	if err := d.pool.QueryRow(ctx, "SELECT coalesce(("+sql+"), 0)::bigint", args...).Scan(&n); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// Text returns one text.
func (d *DB) Text(ctx context.Context, sql string, args ...any) string {
	d.t.Helper()
	var s string
	if err := d.pool.QueryRow(ctx, "SELECT coalesce(("+sql+")::text, '')", args...).Scan(&s); err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// promise is a condition that always holds, as a count of its violations.
type promise struct{ name, broken string }

// promises are those of docs/promises.md that the database alone can show.
var promises = []promise{
	{"P1 one effect per refund", `SELECT count(*) FROM (SELECT 1 FROM effects WHERE rid IS NOT NULL AND status = 'MOVED' GROUP BY tenant_id, rid HAVING count(*) > 1) x`},
	{"P2 one send on a channel with neither key nor query", `SELECT count(*) FROM (SELECT 1 FROM attempts a JOIN refunds r USING (tenant_id, rid)
		WHERE r.account LIKE '%-blind' AND a.kind = 'SEND' AND coalesce(a.answer, 'UNKNOWN') NOT IN ('NOT_SENT', 'RETRYABLE') GROUP BY a.tenant_id, a.rid HAVING count(*) > 1) x`},
	{"P3 reserved is the sum of open refunds", `SELECT count(*) FROM payments p WHERE reserved <> (SELECT coalesce(sum(amount), 0) FROM refunds r
		WHERE r.tenant_id = p.tenant_id AND r.payment_id = p.payment_id AND final_at IS NULL)`},
	{"P3 refunded is the sum of what moved", `SELECT count(*) FROM payments p WHERE refunded <> (SELECT coalesce(sum(counted), 0) FROM effects e
		WHERE e.tenant_id = p.tenant_id AND e.payment_id = p.payment_id AND status = 'MOVED')`},
	{"P3 an amount above the captured one has a case", `SELECT count(*) FROM payments p WHERE reserved + refunded + refunded_elsewhere + held > captured + excess_accepted
		AND NOT EXISTS (SELECT FROM cases c LEFT JOIN refunds r ON r.tenant_id = c.tenant_id AND r.rid = c.rid WHERE c.tenant_id = p.tenant_id
			AND p.payment_id IN (c.payment_id, r.payment_id) AND c.closed_at IS NULL AND 'excess' = ANY(c.reasons))`},
	{"P4 an open refund has a timer", `SELECT count(*) FROM refunds WHERE (final_at IS NULL OR exposed OR case_id IS NOT NULL) AND next_action_at IS NULL`},
	{"P5 every refund has its receipt", `SELECT count(*) FROM refunds r WHERE NOT EXISTS (SELECT FROM receipts c WHERE c.tenant_id = r.tenant_id AND c.rid = r.rid AND outcome = 'TAKEN')`},
	// C31.
	{"a refusal or conflict of an event has its parked message", `SELECT count(*) FROM receipts r WHERE consumer = 'events' AND outcome IN ('REFUSED', 'CONFLICT')
		AND NOT EXISTS (SELECT FROM parked k WHERE k.tenant_id = r.tenant_id AND k.consumer = r.consumer AND k.source = r.source AND k.event_id = r.event_id)`},
	{"P7 the journal has no gap", `SELECT count(*) FROM refunds r WHERE journal_seq <> (SELECT count(*) FROM journal j WHERE j.tenant_id = r.tenant_id AND j.rid = r.rid)
		OR journal_seq <> (SELECT max(seq) FROM journal j WHERE j.tenant_id = r.tenant_id AND j.rid = r.rid)`},
	{"P7 the state is that of the last journal row", `SELECT count(*) FROM refunds r JOIN journal j ON j.tenant_id = r.tenant_id AND j.rid = r.rid AND j.seq = r.journal_seq
		WHERE j.to_state <> r.state OR j.hash <> r.journal_head`},
	{"P7 every journal row begins in the state of the row before", `SELECT count(*) FROM journal j JOIN journal b ON b.tenant_id = j.tenant_id AND b.rid = j.rid AND b.seq = j.seq - 1
		WHERE j.from_state <> b.to_state`},
	{"P7 the hash chain is intact", `SELECT count(*) FROM (SELECT hash, sha256(coalesce(lag(hash) OVER w, decode(repeat('00', 32), 'hex')) || uuid_send(rid) || int4send(seq)
		|| int8send((extract(epoch FROM at - '2000-01-01 00:00:00+00'::timestamptz) * 1000000)::int8) || digest) AS want
		FROM journal WINDOW w AS (PARTITION BY tenant_id, rid ORDER BY seq)) x WHERE hash <> want`},
	{"P8 an exposed refund is in a state that may be exposed", `SELECT count(*) FROM refunds WHERE exposed AND state <> ALL (CASE WHEN case_id IS NULL THEN ` +
		exposable(false) + ` ELSE ` + exposable(true) + ` END)`},
	{"P9 one posting per movement", `SELECT count(*) FROM effects e WHERE status = 'MOVED' AND (SELECT count(*) FROM postings p WHERE p.tenant_id = e.tenant_id AND p.effect_id = e.effect_id) <> 1`},
	{"P9 postings sum to zero", `SELECT count(*) FROM (SELECT 1 FROM ledger_entries GROUP BY tenant_id, effect_id, kind, currency HAVING sum(amount) <> 0) x`},
	{"P10 no call before its attempt", `SELECT count(*) FROM attempts WHERE answered_at < started_at`},
}

// exposable is an array in SQL of the states in which a refund may be exposed.
func exposable(caseOpen bool) string {
	var names []string
	for _, s := range refund.StatesThat(func(s refund.State) bool { return s.MayBeExposed(caseOpen) }) {
		names = append(names, "'"+string(s)+"'")
	}
	return "ARRAY[" + strings.Join(names, ",") + "]"
}

// CheckPromises fails the test for every promise that is violated in the database.
func (d *DB) CheckPromises(ctx context.Context) {
	d.t.Helper()
	for _, p := range promises {
		if n := d.Int(ctx, p.broken); n != 0 {
			d.t.Errorf("%d violations: %s", n, p.name)
		}
	}
}
