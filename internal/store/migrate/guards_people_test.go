package migrate

import (
	"slices"
	"strings"
	"testing"
)

const (
	schemaCase1   = `INSERT INTO cases (tenant_id, case_id, rid, reasons, evidence) VALUES (1, ` + schemaC1 + `, ` + schemaR1 + `, '{deadline}', '{}')`
	schemaApprove = `UPDATE decisions SET verdict = 'APPROVED', checker = 2, checked_at = now() WHERE decision_id = ` + schemaD1
)

// schemaPropose inserts a decision of actor 1 for case 1 on the refund's present journal.
func schemaPropose(id, action string) string {
	return `INSERT INTO decisions (tenant_id, decision_id, case_id, action, journal_seq, evidence, maker, expires_at)
		SELECT 1, ` + id + `, ` + schemaC1 + `, '` + action + `', journal_seq, 'ticket 12345', 1, now() + interval '1 day' FROM refunds WHERE rid = ` + schemaR1
}

// schemaDecided adds a case and a proposal for it to a setup.
func schemaDecided(setup []string, action string) []string {
	return append(slices.Clone(setup), schemaCase1, schemaPropose(schemaD1, action))
}

func TestSchemaCases(t *testing.T) {
	t.Parallel()
	open := func(id, rid, payment, reasons string) string {
		return `INSERT INTO cases (tenant_id, case_id, rid, payment_id, reasons, evidence) VALUES (1, ` + id + `, ` + rid + `, ` + payment + `, ` + reasons +
			`, '{}')`
	}
	const closeIt = `UPDATE cases SET closed_at = now(), closed_how = 'fact', reasons = '{}'`
	runSchemaCases(t, []schemaCase{
		legal("a refund's and its payment's at once", open(schemaC2, "NULL", "'p1'", "'{excess}'"), schemaCase1),
		twice("cases_one_open_uq", "two open ones of a refund", open(schemaC2, schemaR1, "NULL", "'{late}'"), schemaCase1),
		twice("cases_one_open_payment_uq", "two open ones of a payment", open(schemaC2, "NULL", "'p1'", "'{held}'"), open(schemaC1, "NULL", "'p1'", "'{excess}'")),
		legal("the next one after closing", open(schemaC2, schemaR1, "NULL", "'{late}'"), schemaCase1, closeIt),
		refused("cases_subject_ck", "about nothing", open(schemaC1, "NULL", "NULL", "'{late}'")),
		refused("cases_reasons_ck", "open without a reason", open(schemaC1, schemaR1, "NULL", "'{}'")),
		refused("cases_reasons_ck", "a reason that is null", open(schemaC1, schemaR1, "NULL", "'{NULL}'")),
		refused("cases_reasons_ck", "the last reason goes, the case stays open", `UPDATE cases SET reasons = '{}'`, schemaCase1),
		refused("cases_closed_ck", "closed without a how", `UPDATE cases SET closed_at = now()`, schemaCase1),
		refused("cases_closed_ck", "a how without being closed", `UPDATE cases SET closed_how = 'fact'`, schemaCase1),
		refused("cases_append_only", "opened again", `UPDATE cases SET closed_at = NULL, closed_how = NULL, reasons = '{late}'`, schemaCase1, closeIt),
		refused("cases_append_only", "about another refund", `UPDATE cases SET rid = `+schemaR2, schemaCase1),
		refused("cases_append_only", "delete", `DELETE FROM cases`, schemaCase1),
	})
}

