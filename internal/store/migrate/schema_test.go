package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/devdb/dbtest"
)

// The suite of legal and illegal statements against the migrated schema. Every case starts from the same small world, runs its setup,
// then the statement under test, and rolls back. The world: tenant 1 with actors 1 and 2, payment p1 (100.00 USD captured), and refund
// r1 of 12.50 in PENDING with dispatch 1.

// schemaCase is one statement in one situation. Code "" means that it must pass.
type schemaCase struct {
	name             string
	setup            []string
	stmt             string
	code, constraint string
}

func legal(name, stmt string, setup ...string) schemaCase {
	return schemaCase{name: name, stmt: stmt, setup: setup}
}

// refused by a CHECK or a guard that looks like one.
func refused(constraint, name, stmt string, setup ...string) schemaCase {
	return schemaCase{name: name, stmt: stmt, setup: setup, code: "23514", constraint: constraint}
}

func twice(constraint, name, stmt string, setup ...string) schemaCase {
	return schemaCase{name: name, stmt: stmt, setup: setup, code: "23505", constraint: constraint}
}

func orphan(constraint, name, stmt string, setup ...string) schemaCase {
	return schemaCase{name: name, stmt: stmt, setup: setup, code: "23503", constraint: constraint}
}

const (
	schemaR1   = `'00000000-0000-7000-8000-0000000000a1'`
	schemaR2   = `'00000000-0000-7000-8000-0000000000a2'`
	schemaC1   = `'00000000-0000-7000-8000-0000000000c1'`
	schemaC2   = `'00000000-0000-7000-8000-0000000000c2'`
	schemaD1   = `'00000000-0000-7000-8000-0000000000d1'`
	schemaD2   = `'00000000-0000-7000-8000-0000000000d2'`
	schemaE1   = `'00000000-0000-7000-8000-0000000000e1'`
	schemaE2   = `'00000000-0000-7000-8000-0000000000e2'`
	schemaHash = `sha256('x')`
	schema33   = `'\x01'::bytea || sha256('x')`
)

var schemaWorld = []string{
	`INSERT INTO tenants (tenant_id, code) VALUES (1, 'demo')`,
	`INSERT INTO actors (tenant_id, actor_id, name, kind) VALUES (1, 1, 'ann', 'person'), (1, 2, 'bob', 'person')`,
	`INSERT INTO accounts (account, adapter) VALUES ('demo', 'plain')`,
	`INSERT INTO payments (tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by, captured, reserved)
		VALUES (1, 'p1', 'o1', 'demo', 'demo:p1', 'USD', 2, 'snapshot', 10000, 1250)`,
	schemaRefund("PENDING", ""),
	`INSERT INTO dispatches (tenant_id, rid, no, account, number) VALUES (1, ` + schemaR1 + `, 1, 'demo', 'R1AAAAAAAAAAAAAAAAAAAA')`,
	schemaJournal(1, "NULL", "PENDING", "NULL"),
}

// schemaRefund inserts r1; set overrides columns as "column=expression", several separated by "; ".
func schemaRefund(state, set string) string {
	cols := map[string]string{
		"tenant_id": "1", "rid": schemaR1, "refund_id": "'rf1'", "payment_id": "'p1'", "order_id": "'o1'", "account": "'demo'",
		"channel_reference": "'demo:p1'", "currency": "'USD'", "exponent": "2", "amount": "1250", "digest": schema33,
		"state": "'" + state + "'", "epoch": "1", "journal_seq": "1", "journal_head": schemaHash, "next_action_at": "now()",
	}
	if set != "" {
		for _, s := range strings.Split(set, "; ") {
			name, value, _ := strings.Cut(s, "=")
			cols[name] = value
		}
	}
	var names, values []string
	for name, value := range cols {
		names, values = append(names, name), append(values, value)
	}
	return fmt.Sprintf(`INSERT INTO refunds (%s) VALUES (%s)`, strings.Join(names, ", "), strings.Join(values, ", "))
}

func schemaJournal(seq int, from, to, factKey string) string {
	return fmt.Sprintf(`INSERT INTO journal (tenant_id, rid, seq, kind, from_state, to_state, generation, source, actor, fact_key, at, data, digest, hash)
		VALUES (1, %s, %d, 'k', %s, '%s', 0, 'rest', 'system:test', %s, now(), '{}', %s, %s)`, schemaR1, seq, from, to, factKey, schemaHash, schemaHash)
}

// schemaMove changes r1 with a journal step; set is added to the SET list.
func schemaMove(set string) string {
	return `UPDATE refunds SET journal_seq = journal_seq + 1, journal_head = sha256((journal_seq + 1)::text::bytea), updated_at = now(), ` + set +
		` WHERE rid = ` + schemaR1
}

