package migrate

import (
	"slices"
	"strings"
	"testing"
)

func TestSchemaDispatchesAndAttempts(t *testing.T) {
	t.Parallel()
	set := func(s string) string { return `UPDATE dispatches SET ` + s }
	processing := schemaReach("PROCESSING")
	with := func(more ...string) []string { return append(slices.Clone(processing), more...) }
	decided, override := append(schemaDecided(schemaReach("UNKNOWN"), "resend"), schemaApprove), set(`overridden_by = `+schemaD1)
	runSchemaCases(t, []schemaCase{
		refused("dispatches_append_only", "another number", set(`number = 'R1BBBBBBBBBBBBBBBBBBBB'`)),
		refused("dispatches_append_only", "delete", `DELETE FROM dispatches`),
		legal("overridden by an approved decision", override, append(slices.Clone(decided), schemaClear)...),
		refused("dispatches_override", "overridden by a proposal", override, append(schemaDecided(schemaReach("UNKNOWN"), "resend"), schemaClear)...),
		refused("dispatches_override", "overridden by a decision that overrides nothing", override, append(schemaDecided(schemaReach("UNKNOWN"), "wait"), schemaApprove, schemaClear)...),
		refused("dispatches_number_ck", "a number that is easy to guess", `INSERT INTO dispatches (tenant_id, rid, no, account, number) VALUES (1, `+schemaR1+
			`, 1, 'demo', 'short')`),
		refused("dispatches_no_ck", "ordinal 0", schemaDispatch(0, "R1BBBBBBBBBBBBBBBBBBBB")),
		twice("dispatches_number_uq", "a number that is in use", `INSERT INTO dispatches (tenant_id, rid, no, account, number) VALUES (1, `+schemaR2+
			`, 1, 'demo', 'R1AAAAAAAAAAAAAAAAAAAA')`),
		twice("dispatches_pk", "the same ordinal again", schemaDispatch(1, "R1BBBBBBBBBBBBBBBBBBBB")),
		orphan("dispatches_refund_fk", "of no refund", `INSERT INTO dispatches (tenant_id, rid, no, account, number) VALUES (1, `+schemaR2+
			`, 1, 'demo', 'R1BBBBBBBBBBBBBBBBBBBB')`),
		legal("the key's life is tightened", set(`key_expires_at = key_expires_at - interval '1 h'`), processing...),
		refused("dispatches_append_only", "the key's life grows", set(`key_expires_at = key_expires_at + interval '1 s'`), processing...),
		refused("dispatches_append_only", "the key's end is forgotten", set(`key_expires_at = NULL`), processing...),
		legal("absence counts later", set(`absence_counts_from = absence_counts_from + interval '5 s'`), processing...),
		refused("dispatches_append_only", "absence counts earlier", set(`absence_counts_from = absence_counts_from - interval '1 s'`), processing...),
		refused("dispatches_append_only", "when absence counts is forgotten", set(`absence_counts_from = NULL`), processing...),
		refused("dispatches_append_only", "one time moves well, the other is forgotten",
			set(`absence_counts_from = absence_counts_from + interval '5 s', key_expires_at = NULL`), processing...),
		refused("dispatches_append_only", "an acknowledgement is taken back", set(`acknowledged = false`), set(`acknowledged = true`)),
		legal("an id that belonged elsewhere takes its acknowledgement along", set(`acknowledged = false, channel_refund_id = NULL`),
			set(`acknowledged = true, channel_refund_id = 're_1'`)),
		refused("dispatches_override_ck", "decreed while exposed", set(`overridden_by = `+schemaD1), decided...),
		legal("decreed and no longer exposed", set(`overridden_by = `+schemaD1+`, exposed = false`), decided...),
		orphan("dispatches_override_fk", "decreed by nobody", set(`overridden_by = `+schemaD1)),

		orphan("attempts_dispatch_fk", "a call for no dispatch", schemaAttempt(1, 2)),
		twice("attempts_pk", "the same attempt again", schemaAttempt(1, 1), processing...),
		legal("an answer", schemaAnswer("UNKNOWN"), processing...),
		refused("attempts_append_only", "another answer", schemaAnswer("NOT_SENT"), with(schemaAnswer("UNKNOWN"))...),
		legal("an answer with its evidence", `UPDATE attempts SET answer = 'UNKNOWN', answered_at = now(), evidence = '{"a":"1"}'`, processing...),
		refused("attempts_append_only", "the evidence is erased", `UPDATE attempts SET evidence = NULL`, with(`UPDATE attempts SET evidence = '{"a":"1"}'`, schemaAnswer("UNKNOWN"))...),
		refused("attempts_append_only", "other evidence", `UPDATE attempts SET evidence = '{}'`, with(`UPDATE attempts SET evidence = '{"a":"1"}'`, schemaAnswer("UNKNOWN"))...),
		refused("attempts_append_only", "an answer becomes late", `UPDATE attempts SET late = NOT late`, with(schemaAnswer("UNKNOWN"))...),
		refused("attempts_append_only", "the same answer again", schemaAnswer("UNKNOWN"), with(schemaAnswer("UNKNOWN"))...),
		refused("attempts_append_only", "the answer is taken back", `UPDATE attempts SET answer = NULL, answered_at = NULL`, with(schemaAnswer("UNKNOWN"))...),
		refused("attempts_answer_ck", "an answer that is not known", schemaAnswer("MAYBE"), processing...),
		refused("attempts_answer_both_ck", "an answer without its time", `UPDATE attempts SET answer = 'UNKNOWN'`, processing...),
		refused("attempts_answer_both_ck", "a time without an answer", `UPDATE attempts SET answered_at = now()`, processing...),
		refused("attempts_kind_ck", "a fourth kind of call", `INSERT INTO attempts (tenant_id, rid, no, epoch, dispatch_no, kind, generation, contract_version, request_digest, not_after)
			VALUES (1, `+schemaR1+`, 1, 1, 1, 'PING', 1, 1, '', now())`),
		refused("attempts_append_only", "more time to send", `UPDATE attempts SET not_after = not_after + interval '1 h'`, processing...),
		refused("attempts_append_only", "another owner", `UPDATE attempts SET generation = 2`, processing...),
		refused("attempts_append_only", "delete", `DELETE FROM attempts`, processing...),
	})
}