func TestSchemaDecisions(t *testing.T) {
	t.Parallel()
	proposed := schemaDecided(nil, "confirm-success")
	with := func(more ...string) []string { return append(slices.Clone(proposed), more...) }
	set := func(s string) string { return `UPDATE decisions SET ` + s }
	verdict := func(v, checker string) string {
		return set(`verdict = '` + v + `', checked_at = now(), checker = ` + checker)
	}
	born := func(extraCols, extraVals string) string {
		return `INSERT INTO decisions (tenant_id, decision_id, case_id, action, journal_seq, evidence, maker, expires_at` + extraCols + `)
			VALUES (1, ` + schemaD1 + `, ` + schemaC1 + `, 'resend', 1, 'ticket 12345', 1, now()` + extraVals + `)`
	}
	paymentCase := []string{
		`INSERT INTO cases (tenant_id, case_id, payment_id, reasons, evidence) VALUES (1, ` + schemaC1 + `, 'p1', '{excess}', '{}')`,
		`UPDATE payments SET refunded = 10000, excess = 1250`,
		`INSERT INTO decisions (tenant_id, decision_id, case_id, action, excess, evidence, maker, expires_at) VALUES (1, ` + schemaD1 + `, ` + schemaC1 +
			`, 'accept-as-is', 1250, 'ticket 12345', 1, now() + interval '1 day')`,
	}
	runSchemaCases(t, []schemaCase{
		legal("approved by another actor", schemaApprove, proposed...),
		refused("decisions_four_eyes_ck", "approved by its maker", verdict("APPROVED", "1"), proposed...),
		refused("decisions_four_eyes_ck", "rejected by its maker", verdict("REJECTED", "1"), proposed...),
		refused("decisions_verdict_both_ck", "approved by nobody", verdict("APPROVED", "NULL"), proposed...),
		refused("decisions_verdict_both_ck", "approved at no time", set(`verdict = 'APPROVED', checker = 2`), proposed...),
		refused("decisions_verdict_both_ck", "checked without a verdict", set(`checked_at = now()`), proposed...),
		refused("decisions_verdict_both_ck", "approved after it expired", set(`verdict = 'APPROVED', checker = 2, checked_at = expires_at + interval '1 s'`),
			proposed...),
		legal("expired by itself", verdict("EXPIRED", "NULL"), proposed...),
		refused("decisions_verdict_ck", "a verdict that does not exist", verdict("MAYBE", "2"), proposed...),
		orphan("decisions_checker_fk", "approved by somebody unknown", verdict("APPROVED", "9"), proposed...),
		refused("decisions_fresh", "approved after a later fact", schemaApprove, with(schemaMove(`pending_reason = 'spacing'`))...),
		legal("rejected after a later fact", verdict("REJECTED", "2"), with(schemaMove(`pending_reason = 'spacing'`))...),
		legal("a payment's excess as it was", schemaApprove, paymentCase...),
		refused("decisions_fresh", "a payment's excess has grown", schemaApprove,
			append(slices.Clone(paymentCase), `UPDATE payments SET refunded = 10001, excess = 1251`)...),
		refused("decisions_append_only", "a second verdict", verdict("REJECTED", "2"), with(schemaApprove)...),
		refused("decisions_append_only", "a verdict is taken back", set(`verdict = NULL, checked_at = NULL, checker = NULL`), with(schemaApprove)...),
		refused("decisions_append_only", "a rejected one is approved", schemaApprove, with(verdict("REJECTED", "2"))...),
		legal("an approved one becomes void", set(`verdict = 'VOID'`), with(schemaApprove)...),
		refused("decisions_append_only", "an applied one becomes void", set(`verdict = 'VOID'`), with(schemaApprove, set(`applied_at = now()`))...),
		legal("applied", set(`applied_at = now()`), with(schemaApprove)...),
		refused("decisions_applied_ck", "applied without a verdict", set(`applied_at = now()`), proposed...),
		refused("decisions_applied_ck", "applied though rejected", set(`applied_at = now()`), with(verdict("REJECTED", "2"))...),
		refused("decisions_append_only", "applied again", set(`applied_at = NULL`), with(schemaApprove, set(`applied_at = now()`))...),
		refused("decisions_append_only", "another action", set(`action = 'wait'`), proposed...),
		refused("decisions_append_only", "another journal", set(`journal_seq = 9`), proposed...),
		refused("decisions_append_only", "delete", `DELETE FROM decisions`, proposed...),
		refused("decisions_birth", "born approved", born(`, verdict, checker, checked_at`, `, 'APPROVED', 2, now()`), schemaCase1),
		refused("decisions_birth", "born applied", born(`, applied_at`, `, now()`), schemaCase1),
		orphan("decisions_maker_fk", "made by somebody unknown", `INSERT INTO decisions (tenant_id, decision_id, case_id, action, evidence, maker, expires_at) VALUES (1, `+schemaD1+`, `+schemaC1+`, 'wait', 'ticket 12345', 9, now())`, schemaCase1),
		orphan("decisions_case_fk", "for no case", born("", "")),
		refused("decisions_open", "for a closed case", born("", ""), schemaCase1, `UPDATE cases SET reasons = '{}', closed_at = now(), closed_how = 'fact'`),
		refused("decisions_open", "on a journal that is not there yet", strings.Replace(born("", ""), "'resend', 1,", "'resend', 99,", 1), schemaCase1),
		refused("decisions_evidence_ck", "evidence of blanks", `INSERT INTO decisions (tenant_id, decision_id, case_id, action, evidence, maker, expires_at) VALUES (1, `+schemaD1+`, `+schemaC1+`, 'wait', '          ', 1, now())`, schemaCase1),
		refused("decisions_action_ck", "an action that does not exist", schemaPropose(schemaD1, "SHRUG"), schemaCase1),
		twice("decisions_one_pending_uq", "two proposals", schemaPropose(schemaD2, "wait"), proposed...),
		twice("decisions_one_approved_uq", "two approved ones wait",
			`UPDATE decisions SET verdict = 'APPROVED', checker = 2, checked_at = now() WHERE decision_id = `+schemaD2,
			with(schemaApprove, schemaPropose(schemaD2, "resend"))...),
	})
}