// schemaEnter is the SET list of a correct change to state, nothing exposed at the end where that is possible.
func schemaEnter(state string) string {
	switch state {
	case "PENDING":
		return `state = 'PENDING', exposed = false, lease_ends_at = NULL, next_action_at = now(), final_at = NULL, pending_reason = 'queued'`
	case "PROCESSING":
		return `state = 'PROCESSING', exposed = true, generation = generation + 1, attempt_no = attempt_no + 1, lease_ends_at = now() + interval '10 s', next_action_at = now(), final_at = NULL, pending_reason = NULL, ask_no = NULL`
	case "ACCEPTED", "UNKNOWN":
		return `state = '` + state + `', exposed = true, lease_ends_at = NULL, next_action_at = now(), final_at = NULL, pending_reason = NULL, ask_no = NULL`
	case "SUCCESS", "FAILED", "CANCELED", "REVERSED":
		return `state = '` + state + `', exposed = false, lease_ends_at = NULL, next_action_at = NULL, final_at = now(), pending_reason = NULL, ask_no = NULL`
	}
	panic("schemaEnter does not say what a row is in " + state)
}

// schemaReach lists the setup that brings r1 to a state by legal steps.
func schemaReach(state string) []string {
	claim := []string{schemaMove(schemaEnter("PROCESSING")), schemaExpose, schemaAttempt(1, 1)}
	switch state {
	case "PENDING":
		return nil
	case "PROCESSING":
		return claim
	case "ACCEPTED", "UNKNOWN":
		return append(claim, schemaMove(schemaEnter(state)))
	case "REVERSED":
		return append(claim, schemaClear, schemaMove(schemaEnter("SUCCESS")), schemaMove(schemaEnter("REVERSED")))
	case "CANCELED":
		return []string{schemaMove(schemaEnter("CANCELED"))}
	case "SUCCESS", "FAILED":
		return append(claim, schemaClear, schemaMove(schemaEnter(state)))
	}
	panic("schemaReach knows no way to " + state)
}

const (
	schemaExpose = `UPDATE dispatches SET exposed = true, key_expires_at = now() + interval '1 day', absence_counts_from = now() + interval '5 s' WHERE no = 1`
	schemaClear  = `UPDATE dispatches SET exposed = false`
)

func schemaAttempt(no, dispatch int) string {
	return fmt.Sprintf(`INSERT INTO attempts (tenant_id, rid, no, epoch, dispatch_no, kind, generation, contract_version, request_digest, not_after)
		VALUES (1, %s, %d, 1, %d, 'SEND', 1, 1, %s, now() + interval '3 s')`, schemaR1, no, dispatch, schemaHash)
}

func schemaAnswer(answer string) string {
	return `UPDATE attempts SET answer = '` + answer + `', answered_at = now(), rule = 'r' WHERE no = 1`
}

func schemaRetirement(no int, attempt, decision, epoch string) string {
	return fmt.Sprintf(`INSERT INTO retired_dispatches (tenant_id, rid, no, proof_attempt, decision_id, epoch, rule) VALUES (1, %s, %d, %s, %s, %s, 'r')`,
		schemaR1, no, attempt, decision, epoch)
}

func schemaDispatch(no int, number string) string {
	return fmt.Sprintf(`INSERT INTO dispatches (tenant_id, rid, no, account, number) VALUES (1, %s, %d, 'demo', '%s')`, schemaR1, no, number)
}

// schemaPool gives a database with the schema and the world.
func schemaPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	url := dbtest.Template(t, "schema-world", func(url string) error {
		ctx := context.Background()
		if _, err := Up(ctx, Config{URL: url, Schema: "cell_a"}); err != nil {
			return err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `SET search_path = cell_a; `+strings.Join(schemaWorld, "; "))
		return errors.Join(err, conn.Close(ctx))
	})
	return migrateTestPool(t, url, "cell_a")
}