// A further dispatch needs the retirement of the one before it, and a retirement needs a proof.
func TestSchemaRetirements(t *testing.T) {
	t.Parallel()
	claimed := schemaReach("PROCESSING")
	answered := func(answer string, more ...string) []string {
		return append(append(slices.Clone(claimed), schemaAnswer(answer)), more...)
	}
	second := schemaDispatch(2, "R1BBBBBBBBBBBBBBBBBBBB")
	proof := schemaRetirement(1, "1", "NULL", "NULL")
	decree := schemaRetirement(1, "NULL", schemaD1, "NULL")
	decided := func(action string, more ...string) []string {
		return append(schemaDecided(schemaReach("UNKNOWN"), action), more...)
	}
	otherRefund := []string{
		schemaRefund("PENDING", "rid="+schemaR2),
		`INSERT INTO cases (tenant_id, case_id, rid, reasons, evidence) VALUES (1, ` + schemaC2 + `, ` + schemaR2 + `, '{late}', '{}')`,
		`INSERT INTO decisions (tenant_id, decision_id, case_id, action, journal_seq, evidence, maker, expires_at) VALUES (1, ` + schemaD1 + `, ` + schemaC2 +
			`, 'resend', 1, 'ticket 12345', 1, now() + interval '1 day')`,
		schemaApprove, schemaClear,
	}
	cases := []schemaCase{
		orphan("dispatches_predecessor_retired_fk", "a second number beside a living one", second),
		legal("a second number after a proven death", second, answered("REFUSED_NEW_NUMBER", schemaClear, proof)...),
		orphan("dispatches_predecessor_retired_fk", "a third number after the death of the first", schemaDispatch(3, "R1BBBBBBBBBBBBBBBBBBBB"),
			answered("REFUSED", schemaClear, proof)...),
		refused("retired_dispatches_proof_ck", "no proof named", schemaRetirement(1, "NULL", "NULL", "NULL"),
			`DROP TRIGGER retired_dispatches_guard ON retired_dispatches`),
		refused("retired_dispatches_proof", "no proof named, by the guard", schemaRetirement(1, "NULL", "NULL", "NULL")),
		refused("retired_dispatches_proof", "an attempt that nobody answered", proof, append(slices.Clone(claimed), schemaClear)...),
		refused("retired_dispatches_proof", "a proof while it is exposed", proof, answered("NOT_FOUND")...),
		refused("retired_dispatches_proof", "an attempt that does not exist", schemaRetirement(1, "7", "NULL", "NULL"), answered("REFUSED", schemaClear)...),
		orphan("retired_dispatches_dispatch_fk", "of no dispatch", schemaRetirement(2, "1", "NULL", "NULL"), answered("REFUSED", schemaClear)...),
		refused("retired_dispatches_proof", "a proof of another dispatch", schemaRetirement(2, "1", "NULL", "NULL"),
			answered("REFUSED", schemaClear, proof, second)...),
		legal("an approved resend", decree, decided("resend", schemaApprove, schemaClear)...),
		refused("retired_dispatches_proof", "an approved resend while it is exposed", decree, decided("resend", schemaApprove)...),
		refused("retired_dispatches_proof", "a resend that nobody approved", decree, decided("resend", schemaClear)...),
		refused("retired_dispatches_proof", "another kind of decision", decree, decided("confirm-not-done", schemaApprove, schemaClear)...),
		refused("retired_dispatches_proof", "a resend of another refund", decree, otherRefund...),
		legal("an epoch's mark, still exposed", schemaRetirement(1, "NULL", "NULL", "2"), `UPDATE dispatches SET exposed = true, marked_epoch = 2`),
		refused("retired_dispatches_proof", "an epoch that never marked it", schemaRetirement(1, "NULL", "NULL", "2")),
		refused("retired_dispatches_proof", "another epoch than the one that marked it", schemaRetirement(1, "NULL", "NULL", "3"),
			`UPDATE dispatches SET exposed = true, marked_epoch = 2`),
		orphan("retired_dispatches_attempt_fk", "a mark that names an attempt that does not exist", schemaRetirement(1, "7", "NULL", "2"),
			`UPDATE dispatches SET marked_epoch = 2`),
		orphan("retired_dispatches_decision_fk", "a mark that names a decision that does not exist", schemaRetirement(1, "NULL", schemaD2, "2"),
			`UPDATE dispatches SET marked_epoch = 2`),
		twice("retired_dispatches_pk", "dead twice", proof, answered("REFUSED", schemaClear, proof)...),
		refused("retired_dispatches_append_only", "a death is taken back", `DELETE FROM retired_dispatches`, answered("REFUSED", schemaClear, proof)...),
		refused("retired_dispatches_append_only", "another reason", `UPDATE retired_dispatches SET rule = 'x'`, answered("REFUSED", schemaClear, proof)...),
	}
	for _, answer := range []string{"REFUSED", "REFUSED_NEW_NUMBER", "RETRYABLE", "NOT_SENT", "NOT_FOUND", "FAILED_FINAL"} {
		cases = append(cases, legal("proof "+answer, proof, answered(answer, schemaClear)...))
	}
	for _, answer := range []string{"SUCCEEDED", "ACKNOWLEDGED", "REFUSED_ECHO", "REVERSED", "UNKNOWN"} {
		cases = append(cases, refused("retired_dispatches_proof", "proof "+answer, proof, answered(answer, schemaClear)...))
	}
	runSchemaCases(t, cases)
}

