package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// check is a statement that finds violations of one promise. It gives (tenant_id, rid or null, subject or null, what). Each
// reads whole tables by joins that the planner can hash; what needs order or hashing by our own code is done page by page instead.
type check struct {
	promise, name string
	cheap         bool // answered from indexes of open rows: may run all the time
	sql           string
}

// Check is a check that is a statement. SQL has the parameters $1, the only tenant or null, and $2, the most violations that are shown.
type Check struct {
	Promise, Name, SQL string
}

// Checks lists the checks that are statements; the fold's come beside them.
func Checks() []Check {
	var out []Check
	for _, c := range checks(time.Minute) {
		out = append(out, Check{Promise: c.promise, Name: c.name, SQL: c.statement()})
	}
	return out
}

// statement completes the check's SQL with the refund's id and the number of all violations. $1 tenant or null, $2 limit.
func (c check) statement() string {
	return `SELECT x.tenant_id, coalesce(r.refund_id, 'rid:' || x.rid::text, ''), coalesce(x.subject, ''), x.what, count(*) OVER ()
		FROM (` + c.sql + `) AS x (tenant_id, rid, subject, what) LEFT JOIN refunds r ON r.tenant_id = x.tenant_id AND r.rid = x.rid
		WHERE $1::bigint IS NULL OR x.tenant_id = $1 LIMIT $2`
}

// checks lists the checks that are statements. overdue is how late a timer may be.
func checks(overdue time.Duration) []check {
	var out []check
	for _, part := range [][]check{balanceChecks, openChecks(overdue), intakeChecks, evidenceChecks, ledgerChecks, otherChecks,
		reportedChecks, lineChecks, receiptChecks} {
		out = append(out, part...)
	}
	return out
}

var balanceChecks = []check{
	{"P3", "reserved", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('reserved %s, open refunds add up to %s', p.reserved,
    coalesce(s.open, 0))
  FROM payments p LEFT JOIN (SELECT tenant_id, payment_id, sum(amount) AS open FROM refunds WHERE final_at IS NULL GROUP BY 1, 2) s USING (tenant_id,
    payment_id)
  WHERE p.reserved <> coalesce(s.open, 0)`},
	{"P3", "refunded", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('refunded %s, moved effects add up to %s', p.refunded,
    coalesce(s.moved, 0))
  FROM payments p LEFT JOIN (SELECT tenant_id, payment_id, sum(counted) AS moved FROM effects WHERE status = 'MOVED' GROUP BY 1, 2) s USING (tenant_id,
    payment_id)
  WHERE p.refunded <> coalesce(s.moved, 0)`},
	{"P3", "held", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('held %s, lines and exposed ends add up to %s', p.held,
    coalesce(l.held, 0) + coalesce(s.held, 0))
  FROM payments p
    LEFT JOIN (SELECT tenant_id, payment_id, sum(counted) AS held FROM effects WHERE status = 'HELD' AND covered_by IS NULL
      GROUP BY 1, 2) l USING (tenant_id, payment_id)
    LEFT JOIN (SELECT tenant_id, payment_id, sum(amount) AS held FROM refunds WHERE final_at IS NOT NULL AND exposed GROUP BY 1, 2) s USING (tenant_id,
    payment_id)
  WHERE p.held <> coalesce(l.held, 0) + coalesce(s.held, 0)`},
	{"P3", "covered-line", false, `SELECT e.tenant_id, e.covered_by, 'line ' || e.effect_id,
    'its cover has ended, has another payment, amount or currency, covers another line too, or is said not to own it'
  FROM effects e LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (e.tenant_id, e.covered_by)
  WHERE e.covered_by IS NOT NULL AND (r.rid IS NULL OR r.final_at IS NOT NULL OR (r.payment_id, r.amount, r.currency) <> (e.payment_id, e.amount, e.currency)
    OR EXISTS (SELECT FROM effects o WHERE o.tenant_id = e.tenant_id AND o.covered_by = e.covered_by AND o.effect_id <> e.effect_id)
    OR e.covered_by = ANY(e.not_of))`},
	{"P3", "excess", false, `SELECT tenant_id, NULL::uuid, 'payment ' || payment_id, format('excess %s of %s captured', excess, captured)
  FROM payments WHERE excess <> greatest(0, reserved + refunded + refunded_elsewhere + held - captured)`},
	{"P3", "excess-case", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('excess %s, acknowledged %s, no open case', p.excess,
    p.excess_accepted)
  FROM payments p WHERE p.excess > p.excess_accepted
    AND NOT EXISTS (SELECT FROM cases c WHERE (c.tenant_id, c.payment_id) = (p.tenant_id, p.payment_id) AND c.closed_at IS NULL)
    AND NOT EXISTS (SELECT FROM cases c JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid)
      WHERE (r.tenant_id, r.payment_id) = (p.tenant_id, p.payment_id) AND c.closed_at IS NULL)`},
	{"P3", "captured", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('captured %s, its captures add up to %s', p.captured,
    coalesce(s.captured, 0))
  FROM payments p LEFT JOIN (SELECT tenant_id, payment_id, sum(amount) AS captured FROM captures GROUP BY 1, 2) s USING (tenant_id, payment_id)
  WHERE (p.known_by = 'captures' AND p.captured <> coalesce(s.captured, 0)) OR (p.known_by <> 'captures' AND s.captured IS NOT NULL)`},
	{"P3", "payment-chain", false, `WITH RECURSIVE c (tenant_id, payment_id, rid) AS (
    SELECT tenant_id, payment_id, last_rid FROM payments WHERE last_rid IS NOT NULL
    UNION SELECT c.tenant_id, c.payment_id, r.prev_rid FROM c JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid) WHERE r.prev_rid IS NOT NULL)
  SELECT coalesce(r.tenant_id, c.tenant_id), coalesce(r.rid, c.rid), 'payment ' || coalesce(r.payment_id, c.payment_id),
    CASE WHEN r.rid IS NULL THEN 'the payment''s chain leads to no refund of it' ELSE 'the payment''s chain does not reach it' END
  FROM refunds r FULL JOIN c ON (c.tenant_id, c.rid, c.payment_id) = (r.tenant_id, r.rid, r.payment_id) WHERE r.rid IS NULL OR c.rid IS NULL`},
	{"P3", "refund-count", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('%s refunds, its count says %s', coalesce(s.n, 0), p.refunds)
  FROM payments p LEFT JOIN (SELECT tenant_id, payment_id, count(*) AS n FROM refunds GROUP BY 1, 2) s USING (tenant_id, payment_id)
    WHERE p.refunds <> coalesce(s.n, 0)`},
}