func TestSchemaReceiptsAndConflicts(t *testing.T) {
	t.Parallel()
	receipt := func(event, outcome, rid, code string) string {
		return `INSERT INTO receipts (tenant_id, consumer, source, event_id, type, digest, params, outcome, rid, code)
			VALUES (1, 'rest', 'rest', ` + event + `, 'refund.requested', ` + schema33 + `, '{}', '` + outcome + `', ` + rid + `, ` + code + `)`
	}
	accepted := receipt("'e1'", "TAKEN", schemaR1, "NULL")
	refusedOne := receipt("'e1'", "REFUSED", "NULL", "'currency-mismatch'")
	thirdMillennium := `INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome)
		VALUES (1, 'rest', 'rest', 'e1', '2999-12-01', 'payment.captured', ` + schema33 + `, '{}', 'TAKEN')`
	conflict := func(event string) string {
		return `INSERT INTO conflicts (tenant_id, conflict_id, kind, consumer, source, event_id, got_digest, got, fields) VALUES (1, gen_random_uuid(), 'EVENT_PARAMS', 'rest', 'rest', ` + event + `, ` + schemaHash + `, '{}', '{amount}')`
	}
	runSchemaCases(t, []schemaCase{
		legal("accepted", accepted),
		// the name is that of the partition's key: only the SQLSTATE is the same everywhere
		twice("receipts_default_pk", "the same event again", thirdMillennium, thirdMillennium),
		refused("receipts_rid_ck", "accepted without a refund", receipt("'e1'", "TAKEN", "NULL", "NULL")),
		refused("receipts_rid_ck", "replayed without a refund", receipt("'e1'", "REPLAYED", "NULL", "NULL")),
		refused("receipts_code_ck", "refused without a code", receipt("'e1'", "REFUSED", "NULL", "NULL")),
		refused("receipts_code_ck", "conflict without a code", receipt("'e1'", "CONFLICT", schemaR1, "NULL")),
		refused("receipts_outcome_ck", "an outcome that binds nothing", receipt("'e1'", "WAITING", "NULL", "'payment-unknown'")),
		refused("receipts_event_ck", "an event without an id", receipt("''", "ACCEPTED", schemaR1, "NULL")),
		refused("receipts_event_ck", "an event with a book for an id", receipt("repeat('a', 1021)", "ACCEPTED", schemaR1, "NULL")),
		refused("receipts_digest_ck", "a digest without its version",
			`INSERT INTO receipts (tenant_id, consumer, source, event_id, type, digest, params, outcome) VALUES (1, 'rest', 'rest', 'e1', 't', `+schemaHash+
				`, '{}', 'TAKEN')`),
		refused("receipts_append_only", "an accepted one is bound again", `UPDATE receipts SET outcome = 'REFUSED', code = 'x'`, accepted),
		refused("receipts_append_only", "a conflict is bound again", `UPDATE receipts SET outcome = 'TAKEN', rid = `+schemaR1,
			receipt("'e1'", "CONFLICT", schemaR1, "'idempotency-key-reused'")),
		legal("a refused one is bound by a redrive", `UPDATE receipts SET outcome = 'TAKEN', code = NULL, rid = `+schemaR1, refusedOne),
		refused("receipts_append_only", "a bound one after a redrive", `UPDATE receipts SET rid = `+schemaR2, refusedOne,
			`UPDATE receipts SET outcome = 'TAKEN', code = NULL, rid = `+schemaR1),
		refused("receipts_append_only", "other parameters at a redrive", `UPDATE receipts SET digest = '\x02'::bytea || sha256('x')`, refusedOne),
		refused("receipts_append_only", "another event id", `UPDATE receipts SET event_id = 'e2'`, refusedOne),
		refused("receipts_append_only", "delete", `DELETE FROM receipts`, accepted),
		legal("conflict", conflict("'e1'")),
		twice("conflicts_same_uq", "the same conflict as a second row", conflict("'e1'"), conflict("'e1'")),
		twice("conflicts_same_uq", "the same conflict without an event", conflict("NULL"), conflict("NULL")),
		refused("conflicts_append_only", "delete the evidence", `DELETE FROM conflicts`, conflict("'e1'")),
		refused("conflicts_kind_ck", "a kind that does not exist",
			`INSERT INTO conflicts (tenant_id, conflict_id, kind, consumer, got_digest, got, fields) VALUES (1, gen_random_uuid(), 'X', 'rest', '', '{}', '{}')`),
	})
}

