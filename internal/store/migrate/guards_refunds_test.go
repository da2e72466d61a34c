package migrate

import (
	"slices"
	"testing"
)

func TestSchemaPayments(t *testing.T) {
	t.Parallel()
	set := func(s string) string { return `UPDATE payments SET ` + s }
	insert := func(values string) string {
		return `INSERT INTO payments (tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by, captured) VALUES (1, ` + values + `)`
	}
	byCaptures := insert(`'p2', 'o1', 'demo', 'x', 'USD', 2, 'captures', 500`)
	capture := func(payment string) string {
		return `INSERT INTO captures (tenant_id, payment_id, capture_id, amount) VALUES (1, '` + payment + `', 'c1', 500)`
	}
	runSchemaCases(t, []schemaCase{
		legal("reserve up to the last unit", set(`reserved = 10000`)),
		refused("payments_excess_exact_ck", "reserve one unit more", set(`reserved = 10001`)),
		refused("payments_excess_exact_ck", "the four counters together", set(`reserved = 4000, refunded = 3000, refunded_elsewhere = 2000, held = 1001`)),
		refused("payments_excess_exact_ck", "captured falls below", set(`captured = 1249`)),
		legal("a fact exceeds, and excess says so", set(`refunded = 10000, excess = 1250`)),
		refused("payments_excess_exact_ck", "excess to make room for a reservation", set(`excess = 5000`)),
		refused("payments_excess_exact_ck", "excess one too small", set(`refunded = 10000, excess = 1249`)),
		refused("payments_excess_exact_ck", "excess one too large", set(`refunded = 10000, excess = 1251`)),
		refused("payments_excess_exact_ck", "excess kept after the reservation went", set(`reserved = 0, refunded = 10000, excess = 1250`)),
		// the exact excess is checked first and implies the limit; without it the limit stands alone
		refused("payments_not_over_refunded_ck", "over the limit, without the other check", set(`reserved = 10001`),
			`ALTER TABLE payments DROP CONSTRAINT payments_excess_exact_ck`),
		refused("payments_reserved_ck", "negative reservation", set(`reserved = -1`)),
		refused("payments_refunded_ck", "negative refunded", set(`refunded = -1`)),
		refused("payments_elsewhere_ck", "negative refunded elsewhere", set(`refunded_elsewhere = -1`)),
		refused("payments_held_ck", "negative held", set(`held = -1`)),
		refused("payments_excess_accepted_ck", "negative acknowledgement", set(`excess_accepted = -1`)),
		refused("payments_excess_ck", "negative excess, without the other check", set(`excess = -1`),
			`ALTER TABLE payments DROP CONSTRAINT payments_excess_exact_ck`),
		refused("payments_append_only", "another currency", set(`currency = 'EUR'`)),
		refused("payments_append_only", "the other way of being known", set(`known_by = 'captures'`)),
		refused("payments_append_only", "another reference", set(`channel_reference = 'y'`)),
		refused("payments_append_only", "an older snapshot", set(`version = 1`), set(`version = 2`)),
		legal("a newer snapshot", set(`version = 3`), set(`version = 2`)),
		refused("payments_append_only", "delete", `DELETE FROM payments`),
		refused("payments_append_only", "truncate with all that hangs on it", `TRUNCATE payments CASCADE`),
		legal("another payment", byCaptures),
		twice("payments_pk", "the same payment again", insert(`'p1', 'o1', 'demo', 'x', 'USD', 2, 'snapshot', 500`)),
		twice("payments_reference_uq", "the same channel reference", insert(`'p2', 'o1', 'demo', 'demo:p1', 'USD', 2, 'snapshot', 500`)),
		refused("payments_id_ck", "an id with a space", insert(`'p 2', 'o1', 'demo', 'x', 'USD', 2, 'snapshot', 500`)),
		refused("payments_id_ck", "an id that ends in a line break", insert(`E'p2\n', 'o1', 'demo', 'x', 'USD', 2, 'snapshot', 500`)),
		refused("payments_order_ck", "an order id that is empty", insert(`'p2', '', 'demo', 'x', 'USD', 2, 'snapshot', 500`)),
		refused("payments_currency_ck", "a lower-case currency", insert(`'p2', 'o1', 'demo', 'x', 'usd', 2, 'snapshot', 500`)),
		refused("payments_exponent_ck", "five decimals", insert(`'p2', 'o1', 'demo', 'x', 'USD', 5, 'snapshot', 500`)),
		refused("payments_captured_ck", "nothing captured", insert(`'p2', 'o1', 'demo', 'x', 'USD', 2, 'snapshot', 0`)),
		refused("payments_captured_ck", "more than 2^53-1", insert(`'p2', 'o1', 'demo', 'x', 'USD', 2, 'snapshot', 9007199254740992`)),
		refused("payments_known_by_ck", "a third way of being known", insert(`'p2', 'o1', 'demo', 'x', 'USD', 2, 'guess', 500`)),
		legal("capture", capture("p2"), byCaptures),
		refused("captures_kind", "capture of a snapshot payment", capture("p1")),
		orphan("captures_payment_fk", "capture of no payment", capture("p9")),
		refused("captures_amount_ck", "capture of nothing", `INSERT INTO captures (tenant_id, payment_id, capture_id, amount) VALUES (1, 'p2', 'c1', 0)`, byCaptures),
		twice("captures_pk", "the same capture again", capture("p2"), byCaptures, capture("p2")),
		refused("captures_append_only", "change a capture", `UPDATE captures SET amount = 1`, byCaptures, capture("p2")),
		refused("captures_append_only", "delete a capture", `DELETE FROM captures`, byCaptures, capture("p2")),
	})
}