// openChecks are about what is not done with. All are answered from the indexes of open rows.
func openChecks(overdue time.Duration) []check {
	return []check{
		{"P4", "timer", false, `SELECT tenant_id, rid, NULL::text, state || CASE WHEN next_action_at IS NULL THEN ' without a timer' ELSE ' with nothing left to do and a timer' END
  FROM refunds WHERE (next_action_at IS NULL) <> (state IN (` + finalStates() + `) AND NOT exposed AND case_id IS NULL)`},
		{"P4", "overdue", true, fmt.Sprintf(`SELECT tenant_id, rid, NULL::text, format('%%s, due %%s ago', state, date_trunc('second',
    clock_timestamp() - next_action_at))
  FROM refunds WHERE next_action_at < clock_timestamp() - interval '%d seconds'`, int64(overdue/time.Second))},
		{"P4", "timer-far", true, `SELECT r.tenant_id, r.rid, NULL::text, format('%s, looked at next in %s, later than any step of the state', r.state,
    date_trunc('second', r.next_action_at - clock_timestamp()))
  FROM refunds r WHERE r.next_action_at > clock_timestamp() + ` + pg.TimerLimit},
		{"P4", "lease-long", false, fmt.Sprintf(`SELECT tenant_id, rid, NULL::text, format('owned for another %%s', date_trunc('second',
    lease_ends_at - clock_timestamp()))
  FROM refunds WHERE lease_ends_at > clock_timestamp() + interval '%d seconds'`, int64(refund.LongestLease/time.Second))},
		{"P4", "case-of-refund", true, `SELECT r.tenant_id, r.rid, NULL::text,
    'points to a case that is ' || CASE WHEN c.case_id IS NULL THEN 'missing' WHEN c.closed_at IS NOT NULL THEN 'closed' ELSE 'of another refund' END
  FROM refunds r LEFT JOIN cases c ON (c.tenant_id, c.case_id) = (r.tenant_id, r.case_id)
  WHERE r.case_id IS NOT NULL AND r.next_action_at IS NOT NULL AND (c.case_id IS NULL OR c.closed_at IS NOT NULL OR c.rid IS DISTINCT FROM r.rid)`},
		{"P4", "case-without-flag", true, `SELECT c.tenant_id, c.rid, 'case ' || c.case_id, 'an open case that its refund does not show'
  FROM cases c LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid)
  WHERE c.closed_at IS NULL AND c.rid IS NOT NULL AND r.case_id IS DISTINCT FROM c.case_id`},
		{"P4", "cases-per-refund", true, `SELECT tenant_id, rid, NULL::text, count(*) || ' open cases' FROM cases
    WHERE closed_at IS NULL AND rid IS NOT NULL GROUP BY 1, 2 HAVING count(*) > 1`},
		{"P4", "case-without-reason", true, `SELECT tenant_id, rid, 'case ' || case_id, 'open without a reason' FROM cases
    WHERE closed_at IS NULL AND cardinality(reasons) = 0`},
	}
}