// schemaEffect inserts an effect.
func schemaEffect(id, rid, no, channelID, status string) string {
	reversed := "NULL"
	if status == "REVERSED" {
		reversed = "now()"
	}
	return `INSERT INTO effects (tenant_id, effect_id, account, payment_id, rid, dispatch_no, channel_refund_id, amount, currency, counted, status, source, reversed_at)
		VALUES (1, ` + id + `, 'demo', 'p1', ` + rid + `, ` + no + `, ` + channelID + `, 1250, 'USD', 1250, '` + status + `', 'answer', ` + reversed + `)`
}

func TestSchemaEffectsAndLedger(t *testing.T) {
	t.Parallel()
	ours := schemaEffect(schemaE1, schemaR1, "1", "'re_1'", "MOVED")
	held := schemaEffect(schemaE1, "NULL", "NULL", "'re_1'", "HELD")
	foreign := schemaEffect(schemaE1, "NULL", "NULL", "'re_1'", "MOVED")
	pending := strings.Replace(strings.Replace(held, "reversed_at)", "reversed_at, pending)", 1), "'answer', NULL)", "'answer', NULL, true)", 1)
	set := func(s string) string { return `UPDATE effects SET ` + s }
	posting := func(kind, debit, amount string) string {
		return `INSERT INTO postings (tenant_id, effect_id, kind, debit, credit, amount, currency) VALUES (1, ` + schemaE1 + `, '` + kind + `', '` + debit +
			`', 'clearing', ` + amount + `, 'USD')`
	}
	refundPosting := posting("REFUND", "refunds", "1250")
	history := `INSERT INTO effect_events (tenant_id, effect_id, n, to_status, source, actor, data) VALUES (1, ` + schemaE1 +
		`, 1, 'HELD', 'list', 'system:recon', '{}')`
	runSchemaCases(t, []schemaCase{
		legal("ours", ours),
		legal("foreign", foreign),
		legal("a second effect of a dispatch under its own id", schemaEffect(schemaE2, schemaR1, "1", "'re_2'", "MOVED"), ours),
		twice("effects_channel_uq", "one channel refund booked twice", schemaEffect(schemaE2, "NULL", "NULL", "'re_1'", "MOVED"), ours),
		twice("effects_dispatch_uq", "one dispatch booked twice without ids", schemaEffect(schemaE2, schemaR1, "1", "NULL", "MOVED"),
			schemaEffect(schemaE1, schemaR1, "1", "NULL", "MOVED")),
		legal("a dropped line leaves its id free", schemaEffect(schemaE2, schemaR1, "1", "'re_1'", "MOVED"), held, set(`status = 'DROPPED'`)),
		twice("effects_pk", "the same effect again", schemaEffect(schemaE1, "NULL", "NULL", "'re_2'", "MOVED"), ours),
		legal("a voucher, also later", set(`voucher = '{"arn":"7"}'`), ours),
		refused("effects_voucher_ck", "a voucher that is no object", set(`voucher = '["arn"]'`), ours),
		refused("effects_voucher_ck", "a voucher that is JSON's null", set(`voucher = 'null'`), ours),
		refused("effects_voucher_ck", "a long voucher", set(`voucher = jsonb_build_object('arn', repeat('7', 4096))`), ours),
		refused("effects_owner_ck", "a refund without its dispatch", schemaEffect(schemaE1, schemaR1, "NULL", "'re_1'", "MOVED")),
		refused("effects_owner_ck", "a dispatch without its refund", schemaEffect(schemaE1, "NULL", "1", "'re_1'", "MOVED")),
		refused("effects_foreign_id_ck", "foreign without an id", schemaEffect(schemaE1, "NULL", "NULL", "NULL", "MOVED")),
		refused("effects_held_ck", "held and ours", schemaEffect(schemaE1, schemaR1, "1", "'re_1'", "HELD")),
		refused("effects_status_ck", "a status that does not exist", schemaEffect(schemaE1, schemaR1, "1", "'re_1'", "LOST")),
		orphan("effects_payment_fk", "of no payment", `INSERT INTO effects SELECT (jsonb_populate_record(e, '{"effect_id":"00000000-0000-7000-8000-0000000000e2","channel_refund_id":"re_2","payment_id":"p9"}')).* FROM effects e`, ours),
		legal("held, then attributed", set(`status = 'MOVED', rid = `+schemaR1+`, dispatch_no = 1`), held),
		legal("reversed", set(`status = 'REVERSED', reversed_at = now()`), ours),
		refused("effects_append_only", "reversed, then moved", set(`status = 'MOVED', reversed_at = NULL`), schemaEffect(schemaE1, schemaR1, "1", "'re_1'", "REVERSED")),
		refused("effects_append_only", "moved, then held", set(`status = 'HELD'`), foreign),
		refused("effects_append_only", "moved, then dropped", set(`status = 'DROPPED'`), foreign),
		refused("effects_append_only", "held, then reversed", set(`status = 'REVERSED', reversed_at = now()`), held),
		refused("effects_append_only", "dropped, then moved", set(`status = 'MOVED'`), held, set(`status = 'DROPPED'`)),
		refused("effects_reversed_ck", "reversed without a time", set(`status = 'REVERSED'`), ours),
		refused("effects_reversed_ck", "a time without being reversed", set(`reversed_at = now()`), ours),
		refused("effects_append_only", "another amount", set(`amount = 1`), ours),
		refused("effects_append_only", "of another refund", set(`rid = `+schemaR2), ours),
		refused("effects_append_only", "another id than the channel gave", set(`channel_refund_id = 're_9'`), ours,
			`UPDATE dispatches SET channel_refund_id = 're_1', acknowledged = true`),
		legal("the channel's id instead of a line's", set(`channel_refund_id = 're_9'`), ours),
		legal("its id is taken from it", set(`channel_refund_id = NULL`), ours),
		refused("effects_append_only", "another weight", set(`counted = 1`), ours),
		refused("effects_append_only", "delete", `DELETE FROM effects`, ours),
		legal("held, and covered by an open refund", set(`covered_by = `+schemaR1), held),
		refused("effects_covered_ck", "adopted, and covered", set(`covered_by = `+schemaR1), foreign),
		orphan("effects_covered_fk", "covered by no refund", set(`covered_by = `+schemaE1), held),
		refused("effects_pending_ck", "adopted before its money moved", set(`status = 'MOVED'`), pending),
		refused("effects_append_only", "its money has not moved any more", set(`pending = true`), held),
		refused("effects_append_only", "another time of the channel", set(`told_at = now()`), held),
		legal("an answer about a line", set(`not_of = not_of || `+schemaR1+`::uuid`), held),
		refused("effects_append_only", "an answer is taken back", set(`not_of = '{}'`), held, set(`not_of = ARRAY[`+schemaR1+`::uuid]`)),
		legal("a person names a line", set(`source = 'person', rid = `+schemaR1+`, dispatch_no = 1, status = 'MOVED'`), held),
		refused("effects_append_only", "another source", set(`source = 'notice'`), held),
		refused("effects_append_only", "a person has booked what the channel told", set(`source = 'person'`), ours),
		refused("effects_amount_ck", "nothing moved", `INSERT INTO effects SELECT (jsonb_populate_record(e, '{"effect_id":"00000000-0000-7000-8000-0000000000e2","channel_refund_id":"re_2","amount":0}')).* FROM effects e`, ours),
		refused("effects_counted_ck", "weighs nothing", `INSERT INTO effects SELECT (jsonb_populate_record(e, '{"effect_id":"00000000-0000-7000-8000-0000000000e2","channel_refund_id":"re_2","counted":0}')).* FROM effects e`, ours),
		legal("history", history, held),
		orphan("effect_events_effect_fk", "history of no effect", history),
		refused("effect_events_append_only", "another history", `UPDATE effect_events SET data = ''`, held, history),

		legal("posting and mirror", posting("REVERSAL", "refunds", "1250"), ours, refundPosting),
		twice("postings_pk", "posted twice", refundPosting, ours, refundPosting),
		orphan("postings_effect_fk", "posted without an effect", refundPosting),
		refused("postings_amount_ck", "a negative posting", posting("REFUND", "refunds", "-1"), ours),
		refused("postings_accounts_ck", "from an account to itself", posting("REFUND", "clearing", "1"), ours),
		refused("postings_kind_ck", "a third kind", posting("FEE", "refunds", "1"), ours),
		refused("postings_append_only", "another amount in the ledger", `UPDATE postings SET amount = 1`, ours, refundPosting),
		refused("postings_append_only", "delete from the ledger", `DELETE FROM postings`, ours, refundPosting),
		refused("postings_append_only", "empty the ledger", `TRUNCATE postings`),
	})
}