func TestSchemaRefundBirthAndIdentity(t *testing.T) {
	t.Parallel()
	born := func(state, set string) string { return schemaRefund(state, "rid="+schemaR2+set) }
	key := func(rid string) string {
		return `INSERT INTO refund_keys (tenant_id, refund_id, rid) VALUES (1, 'rf1', ` + rid + `)`
	}
	runSchemaCases(t, []schemaCase{
		legal("born waiting", born("PENDING", "")),
		legal("born claimed", born("PROCESSING", "; exposed=true; generation=1; attempt_no=1; lease_ends_at=now()")),
		legal("born under an epoch's mark", born("UNKNOWN", "; exposed=true")),
		refused("refunds_birth", "born paid", born("SUCCESS", "; final_at=now(); next_action_at=NULL")),
		refused("refunds_birth", "born failed", born("FAILED", "; final_at=now(); next_action_at=NULL")),
		refused("refunds_birth", "born accepted", born("ACCEPTED", "; exposed=true")),
		refused("refunds_birth", "born with a history of claims", born("PENDING", "; generation=2")),
		refused("refunds_amount_ck", "nothing to refund", born("PENDING", "; amount=0")),
		refused("refunds_amount_ck", "more than 2^53-1", born("PENDING", "; amount=9007199254740992")),
		refused("refunds_digest_ck", "a digest without its version", born("PENDING", "; digest="+schemaHash)),
		refused("refunds_journal_seq_ck", "no journal", born("PENDING", "; journal_seq=0")),
		refused("refunds_journal_head_ck", "a short head", born("PENDING", `; journal_head='\x00'`)),
		refused("refunds_timer_ck", "waiting without a timer", born("PENDING", "; next_action_at=NULL")),
		refused("refunds_lease_ck", "a lease that nobody claimed", born("PENDING", "; lease_ends_at=now()")),
		refused("refunds_exposed_ck", "waiting while exposed", born("PENDING", "; exposed=true")),
		refused("refunds_exposed_ck", "claimed but not exposed", born("PROCESSING", "; generation=1; lease_ends_at=now()")),
		orphan("refunds_payment_fk", "of no payment", born("PENDING", "; payment_id='p9'")),
		twice("refunds_pk", "the same rid", schemaRefund("PENDING", "")),
		legal("bind the refund id", key(schemaR1)),
		twice("refund_keys_pk", "the same refund id for another refund", key(schemaR2), key(schemaR1)),
		refused("refund_keys_append_only", "re-bind the refund id", `UPDATE refund_keys SET rid = `+schemaR2, key(schemaR1)),
		refused("refund_keys_append_only", "free the refund id", `DELETE FROM refund_keys`, key(schemaR1)),
		refused("refund_keys_append_only", "free all of them", `TRUNCATE refund_keys`),
		refused("refund_keys_id_ck", "an id of 65 characters", `INSERT INTO refund_keys VALUES (1, repeat('a', 65), `+schemaR2+`)`),
		refused("refunds_immutable", "another amount", schemaMove(`amount = 1`)),
		refused("refunds_immutable", "another payment", schemaMove(`payment_id = 'p2'`)),
		refused("refunds_immutable", "another account", schemaMove(`account = 'other'`)),
		refused("refunds_immutable", "another digest", schemaMove(`digest = '\x02'::bytea || sha256('x')`)),
		refused("refunds_immutable", "another refund id", schemaMove(`refund_id = 'rf2'`)),
		refused("refunds_immutable", "another place in the chain", schemaMove(`prev_rid = `+schemaR2)),
		legal("erase what is personal", `UPDATE refunds SET reason = NULL, metadata = NULL`),
		refused("refunds_append_only", "delete", `DELETE FROM refunds`),
	})
}

