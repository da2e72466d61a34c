package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund/audit"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

func TestVerifyFindsNothingInASoundDatabase(t *testing.T) {
	t.Parallel()
	r := newVerifyFixture(t).verify(t)
	wantBroken(t, r, "", "")
	if len(r.Promises) != len(audit.Promises()) || r.Refunds != 13 || r.Rows < 20 {
		t.Errorf("%d promises, %d refunds, %d rows", len(r.Promises), r.Refunds, r.Rows)
	}
}

const (
	somebody  = `'00000000-0000-7000-8000-00000000dead'::uuid`
	cid       = `(SELECT actor_id FROM actors WHERE name = 'cid')`
	newCase   = `INSERT INTO cases (tenant_id, case_id, rid, payment_id, reasons, evidence) SELECT tenant_id, gen_random_uuid(), rid, payment_id, '{late}', '{}' FROM refunds WHERE refund_id = `
	secondOf  = `INSERT INTO attempts SELECT tenant_id, rid, no + 1, epoch, dispatch_no, kind, generation, contract_version, request_digest, started_at, not_after FROM attempts WHERE rid = `
	strangers = `UPDATE effects SET rid = $first, dispatch_no = 1, payment_id = 'pay_two' WHERE rid = $success; UPDATE payments SET refunded = 0 WHERE payment_id = 'pay_success_0';
		UPDATE payments SET refunded = 100 WHERE payment_id = 'pay_two'`
	moreMoney = `UPDATE payments p SET refunded = refunded + 100 FROM refunds r WHERE r.payment_id = p.payment_id AND r.refund_id = `
)