// runSchemaCases runs each case in a transaction of its own and takes it back.
func runSchemaCases(t *testing.T, cases []schemaCase) {
	t.Helper()
	pool := schemaPool(t)
	seen := map[string]bool{}
	for _, c := range cases {
		name := c.constraint + ": " + c.name
		if seen[name] {
			t.Errorf("case %q is there twice", name)
		}
		seen[name] = true
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.setup {
			if _, err = tx.Exec(t.Context(), s); err != nil {
				t.Errorf("%s: setup is refused: %v\n%s", name, err, s)
				break
			}
		}
		if err == nil {
			_, err = tx.Exec(t.Context(), c.stmt)
			wantRefusal(t, name, err, c.code, c.constraint)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// wantRefusal compares an error with the SQLSTATE and constraint name that it must carry; code "" wants none.
func wantRefusal(t *testing.T, name string, err error, code, constraint string) {
	t.Helper()
	var pe *pgconn.PgError
	switch {
	case code == "" && err != nil:
		t.Errorf("%s: must pass, got %v", name, err)
	case code == "":
	case !errors.As(err, &pe):
		t.Errorf("%s: must be refused with %s %s, got %v", name, code, constraint, err)
	case pe.Code != code || pe.ConstraintName != constraint:
		t.Errorf("%s: want %s %s, got %s %s: %s", name, code, constraint, pe.Code, pe.ConstraintName, pe.Message)
	}
}

// ourRelations leaves out what goose and River brought.
const ourRelations = `n.nspname = 'cell_a' AND c.relname NOT LIKE 'river\_%' AND c.relname NOT LIKE 'schema_version%'`

func schemaNames(t *testing.T, pool *pgxpool.Pool, query string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestSchemaEveryColumnSaysWhoWritesIt(t *testing.T) {
	t.Parallel()
	pool := schemaPool(t)
	for _, name := range schemaNames(t, pool, `SELECT c.relname || coalesce('.' || a.attname, '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relkind IN ('r', 'p', 'v') AND `+ourRelations+`
		AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)`) {
		t.Errorf("%s has no comment", name)
	}
	for _, name := range schemaNames(t, pool, `SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE n.nspname = 'cell_a' AND p.proname NOT LIKE 'river\_%' AND obj_description(p.oid, 'pg_proc') IS NULL`) {
		t.Errorf("function %s has no comment", name)
	}
}

// A name that PostgreSQL made up is <table>_<columns>_<kind>; ours end in _pk, _uq, _ck, _fk. NOT NULL, a constraint of its own from
// PostgreSQL 18 on, is never named by us.
func TestSchemaEveryConstraintIsNamed(t *testing.T) {
	t.Parallel()
	pool := schemaPool(t)
	for _, name := range schemaNames(t, pool, `SELECT c.relname || ': ' || o.conname FROM pg_constraint o
		JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE o.contype <> 'n' AND `+ourRelations+` AND o.conname !~ ('_' || CASE o.contype WHEN 'p' THEN 'pk' WHEN 'u' THEN 'uq' WHEN 'c' THEN 'ck' WHEN 'f' THEN 'fk' END || '$')
		UNION ALL SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'i' AND NOT EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid) AND `+ourRelations+` AND c.relname !~ '_(pk|uq|ix)$'`) {
		t.Errorf("%s is not named by us", name)
	}
}

// A CHECK passes when it evaluates to NULL. Every one is evaluated with each nullable column that it reads set to null; those that may
// come out as NULL are listed here with the reason that this is right.
func TestSchemaChecksReadingNullsAreKnown(t *testing.T) {
	t.Parallel()
	pool := schemaPool(t)
	want := []string{
		"attempts_answer_both_ck", "attempts_answer_ck", // no answer yet
		"cases_closed_ck", "cases_reasons_ck", "cases_subject_ck", // IS NULL tests only
		"decisions_applied_ck", "decisions_four_eyes_ck", "decisions_verdict_both_ck", // IS NULL, IS DISTINCT, or guarded by IS NULL
		"decisions_verdict_ck",                                                                                                                // no verdict yet
		"retired_dispatches_proof_ck",                                                                                                         // counts nulls
		"dispatches_override_ck", "effects_foreign_id_ck", "effects_covered_ck", "effects_held_ck", "effects_owner_ck", "effects_reversed_ck", // IS NULL tests
		"effects_voucher_ck",                             // none
		"installation_agreed_ck", "installation_held_ck", // IS NULL tests only
		"journal_birth_ck", "journal_fact_key_ck", // IS NULL; a reading without identity
		"notices_ended_as_ck", "notices_ended_ck", // not ended yet; IS NULL tests only
		"receipts_code_ck", "receipts_rid_ck", // IS NULL tests
		"refunds_exposed_ck", "refunds_final_ck", "refunds_final_lease_ck", "refunds_lease_ck", "refunds_pending_ck", "refunds_timer_ck", // IS NULL tests
	}
	got := schemaNames(t, pool, `SELECT o.conname FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (o.conkey)
		WHERE o.contype = 'c' AND NOT a.attnotnull AND `+ourRelations+` GROUP BY 1 ORDER BY o.conname COLLATE "C"`)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("checks that read a nullable column:\n got %v\nwant %v\na new one needs a look at what null makes of it, and illegal cases", got, want)
	}
}