func TestSchemaRefundFence(t *testing.T) {
	t.Parallel()
	raw := func(set string) string { return `UPDATE refunds SET ` + set }
	unknown := schemaReach("UNKNOWN")
	runSchemaCases(t, []schemaCase{
		legal("claim", schemaMove(schemaEnter("PROCESSING"))),
		legal("claim a question, the state stays", schemaMove(`generation = generation + 1, attempt_no = attempt_no + 1, lease_ends_at = now() + interval '10 s'`), unknown...),
		legal("postpone without a journal row", raw(`next_action_at = now() + interval '1 h'`)),
		legal("a step of the journal, the state stays", schemaMove(`pending_reason = 'spacing'`)),
		legal("give a lease back", raw(`lease_ends_at = NULL`), append(slices.Clone(unknown),
			schemaMove(`generation = generation + 1, attempt_no = attempt_no + 1, lease_ends_at = now()`))...),
		refused("refunds_fence", "a generation jumps", schemaMove(`generation = generation + 2, attempt_no = attempt_no + 1, lease_ends_at = now()`)),
		refused("refunds_fence", "a generation falls", schemaMove(`generation = 0`), unknown...),
		refused("refunds_fence", "a claim without a lease", schemaMove(`generation = generation + 1, attempt_no = attempt_no + 1`)),
		refused("refunds_fence", "a claim without an attempt", schemaMove(`generation = generation + 1, lease_ends_at = now()`)),
		refused("refunds_fence", "an owner without a claim", schemaMove(`state = 'PROCESSING', exposed = true, lease_ends_at = now() + interval '1 h'`)),
		refused("refunds_fence", "an owner under the lease of a question", schemaMove(`state = 'PROCESSING', exposed = true`),
			schemaMove(`generation = 1, attempt_no = 1, lease_ends_at = now() + interval '10 s'`)),
		refused("refunds_fence", "a lease that begins without a claim", raw(`lease_ends_at = now() + interval '1 h'`), unknown...),
		refused("refunds_fence", "a lease that grows", raw(`lease_ends_at = lease_ends_at + interval '1 h'`), schemaReach("PROCESSING")...),
		refused("refunds_fence", "a gap in the journal", raw(`journal_seq = journal_seq + 2, journal_head = sha256('2')`)),
		refused("refunds_fence", "a journal that goes back", raw(`journal_seq = 1, journal_head = `+schemaHash), unknown...),
		refused("refunds_fence", "a state without a journal row", raw(schemaEnter("CANCELED"))),
		refused("refunds_fence", "another head at the same place", raw(`journal_head = sha256('y')`)),
		refused("refunds_fence", "an earlier epoch", schemaMove(`epoch = 0`)),
		refused("refunds_fence", "an earlier dispatch", schemaMove(`dispatch_no = 0`)),
		refused("refunds_fence", "attempts taken back", schemaMove(`attempt_no = 0`), unknown...),
		{name: "no state", stmt: schemaMove(`state = NULL`), code: "23502"},
		{name: "no generation", stmt: schemaMove(`generation = NULL`), code: "23502"},
		{name: "no exposure", stmt: schemaMove(`exposed = NULL`), code: "23502"},
		{name: "no journal place", stmt: `UPDATE refunds SET journal_seq = NULL`, code: "23502"},
		refused("refunds_transition", "a state that does not exist", schemaMove(`state = 'LOST'`)),
		refused("refunds_state_ck", "a birth in a state that does not exist",
			`INSERT INTO refunds SELECT (jsonb_populate_record(r, '{"rid":"00000000-0000-7000-8000-0000000000a2","state":"LOST"}')).* FROM refunds r`,
			`DROP TRIGGER refunds_birth ON refunds`),
	})
}