var plants = []planted{
	{"P1", "effects-per-refund", `INSERT INTO effects SELECT tenant_id, gen_random_uuid(), account, payment_id, rid, dispatch_no, 'ch_twice', amount, currency, counted, status, source FROM effects WHERE rid = $success;
		INSERT INTO postings SELECT tenant_id, (SELECT effect_id FROM effects WHERE channel_refund_id = 'ch_twice'), kind, debit, credit, amount, currency FROM postings
			WHERE effect_id = (SELECT effect_id FROM effects WHERE channel_refund_id = 'ch_success'); ` + moreMoney + `'success_0'`, nil},
	{"P1", "effects-per-refund", `UPDATE effects SET at = at + interval '1 hour' WHERE rid = $doubled AND channel_refund_id = 'ch_doubled_again'`, nil},
	{"P1", "dispatch-number", `UPDATE dispatches SET number = 'R1AAAAAAAAAAAAAAAAAAAA' WHERE rid = $pending`, nil},
	{"P1", "repeat-without-proof", ``, again(2)},
	{"P2", "blind-repeat", ``, again(3)},

	{"P3", "reserved", `UPDATE payments SET reserved = reserved + 1 WHERE payment_id = 'pay_pending_0'`, nil},
	{"P3", "refunded", `UPDATE payments SET refunded = refunded + 1 WHERE payment_id = 'pay_success_0'`, nil},
	{"P3", "held", `UPDATE payments SET held = held + 1 WHERE payment_id = 'pay_success_0'`, nil},
	{"P3", "covered-line", lineOf("$success", "rid, '{}'"), nil},
	{"P8", "line-answer", lineOf("$pending", "NULL, ARRAY[rid]") + `; UPDATE payments SET held = 100, excess = greatest(0, reserved + refunded
		+ refunded_elsewhere + 100 - captured) WHERE payment_id = 'pay_pending_0'`, nil},
	{"P3", "excess", `ALTER TABLE payments DROP CONSTRAINT payments_excess_exact_ck; UPDATE payments SET excess = 5 WHERE payment_id = 'pay_success_0'`, nil},
	{"P3", "excess-case", `UPDATE payments SET captured = 60, excess = 40 WHERE payment_id = 'pay_pending_0'`, nil},
	{"P3", "captured", `DELETE FROM captures`, nil},
	{"P3", "payment-chain", `UPDATE refunds SET prev_rid = NULL WHERE refund_id = 'second'`, nil},
	{"P3", "refund-count", `UPDATE payments SET refunds = 5 WHERE payment_id = 'pay_two'`, nil},

	{"P4", "timer", `ALTER TABLE refunds DROP CONSTRAINT refunds_timer_ck; UPDATE refunds SET next_action_at = NULL WHERE rid = $pending`, nil},
	{"P4", "overdue", `UPDATE refunds SET next_action_at = now() - interval '200 hours' WHERE rid = $pending`, nil},
	{"P4", "timer-far", `UPDATE refunds SET next_action_at = now() + interval '9 days' WHERE rid = $unknown`, nil},
	{"P4", "lease-long", `UPDATE refunds SET lease_ends_at = now() + interval '2 minutes' WHERE rid = $processing`, nil},
	{"P4", "case-of-refund", `UPDATE cases SET closed_at = now(), closed_how = 'x' WHERE rid = $late`, nil},
	{"P4", "case-without-flag", newCase + `'pending_0'`, nil},
	{"P4", "cases-per-refund", `DROP INDEX cases_one_open_uq; ` + newCase + `'late_0'`, nil},
	{"P4", "case-without-reason", `ALTER TABLE cases DROP CONSTRAINT cases_reasons_ck; UPDATE cases SET reasons = '{}'`, nil},

	{"P5", "receipt-of-nothing", `INSERT INTO receipts (tenant_id, consumer, source, event_id, type, digest, params, outcome, rid, code)
		SELECT tenant_id, consumer, source, 'other', type, digest, params, 'CONFLICT', ` + somebody + `, 'x' FROM receipts WHERE rid = $pending`, nil},
	{"P5", "refund-without-receipt", `DELETE FROM receipts WHERE rid = $pending`, nil},
	{"P5", "refund-without-key", `DELETE FROM refund_keys WHERE rid = $pending`, nil},
	{"P5", "key-without-refund", `INSERT INTO refund_keys SELECT tenant_id, 'other', ` + somebody + ` FROM refund_keys WHERE rid = $pending`, nil},

	{"P6", "event-twice", `INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome, code)
		SELECT tenant_id, consumer, source, event_id, month - interval '7 years', type, digest, params, 'REFUSED', 'x' FROM receipts WHERE rid = $pending`, nil},
	{"P6", "receipt-digest", `UPDATE receipts SET digest = '\x01'::bytea || sha256('x') WHERE rid = $pending`, nil},
	{"P6", "receipt-other-refund", `UPDATE receipts SET params = '{"refundId":"other"}' WHERE rid = $pending`, nil},
	{"P6", "refund-digest", `UPDATE refunds SET digest = '\x01'::bytea || sha256('x') WHERE rid = $pending`, nil},

	{"P7", "journal-gap", `DELETE FROM journal WHERE rid = $late AND seq = 3`, nil},
	{"P7", "journal-digest", `UPDATE journal SET data = replace(data, '100', '900') WHERE rid = $pending`, nil},
	{"P7", "journal-chain", `UPDATE journal SET hash = sha256('x') WHERE rid = $late AND seq = 3`, nil},
	{"P7", "journal-state", `UPDATE journal SET to_state = 'CANCELED' WHERE rid = $late AND seq = 3`, nil},
	{"P7", "journal-transition", `UPDATE journal SET from_state = 'CANCELED' WHERE rid = $late AND seq = 3`, nil},
	{"P7", "journal-position", `UPDATE journal SET pos = pos + 1000000 WHERE rid = $late AND seq = 3`, nil},
	{"P7", "journal-generation", `UPDATE journal SET generation = 9 WHERE rid = $late AND seq = 3`, nil},
	{"P7", "journal-head-seq", `UPDATE refunds SET journal_seq = journal_seq + 1 WHERE rid = $late`, nil},
	{"P7", "journal-head-hash", `UPDATE refunds SET journal_head = sha256('x') WHERE rid = $late`, nil},
	{"P7", "state-fold", `UPDATE refunds SET state = 'UNKNOWN' WHERE rid = $accepted`, nil},
	{"P7", "generation-fold", `UPDATE refunds SET generation = 1 WHERE rid = $pending`, nil},
	{"P7", "journal-head-seq", ``, tailAdded},
	{"P7", "journal-birth", ``, rebuiltRefund},
	{"P7", "journal-orphan", `INSERT INTO journal (tenant_id, rid, seq, kind, to_state, generation, source, actor, at, data, digest, hash)
		SELECT tenant_id, ` + somebody + `, 1, kind, to_state, generation, source, actor, at, data, digest, sha256('x') FROM journal WHERE rid = $pending`, nil},
	{"P7", "journal-head-seq", `DELETE FROM journal WHERE rid = $pending`, nil},

	{"P8", "dispatch-gap", `UPDATE dispatches SET no = 2 WHERE rid = $pending`, numberOf("pending_0", 2)},
	{"P8", "not-retired", `DELETE FROM retired_dispatches WHERE rid = $renumbered`, nil},
	{"P8", "live-dispatch", `UPDATE refunds SET dispatch_no = 2 WHERE rid = $pending`, nil},
	{"P8", "exposed-flag", `UPDATE dispatches SET exposed = true WHERE rid = $success`, nil},
	{"P8", "closed-while-exposed", `ALTER TABLE refunds DROP CONSTRAINT refunds_exposed_ck; UPDATE refunds SET exposed = true WHERE rid = $pending; UPDATE dispatches SET exposed = true WHERE rid = $pending`, nil},
	{"P8", "clear-without-proof", `ALTER TABLE refunds DROP CONSTRAINT refunds_exposed_ck; UPDATE refunds SET exposed = false WHERE rid = $unknown; UPDATE dispatches SET exposed = false WHERE rid = $unknown`, nil},
	{"P8", "effect-without-dispatch", `UPDATE effects SET dispatch_no = 9 WHERE rid = $success`, nil},
	{"P8", "effect-of-other-payment", `UPDATE effects SET account = 'other' WHERE rid = $success`, nil},
	{"P8", "success-unbooked", `DELETE FROM postings WHERE effect_id IN (SELECT effect_id FROM effects WHERE rid = $success); DELETE FROM effects WHERE rid = $success;
		UPDATE payments SET refunded = 0 WHERE payment_id = 'pay_success_0'`, nil},
	{"P8", "state-without-effect", strangers, nil},
	{"P8", "effect-unreported", strangers, nil},
	{"P8", "line-event-of-nothing", `INSERT INTO effect_events (tenant_id, effect_id, n, to_status, actor, source, data)
		SELECT tenant_id, ` + somebody + `, 1, 'HELD', 'system:worker', 'list', '{}' FROM refunds WHERE rid = $pending`, nil},
	{"P8", "notice-of-nothing", `INSERT INTO notices (account, digest, tenant_id, rid, headers, body) SELECT account, sha256('x'), tenant_id, ` + somebody + `, '{}', '' FROM refunds WHERE rid = $pending`, nil},
	{"P8", "case-of-nothing", `INSERT INTO cases (tenant_id, case_id, rid, reasons, evidence, closed_at, closed_how) SELECT tenant_id, gen_random_uuid(), ` +
		somebody + `, '{}', '{}', now(), 'x' FROM refunds WHERE rid = $pending`, nil},
	{"P8", "decision-unproven", `ALTER TABLE decisions DROP CONSTRAINT decisions_applied_ck; INSERT INTO decisions (tenant_id, decision_id, case_id, action, evidence, maker, expires_at, applied_at)
		SELECT tenant_id, gen_random_uuid(), case_id, 'accept-as-is', 'because of it', 1, now(), now() FROM cases WHERE rid = $late`, nil},

	{"P8", "decision-missing", `DELETE FROM decisions WHERE case_id IN (SELECT case_id FROM cases WHERE rid = $decided)`, nil},
	{"P8", "decision-differs", `UPDATE decisions SET maker = ` + cid + ` WHERE case_id IN (SELECT case_id FROM cases WHERE rid = $decided)`, nil},
	{"P8", "decision-differs", `UPDATE decisions SET checker = ` + cid + ` WHERE case_id IN (SELECT case_id FROM cases WHERE rid = $decided)`, nil},
	{"P8", "decision-differs", `UPDATE actors SET name = 'carl' WHERE name = 'ann'`, nil},
	{"P8", "decision-differs", `UPDATE decisions SET applied_at = NULL WHERE case_id IN (SELECT case_id FROM cases WHERE rid = $decided)`, nil},
	{"P8", "decision-differs", `UPDATE decisions SET action = 'confirm-success' WHERE case_id IN (SELECT case_id FROM cases WHERE rid = $decided)`, nil},
	{"P8", "decision-by-disabled", `UPDATE actors SET disabled_at = now() - interval '1 day' WHERE name = 'ann'`, nil},
	{"P8", "decision-untold", `INSERT INTO decisions (tenant_id, decision_id, case_id, action, evidence, maker, expires_at, checker, checked_at, verdict, applied_at)
		SELECT tenant_id, gen_random_uuid(), case_id, 'accept-as-is', 'because of it', ` + cid +
		`, now(), (SELECT actor_id FROM actors WHERE name = 'bob'), now(), 'APPROVED', now() FROM cases WHERE rid = $late`, nil},
	{"P8", "case-missing", `DELETE FROM decisions WHERE case_id IN (SELECT case_id FROM cases WHERE rid = $decided); DELETE FROM cases WHERE rid = $decided`, nil},
	{"P8", "answer-differs", `UPDATE attempts SET answer = 'NOT_SENT' WHERE rid = $failed`, nil},
	{"P8", "answer-differs", `UPDATE attempts SET answer = NULL, answered_at = NULL WHERE rid = $unknown`, nil},

	{"P9", "posting-missing", `DELETE FROM postings WHERE effect_id IN (SELECT effect_id FROM effects WHERE rid = $success)`, nil},
	{"P9", "posting-amount", `UPDATE postings SET amount = 99 WHERE effect_id IN (SELECT effect_id FROM effects WHERE rid = $success)`, nil},
	{"P9", "posting-mirror", `UPDATE postings SET debit = credit, credit = debit WHERE kind = 'REVERSAL'`, nil},
	{"P9", "posting-accounts", `UPDATE postings SET debit = credit, credit = debit`, nil},
	{"P9", "posting-sum", `CREATE OR REPLACE VIEW ledger_entries AS SELECT tenant_id, effect_id, kind, debit AS account, currency, -amount AS amount, at FROM postings
		UNION ALL SELECT tenant_id, effect_id, kind, credit, currency, amount + 1, at FROM postings`, nil},
	{"P9", "ledger-account", `DELETE FROM ledger_accounts WHERE code LIKE 'refunds:%'`, nil},

	{"P10", "claim-in-state", `UPDATE journal SET from_state = 'SUCCESS' WHERE rid = $unknown AND seq = 2`, nil},
	{"P10", "attempt-gap", `UPDATE attempts SET no = 2 WHERE rid = $unknown`, nil},
	{"P10", "two-sends-one-claim", secondOf + `$unknown; UPDATE refunds SET attempt_no = 2 WHERE rid = $unknown`, nil},
	{"P10", "send-without-claim", `UPDATE attempts SET generation = 7 WHERE rid = $unknown`, nil},
	{"P10", "claim-without-attempt", `DELETE FROM attempts WHERE rid = $accepted; UPDATE refunds SET attempt_no = 0 WHERE rid = $accepted`, nil},
	{"P10", "attempt-count", `UPDATE refunds SET attempt_no = 2 WHERE rid = $unknown`, nil},
	{"P10", "processing-without-attempt", `UPDATE attempts SET kind = 'QUERY' WHERE rid = $processing`, nil},
	{"P10", "send-window", `UPDATE attempts SET not_after = started_at - interval '1 second' WHERE rid = $unknown`, nil},
	{"P10", "send-of-marked-number", `UPDATE dispatches SET marked_epoch = 1 WHERE rid = $unknown`, nil},
	{"P10", "send-after-key", `UPDATE dispatches SET key_expires_at = now() - interval '1 year' WHERE rid = $unknown`, nil},
	{"P10", "attempt-missing", `DELETE FROM attempts WHERE rid = $accepted; UPDATE refunds SET attempt_no = 0 WHERE rid = $accepted`, nil},
	{"P10", "contract-unknown", `DELETE FROM contracts WHERE version = 1`, nil},
	{"P10", "attempt-of-nothing", `UPDATE attempts SET dispatch_no = 9 WHERE rid = $unknown`, nil},
	{"P10", "answer-before-call", `UPDATE attempts SET answered_at = started_at - interval '1 second' WHERE rid = $unknown`, nil},
	{"P10", "attempt-of-later-epoch", `UPDATE attempts SET epoch = 9 WHERE rid = $unknown`, nil},

	{"P11", "reader-ahead", `INSERT INTO readers (name, cursor) VALUES ('sink', 1000000)`, nil},

	{"P12", "tenant-unknown", `INSERT INTO payments (tenant_id, payment_id, order_id, account, channel_reference, currency, exponent, known_by, captured)
		VALUES (99, 'p', 'o', 'demo', 'x', 'USD', 2, 'snapshot', 1)`, nil},
	{"P12", "payment-differs", `UPDATE payments SET order_id = 'other' WHERE payment_id = 'pay_pending_0'`, nil},
}