func TestSchemaWhoAndWhere(t *testing.T) {
	t.Parallel()
	key := func(prefix, actor, hash, scopes string) string {
		return `INSERT INTO api_keys (prefix, tenant_id, actor_id, secret_hash, scopes) VALUES ('` + prefix + `', 1, ` + actor + `, ` + hash + `, ` + scopes + `)`
	}
	contract := `INSERT INTO contracts (account, version, contract, digest) VALUES ('demo', 1, '{}', sha256('{}'))`
	notice := `INSERT INTO notices (account, digest, headers, body) VALUES ('demo', ` + schemaHash + `, '{}', '')`
	parked := `INSERT INTO parked (tenant_id, parked_id, consumer, position, headers, body, reason, tries) VALUES (0, gen_random_uuid(), 'orders', 'q/1', '{}', '', 'malformed-json', 1)`
	runSchemaCases(t, []schemaCase{
		twice("installation_pk", "a second installation", `INSERT INTO installation (installation_id, system_identifier, timeline) VALUES (gen_random_uuid(), '1', 1)`),
		refused("installation_one_ck", "a second installation beside the first",
			`INSERT INTO installation (one, installation_id, system_identifier, timeline) VALUES (false, gen_random_uuid(), '1', 1)`),
		refused("installation_append_only", "another identity", `UPDATE installation SET installation_id = gen_random_uuid()`),
		refused("installation_append_only", "an earlier epoch", `UPDATE installation SET epoch = 0`),
		refused("installation_append_only", "delete", `DELETE FROM installation`),
		legal("the next epoch", `UPDATE installation SET epoch = 2, timeline = timeline + 1`),
		legal("no agreement yet", `UPDATE installation SET (database_oid, table_oid, agreed_at) = (NULL, NULL, NULL)`),
		refused("installation_agreed_ck", "an agreement to no database", `UPDATE installation SET database_oid = NULL, agreed_at = now()`),
		refused("installation_agreed_ck", "an agreement without its time", `UPDATE installation SET agreed_at = NULL`),
		refused("installation_held_ck", "a reason while sending is not held", `UPDATE installation SET held_because = 'operator'`),
		legal("sending is held", `UPDATE installation SET sending_held_since = now(), held_because = 'operator'`),
		refused("tenants_append_only", "delete a tenant", `DELETE FROM tenants`),
		refused("tenants_code_ck", "a code in upper case", `INSERT INTO tenants (code) VALUES ('Demo')`),
		refused("tenants_mode_ck", "a third mode", `INSERT INTO tenants (code, mode) VALUES ('x', 'maybe')`),
		twice("tenants_code_uq", "the same code", `INSERT INTO tenants (code) VALUES ('demo')`),
		twice("actors_name_uq", "the same name", `INSERT INTO actors (tenant_id, actor_id, name, kind) VALUES (1, 3, 'ann', 'person')`),
		refused("actors_kind_ck", "neither person nor system", `INSERT INTO actors (tenant_id, name, kind) VALUES (1, 'x', 'cat')`),
		orphan("actors_tenant_fk", "of no tenant", `INSERT INTO actors (tenant_id, name, kind) VALUES (9, 'x', 'person')`),
		legal("a key", key("abcd1234", "1", schemaHash, "'{refunds:write}'")),
		legal("every scope", key("abcd1234", "1", schemaHash,
			"'{refunds:write,refunds:read,payments:write,evidence:read,cases:decide,cases:approve,parked:operate,admin,metrics:read}'")),
		refused("api_keys_scopes_ck", "a key for nothing", key("abcd1234", "1", schemaHash, "'{}'")),
		refused("api_keys_scopes_ck", "a scope that is null", key("abcd1234", "1", schemaHash, "'{NULL}'")),
		refused("api_keys_scopes_ck", "a scope that does not exist", key("abcd1234", "1", schemaHash, "'{root}'")),
		refused("api_keys_hash_ck", "a secret that is not hashed", key("abcd1234", "1", "'secret'", "'{admin}'")),
		refused("api_keys_prefix_ck", "a short prefix", key("abc", "1", schemaHash, "'{admin}'")),
		orphan("api_keys_actor_fk", "of no actor", key("abcd1234", "9", schemaHash, "'{admin}'")),
		refused("contracts_append_only", "a contract is rewritten", `UPDATE contracts SET contract = '[]'`, contract),
		refused("contracts_version_ck", "version 0", `INSERT INTO contracts (account, version, contract, digest) VALUES ('demo', 0, '{}', sha256('{}'))`),
		twice("contracts_pk", "the same version", contract, contract),
		refused("contracts_digest_ck", "the digest of another contract", `INSERT INTO contracts (account, version, contract, digest) VALUES ('demo', 1, '{}', `+schemaHash+`)`),
		refused("notices_append_only", "delete a notice", `DELETE FROM notices`, notice),
		refused("notices_append_only", "other bytes of a notice", `UPDATE notices SET body = 'x'`, notice),
		refused("notices_append_only", "another content of a notice", `UPDATE notices SET fact = '{"status":"SUCCEEDED"}'`, notice),
		legal("a notice is matched", `UPDATE notices SET tenant_id = 1, rid = `+schemaR1, notice),
		refused("notices_append_only", "a notice is matched to another refund", `UPDATE notices SET rid = `+schemaR2, notice, `UPDATE notices SET tenant_id = 1, rid = `+schemaR1),
		legal("a notice comes again", `UPDATE notices SET times_seen = times_seen + 1`, notice),
		refused("notices_append_only", "fewer receptions", `UPDATE notices SET times_seen = 0`, notice),
		orphan("contracts_account_fk", "a contract of no account", `INSERT INTO contracts (account, version, contract, digest) VALUES ('x', 1, '{}', sha256('{}'))`),
		orphan("account_tenants_account_fk", "no such account", `INSERT INTO account_tenants VALUES ('x', 1)`),
		orphan("account_tenants_tenant_fk", "no such tenant", `INSERT INTO account_tenants VALUES ('demo', 9)`),
		twice("notices_pk", "a notice again", notice, notice),
		legal("an unread notice ends", `UPDATE notices SET ended_at = now(), ended_as = 'dismissed'`, notice),
		refused("notices_ended_ck", "an end without its kind", `UPDATE notices SET ended_at = now()`, notice),
		refused("notices_ended_ck", "an end without its time", `UPDATE notices SET ended_as = 'read'`, notice),
		refused("notices_ended_as_ck", "an end that is not known", `UPDATE notices SET ended_at = now(), ended_as = 'lost'`, notice),
		refused("notices_append_only", "another end", `UPDATE notices SET ended_as = 'read'`, notice, `UPDATE notices SET ended_at = now(), ended_as = 'dismissed'`),
		refused("notices_append_only", "another reason why it is unread", `UPDATE notices SET unread = 'x'`, notice),
		refused("notices_digest_ck", "a short notice key", `INSERT INTO notices (account, digest, headers, body) VALUES ('demo', '', '{}', '')`),
		twice("parked_position_uq", "one place parked twice", parked, parked),
	})
}