func TestSchemaRefundTimerExposureAndCase(t *testing.T) {
	t.Parallel()
	raw := func(set string) string { return `UPDATE refunds SET ` + set }
	unknown, failed, success := schemaReach("UNKNOWN"), schemaReach("FAILED"), schemaReach("SUCCESS")
	with := func(base []string, more ...string) []string { return append(slices.Clone(base), more...) }
	openCase := `INSERT INTO cases (tenant_id, case_id, rid, reasons, evidence) VALUES (1, ` + schemaC1 + `, ` + schemaR1 + `, '{late}', '{}')`
	closeCase := `UPDATE cases SET closed_at = now(), closed_how = 'fact'`
	flag := schemaMove(`case_id = ` + schemaC1 + `, next_action_at = now()`)
	ask, ended := schemaMove(`ask_no = 1`), `UPDATE dispatches SET final_negative_at = now()`
	runSchemaCases(t, []schemaCase{
		refused("refunds_timer_ck", "open without a timer", raw(`next_action_at = NULL`)),
		refused("refunds_timer_ck", "final with a timer", raw(`next_action_at = now()`), success...),
		legal("final with a case and a timer", flag, with(success, openCase)...),
		refused("refunds_timer_ck", "final with a case, no timer", schemaMove(`case_id = `+schemaC1), with(success, openCase)...),
		refused("refunds_final_ck", "final without a time", schemaMove(`state = 'CANCELED', next_action_at = NULL`)),
		refused("refunds_final_ck", "open with a time of ending", raw(`final_at = now()`)),
		refused("refunds_final_lease_ck", "final with a lease", schemaMove(`state = 'SUCCESS', exposed = false, next_action_at = NULL, final_at = now()`),
			with(schemaReach("PROCESSING"), schemaClear)...),
		refused("refunds_exposed_ck", "in doubt but not exposed", raw(`exposed = false`), unknown...),
		refused("refunds_exposed_ck", "accepted but not exposed", raw(`exposed = false`), schemaReach("ACCEPTED")...),
		refused("refunds_exposed_ck", "exposed again under a final state without a case", raw(`exposed = true, next_action_at = now()`), failed...),
		legal("exposed again under a final state with a case", raw(`exposed = true`), with(failed, openCase, flag)...),
		refused("refunds_entered_exposed", "fails while a dispatch is exposed", schemaMove(schemaEnter("FAILED")), unknown...),
		refused("refunds_entered_exposed", "waits again while a dispatch is exposed", schemaMove(schemaEnter("PENDING")), unknown...),
		refused("refunds_entered_exposed", "is canceled while a dispatch is exposed", schemaMove(schemaEnter("CANCELED")), `UPDATE dispatches SET exposed = true`),
		refused("refunds_entered_exposed", "fails while it says that it is exposed", schemaMove(`state = 'FAILED', final_at = now(), case_id = `+schemaC1),
			with(unknown, schemaClear, openCase)...),
		legal("fails once nothing is exposed", schemaMove(schemaEnter("FAILED")), with(unknown, schemaClear)...),
		refused("refunds_pending_ck", "a reason to wait outside PENDING", raw(`pending_reason = 'queued'`), unknown...),
		refused("refunds_pending_ck", "an open ask outside PENDING", raw(`ask_no = 1`), unknown...),
		orphan("refunds_case_fk", "a case that does not exist", flag),
		refused("refunds_case_open", "forget an open case", schemaMove(`case_id = NULL, next_action_at = NULL`), with(success, openCase, flag)...),
		legal("drop a closed case", schemaMove(`case_id = NULL, next_action_at = NULL`), with(success, openCase, flag, closeCase)...),
		refused("refunds_transition", "claimed under a case", schemaMove(schemaEnter("PROCESSING")), openCase, schemaMove(`case_id = `+schemaC1)),
		refused("refunds_transition", "claimed with an open ask", schemaMove(schemaEnter("PROCESSING")), ask),
		refused("refunds_transition", "canceled with an open ask", schemaMove(schemaEnter("CANCELED")), ask),
		legal("claimed once the ask is answered", schemaMove(schemaEnter("PROCESSING")), ask, ended, schemaMove(`ask_no = NULL`)),
		legal("the ask is answered", schemaMove(`ask_no = NULL`), ask, ended),
		refused("refunds_ask", "the ask is forgotten", schemaMove(`ask_no = NULL`), ask),
		refused("refunds_ask", "the ask is forgotten without a journal row", raw(`ask_no = NULL`), ask, ended),
		refused("refunds_ask", "the ask is about another number", schemaMove(`ask_no = 2`), ask),
	})
}

// A session whose search path leads to another cell must not have its changes judged by that cell's rows.
func TestSchemaGuardsRefuseAnotherCellsSearchPath(t *testing.T) {
	t.Parallel()
	pool := schemaPool(t)
	mustMigrate(t, Config{Pool: pool, Schema: "cell_b"})
	for _, stmt := range schemaDecided(nil, "wait") {
		if _, err := pool.Exec(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	for _, stmt := range []string{
		`UPDATE cell_a.decisions SET verdict = 'APPROVED', checker = 2, checked_at = now()`,
		`UPDATE cell_a.refunds SET next_action_at = now()`,
		`INSERT INTO cell_a.retired_dispatches (tenant_id, rid, no, epoch, rule) VALUES (1, ` + schemaR1 + `, 1, 1, 'r')`,
		`INSERT INTO cell_a.captures (tenant_id, payment_id, capture_id, amount) VALUES (1, 'p1', 'c1', 1)`,
	} {
		for _, path := range []string{"cell_b", "cell_b, cell_a"} {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), `SET LOCAL search_path = `+path); err != nil {
				t.Fatal(err)
			}
			_, err = tx.Exec(t.Context(), stmt)
			wantRefusal(t, path+": "+stmt, err, "55000", "")
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