// One fixture serves all plants that are statements: each is verified inside its transaction, which is then rolled back.
func TestVerifyFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	v, err := verify.Open(t.Context(), verify.Config{URL: f.url, Overdue: 100 * time.Hour, Samples: 30, Page: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	conn, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for i, p := range plants {
		if p.do != nil {
			continue
		}
		t.Run(fmt.Sprintf("%s_%s_%d", p.promise, p.check, i), func(t *testing.T) {
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer pg.Undo(context.Background(), tx)
			if _, err := tx.Exec(t.Context(), planting(p.sql)); err != nil {
				t.Fatal(err)
			}
			r, err := v.Within(plantedTx{tx}).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wantFound(t, r, p.promise, p.check)
		})
	}
}

// Plants that take more than a statement have a fixture of their own.
func TestVerifyFindsWhatIsMade(t *testing.T) {
	t.Parallel()
	for i, p := range plants {
		if p.do == nil {
			continue
		}
		t.Run(fmt.Sprintf("%s_%s_%d", p.promise, p.check, i), func(t *testing.T) {
			t.Parallel()
			f := newVerifyFixture(t)
			f.plant(t, p.sql)
			p.do(t, f)
			wantFound(t, f.verify(t), p.promise, p.check)
		})
	}
}

// Every check of the list, and every finding of the fold, has its plant or its kind of damage.
func TestVerifyEveryCheckIsPlanted(t *testing.T) {
	t.Parallel()
	have := map[string]bool{"P8 decision-too-early": true} // TestVerifySeesADecisionBeforeTheHorizon
	for _, p := range plants {
		have[p.promise+" "+p.check] = true
	}
	for _, b := range bypasses {
		have["P10 "+b.check] = true
	}
	for _, s := range damageScripts(t) {
		have[s.what] = true
	}
	for _, name := range allFindings(t) {
		if !have[name] {
			t.Errorf("no plant for %s", name)
		}
	}
}

// allFindings lists what verify can find in a database, as "P7 journal-gap": the statements' checks, and what the source of the fold reports.
func allFindings(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, c := range verify.Checks() {
		out = append(out, c.Promise+" "+c.Name)
	}
	files, err := filepath.Glob("../refund/audit/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reportedFinding.FindAllStringSubmatch(string(raw), -1) {
			out = append(out, m[1]+" "+m[2])
		}
	}
	return out
}

var reportedFinding = regexp.MustCompile(`report\("(P\d+)", "([a-z-]+)"`)

func TestVerifyOneTenant(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.addTenant(t, "other")
	f.plant(t, `UPDATE payments SET reserved = reserved + 1 WHERE payment_id = 'pay_pending_0'; UPDATE journal SET data = '{}' WHERE rid = $pending`)
	if r := f.verify(t, func(c *verify.Config) { c.Tenant = "other" }); !r.OK || r.Refunds != 0 {
		t.Errorf("faults of another tenant are reported: %+v", r)
	}
	if r := f.verify(t, func(c *verify.Config) { c.Tenant, c.Samples = "demo", 1 }); r.OK || r.Promises[2].Violations != 1 || r.Promises[6].Violations < 2 ||
		len(r.Promises[6].Samples) != 1 {
		t.Errorf("the tenant's faults: %+v", r)
	}
	if _, err := verify.Open(t.Context(), verify.Config{URL: f.url, Tenant: "nobody"}); err == nil {
		t.Error("no error for a tenant that does not exist")
	}
}