// finalStates is the list of the final states in SQL.
func finalStates() string {
	var names []string
	for _, s := range refund.StatesThat(refund.State.Final) {
		names = append(names, "'"+string(s)+"'")
	}
	return strings.Join(names, ",")
}

// receiptWindow is how long receipts are kept: what is older is protected by the refund id alone.
const (
	receiptWindow = `interval '395 days'`
	keptReceipts  = 395 * 24 * time.Hour
)

var intakeChecks = []check{
	{"P5", "receipt-of-nothing", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'a receipt names a refund that does not exist'
  FROM receipts x LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (x.tenant_id, x.rid) WHERE x.rid IS NOT NULL AND r.rid IS NULL`},
	{"P5", "refund-without-receipt", false, `SELECT r.tenant_id, r.rid, NULL::text, coalesce(x.n, 0) || ' receipts made it'
  FROM refunds r LEFT JOIN (SELECT tenant_id, rid, count(*) AS n FROM receipts WHERE outcome = 'TAKEN' AND rid IS NOT NULL GROUP BY 1,
    2) x USING (tenant_id, rid)
  WHERE coalesce(x.n, 0) <> 1 AND (x.n > 1 OR r.created_at > now() - ` + receiptWindow + `)`},
	{"P5", "refund-without-key", false, `SELECT r.tenant_id, r.rid, NULL::text, 'no key under its refund id'
  FROM refunds r LEFT JOIN refund_keys k ON (k.tenant_id, k.refund_id, k.rid) = (r.tenant_id, r.refund_id, r.rid) WHERE k.rid IS NULL`},
	{"P5", "key-without-refund", false, `SELECT k.tenant_id, NULL::uuid, 'refund ' || k.refund_id, 'a key leads to no refund'
  FROM refund_keys k LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (k.tenant_id, k.rid) WHERE r.rid IS NULL`},
	{"P6", "event-twice", false, `SELECT tenant_id, NULL::uuid, consumer || '/' || event_id, count(*) || ' receipts of one event'
    FROM receipts GROUP BY tenant_id, consumer, source, event_id HAVING count(*) > 1`},
	{"P6", "receipt-digest", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'receipt and refund have other parameters'
  FROM receipts x JOIN refunds r ON (r.tenant_id, r.rid) = (x.tenant_id, x.rid) WHERE x.outcome IN ('TAKEN','REPLAYED') AND x.digest <> r.digest`},
	{"P6", "receipt-other-refund", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'the receipt is bound to another refund than it names'
  FROM receipts x JOIN refunds r ON (r.tenant_id, r.rid) = (x.tenant_id, x.rid)
  WHERE x.outcome IN ('TAKEN','REPLAYED') AND x.type = 'refund.requested' AND x.params->>'refundId' <> r.refund_id`},
}

var evidenceChecks = []check{
	{"P8", "effect-without-dispatch", false, `SELECT e.tenant_id, e.rid, 'effect ' || e.effect_id,
    'belongs to dispatch ' || e.dispatch_no || ', which does not exist'
  FROM effects e LEFT JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (e.tenant_id, e.rid, e.dispatch_no) WHERE e.rid IS NOT NULL AND d.no IS NULL`},
	{"P8", "effect-of-other-payment", false, `SELECT e.tenant_id, e.rid, 'effect ' || e.effect_id, 'its refund is of another payment or account'
  FROM effects e JOIN refunds r ON (r.tenant_id, r.rid) = (e.tenant_id, e.rid) WHERE (r.payment_id, r.account) <> (e.payment_id, e.account)`},
	{"P8", "success-unbooked", false, `SELECT a.tenant_id, a.rid, NULL::text, 'attempt ' || a.no || ' was answered with success and nothing is booked'
  FROM attempts a LEFT JOIN (SELECT DISTINCT tenant_id, rid FROM effects WHERE rid IS NOT NULL) e USING (tenant_id, rid)
    WHERE a.answer = 'SUCCEEDED' AND e.rid IS NULL`},
	{"P8", "state-without-effect", false, `SELECT r.tenant_id, r.rid, NULL::text, format('%s with %s effects that stand and %s that were returned', r.state,
    coalesce(e.moved, 0), coalesce(e.back, 0))
  FROM refunds r LEFT JOIN (SELECT tenant_id, rid, count(*) FILTER (WHERE status = 'MOVED') AS moved, count(*) FILTER (WHERE status = 'REVERSED') AS back
    FROM effects WHERE rid IS NOT NULL GROUP BY 1, 2) e USING (tenant_id, rid)
  WHERE (r.state = 'SUCCESS') <> (coalesce(e.moved, 0) > 0) OR (r.state = 'REVERSED' AND coalesce(e.back, 0) = 0)`},
	{"P8", "notice-of-nothing", false, `SELECT n.tenant_id, n.rid, 'notice of ' || n.account, 'matched to a refund that does not exist or is of another account'
  FROM notices n LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (n.tenant_id, n.rid) WHERE n.rid IS NOT NULL AND (r.rid IS NULL OR r.account <> n.account)`},
	{"P8", "case-of-nothing", false, `SELECT c.tenant_id, c.rid, 'case ' || c.case_id, 'about a refund that does not exist'
  FROM cases c LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid) WHERE c.rid IS NOT NULL AND r.rid IS NULL`},
	{"P8", "decision-unproven", false, `SELECT d.tenant_id, c.rid, 'decision ' || d.decision_id, 'took effect without the approval of another actor'
  FROM decisions d JOIN cases c USING (tenant_id, case_id)
  WHERE d.applied_at IS NOT NULL AND (d.verdict IS DISTINCT FROM 'APPROVED' OR d.checker IS NULL OR d.checker = d.maker)`},
	{"P8", "line-answer", false, `SELECT e.tenant_id, n.rid, 'line ' || e.effect_id, 'it is said not to be this refund, and no decision says so'
  FROM effects e CROSS JOIN LATERAL unnest(e.not_of) AS n (rid)
  WHERE e.not_of <> '{}' AND NOT EXISTS (SELECT FROM cases c JOIN decisions d USING (tenant_id, case_id)
    WHERE (c.tenant_id, c.rid) = (e.tenant_id, n.rid) AND d.applied_at IS NOT NULL AND d.action IN ('accept-as-is','confirm-not-done','resend'))`},
	{"P8", "decision-untold", false, `SELECT d.tenant_id, c.rid, 'decision ' || d.decision_id, 'took effect and the journal does not tell it'
  FROM decisions d JOIN cases c USING (tenant_id, case_id)
  WHERE d.applied_at IS NOT NULL AND d.action <> 'wait' AND c.rid IS NOT NULL AND NOT EXISTS (SELECT FROM journal j
    WHERE (j.tenant_id, j.rid) = (d.tenant_id, c.rid) AND j.source = 'decision' AND j.data LIKE '%"decision":"' || d.decision_id || '"%')`},
}

var ledgerChecks = []check{
	{"P9", "posting-missing", false, `SELECT e.tenant_id, e.rid, 'effect ' || e.effect_id, format('%s, but posted %s times and mirrored %s times', e.status,
    coalesce(g.made, 0), coalesce(g.back, 0))
  FROM effects e LEFT JOIN (SELECT tenant_id, effect_id, count(*) FILTER (WHERE kind = 'REFUND') AS made, count(*) FILTER (WHERE kind = 'REVERSAL') AS back
    FROM postings GROUP BY 1, 2) g USING (tenant_id, effect_id)
  WHERE coalesce(g.made, 0) <> CASE WHEN e.status IN ('MOVED','REVERSED') THEN 1 ELSE 0 END OR coalesce(g.back,
    0) <> CASE WHEN e.status = 'REVERSED' THEN 1 ELSE 0 END`},
	{"P9", "posting-amount", false, `SELECT g.tenant_id, e.rid, 'effect ' || g.effect_id, format('%s posted as %s %s', g.kind, g.amount, g.currency)
  FROM postings g LEFT JOIN effects e USING (tenant_id, effect_id) WHERE e.effect_id IS NULL OR (g.amount, g.currency) <> (e.amount, e.currency)`},
	{"P9", "posting-mirror", false, `SELECT b.tenant_id, NULL::uuid, 'effect ' || b.effect_id, 'the mirror does not take back what was posted'
  FROM postings b JOIN postings a USING (tenant_id, effect_id) WHERE b.kind = 'REVERSAL' AND a.kind = 'REFUND' AND (b.debit, b.credit, b.amount,
    b.currency) <> (a.credit, a.debit, a.amount, a.currency)`},
	{"P9", "posting-accounts", false, `SELECT g.tenant_id, e.rid, 'effect ' || g.effect_id, format('%s takes from %s and gives to %s', g.kind, g.debit, g.credit)
  FROM postings g JOIN effects e USING (tenant_id, effect_id) LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (e.tenant_id, e.rid)
  WHERE (CASE g.kind WHEN 'REFUND' THEN g.debit ELSE g.credit END, CASE g.kind WHEN 'REFUND' THEN g.credit ELSE g.debit END)
    <> ('refunds:' || coalesce(r.account, e.account), 'channel:' || coalesce(r.account, e.account))`},
	{"P9", "posting-sum", false, `SELECT tenant_id, NULL::uuid, 'effect ' || effect_id, kind || ' adds up to ' || sum(amount)
    FROM ledger_entries GROUP BY tenant_id, effect_id, kind, currency HAVING sum(amount) <> 0`},
	{"P9", "ledger-account", false, `SELECT l.tenant_id, NULL::uuid, 'account ' || l.account, 'posted to, but not in the list of accounts'
  FROM (SELECT DISTINCT tenant_id, account, currency FROM ledger_entries) l
    LEFT JOIN ledger_accounts a ON (a.tenant_id, a.code, a.currency) = (l.tenant_id, l.account, l.currency) WHERE a.code IS NULL`},
}

var otherChecks = []check{
	{"P10", "attempt-of-nothing", false, `SELECT a.tenant_id, a.rid, NULL::text, 'attempt ' || a.no || ' of dispatch ' || a.dispatch_no || ', which does not exist'
  FROM attempts a LEFT JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (a.tenant_id, a.rid, a.dispatch_no) WHERE d.no IS NULL`},
	{"P10", "answer-before-call", false, `SELECT tenant_id, rid, NULL::text, 'attempt ' || no || ' was answered before it was written' FROM attempts
    WHERE answered_at < started_at`},
	{"P10", "attempt-of-later-epoch", false, `SELECT tenant_id, rid, NULL::text, format('attempt %s is of epoch %s', no, epoch) FROM attempts
    WHERE epoch > (SELECT epoch FROM installation)`},
	{"P11", "reader-ahead", true, `SELECT NULL::bigint, NULL::uuid, 'reader ' || name, format('cursor %s, the journal has reached %s', cursor,
    s.last_value) FROM readers, journal_pos_seq s WHERE cursor > s.last_value`},
	{"P12", "tenant-unknown", false, `SELECT x.tenant_id, NULL::uuid, x.what, 'rows of a tenant that does not exist' FROM (
    SELECT DISTINCT tenant_id, 'refunds' FROM refunds UNION SELECT DISTINCT tenant_id, 'payments'
    FROM payments UNION SELECT DISTINCT tenant_id, 'receipts' FROM receipts
    UNION SELECT DISTINCT tenant_id, 'effects' FROM effects) AS x (tenant_id, what) LEFT JOIN tenants t USING (tenant_id) WHERE t.tenant_id IS NULL`},
	{"P12", "payment-differs", false, `SELECT r.tenant_id, r.rid, 'payment ' || r.payment_id,
    'is not a payment of its tenant with the same order, account, reference and currency'
  FROM refunds r LEFT JOIN payments p ON (p.tenant_id, p.payment_id) = (r.tenant_id, r.payment_id)
  WHERE p.payment_id IS NULL OR (p.order_id, p.account, p.channel_reference, p.currency) <> (r.order_id, r.account, r.channel_reference, r.currency)`},
}