func TestSchemaJournal(t *testing.T) {
	t.Parallel()
	const known = schemaHash
	runSchemaCases(t, []schemaCase{
		legal("the next row", schemaJournal(2, "'PENDING'", "PROCESSING", known)),
		twice("journal_pk", "the same place again", schemaJournal(1, "NULL", "PENDING", "NULL")),
		twice("journal_fact_uq", "a known fact", schemaJournal(3, "'PENDING'", "PENDING", known), schemaJournal(2, "'PENDING'", "PENDING", known)),
		twice("journal_pos_uq", "a position twice", `INSERT INTO journal SELECT (jsonb_populate_record(j, '{"seq":2,"from_state":"PENDING"}')).* FROM journal j`),
		legal("a reading without identity may repeat", schemaJournal(3, "'PENDING'", "PENDING", "NULL"), schemaJournal(2, "'PENDING'", "PENDING", "NULL")),
		refused("journal_seq_ck", "place 0", schemaJournal(0, "'PENDING'", "PENDING", "NULL")),
		refused("journal_birth_ck", "a birth in the middle", schemaJournal(2, "NULL", "PENDING", "NULL")),
		refused("journal_birth_ck", "a first row that comes from somewhere",
			`INSERT INTO journal SELECT (jsonb_populate_record(j, '{"rid":"00000000-0000-7000-8000-0000000000a2","pos":99,"from_state":"PENDING"}')).* FROM journal j`),
		refused("journal_fact_key_ck", "a short fact key", schemaJournal(2, "'PENDING'", "PENDING", `'\x00'`)),
		refused("journal_digest_ck", "a short digest", `INSERT INTO journal SELECT (jsonb_populate_record(j, '{"seq":2,"pos":99,"from_state":"PENDING","digest":"\\x00"}')).* FROM journal j`),
		refused("journal_hash_ck", "a short hash", `INSERT INTO journal SELECT (jsonb_populate_record(j, '{"seq":2,"pos":99,"from_state":"PENDING","hash":"\\x00"}')).* FROM journal j`),
		refused("journal_append_only", "another fact", `UPDATE journal SET data = '{"a":1}'`),
		refused("journal_append_only", "another time", `UPDATE journal SET at = now()`),
		refused("journal_append_only", "another link", `UPDATE journal SET hash = sha256('y')`),
		refused("journal_append_only", "delete", `DELETE FROM journal`),
		refused("journal_append_only", "delete where nothing is", `DELETE FROM journal WHERE false`),
		refused("journal_append_only", "truncate", `TRUNCATE journal`),
		legal("erase what is personal", `UPDATE journal SET private = NULL`),
		refused("journal_anchors_append_only", "move an anchor", `UPDATE journal_anchors SET rows = 0`),
	})
}
