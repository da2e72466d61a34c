package verify

// reportedChecks compare rows that the hash chain does not cover with what the journal, or another row of the same transaction, says.
// A change has one time: its journal row, the answer, effects, postings, cases and retirements have it.
var reportedChecks = []check{
	{"P8", "case-evidence", false, `SELECT c.tenant_id, c.rid, 'case ' || c.case_id, 'its evidence is not about the journal row that opened it'
  FROM cases c LEFT JOIN journal j ON (j.tenant_id, j.rid, j.seq::text) = (c.tenant_id, c.rid, c.evidence->>'journalSeq')
  WHERE c.rid IS NOT NULL AND (j.at, j.source, j.to_state) IS DISTINCT FROM (c.opened_at, c.evidence->>'source', c.evidence->>'state')`},
	{"P8", "case-closed", false, `SELECT c.tenant_id, c.rid, 'case ' || c.case_id, format('closed by %s, no journal row of that time says so', c.closed_how)
  FROM cases c WHERE c.closed_at IS NOT NULL AND c.rid IS NOT NULL AND NOT EXISTS (SELECT FROM journal j
    WHERE (j.tenant_id, j.rid, j.at) = (c.tenant_id, c.rid, c.closed_at)
      AND CASE WHEN j.source = 'decision' THEN c.closed_how = 'decision:' || j.kind
        ELSE c.closed_how = 'fact:' || j.kind OR (c.closed_how LIKE 'fact:%' AND (j.kind LIKE 'line\_%' OR j.kind IN ('succeeded','reversed'))) END)`},
	{"P8", "decision-times", false, `SELECT d.tenant_id, c.rid, 'decision ' || d.decision_id, 'proposed before its case or its journal row, or judged before it was proposed'
  FROM decisions d JOIN cases c USING (tenant_id, case_id) LEFT JOIN journal j ON (j.tenant_id, j.rid, j.seq) = (c.tenant_id, c.rid, d.journal_seq)
  WHERE d.made_at < c.opened_at OR d.made_at < j.at OR d.expires_at < d.made_at OR (d.verdict IN ('APPROVED','REJECTED') AND d.checked_at < d.made_at)
    OR d.applied_at < d.checked_at OR (c.rid IS NOT NULL AND d.journal_seq IS NOT NULL AND j.seq IS NULL)`},
	{"P8", "decision-by-disabled", false, `SELECT d.tenant_id, c.rid, 'decision ' || d.decision_id, 'by an actor that was disabled more than a minute before'
  FROM decisions d JOIN cases c USING (tenant_id, case_id)
    JOIN actors a ON a.tenant_id = d.tenant_id AND a.actor_id IN (d.maker, d.checker)
  WHERE a.disabled_at < CASE a.actor_id WHEN d.maker THEN d.made_at ELSE d.checked_at END - interval '1 minute'`},
	{"P8", "override-unproven", false, `SELECT x.tenant_id, x.rid, 'number ' || x.no, 'overridden without an applied decision about its refund'
  FROM dispatches x LEFT JOIN decisions d ON (d.tenant_id, d.decision_id) = (x.tenant_id, x.overridden_by)
    LEFT JOIN cases c ON (c.tenant_id, c.case_id) = (d.tenant_id, d.case_id)
  WHERE x.overridden_by IS NOT NULL AND (c.rid IS DISTINCT FROM x.rid OR d.applied_at IS NULL
    OR d.action NOT IN ('confirm-not-done','resend','accept-as-is','revoke-confirmation'))`},
	{"P8", "retirement-unproven", false, `SELECT x.tenant_id, x.rid, 'number ' || x.no, format('retired by %s, which the journal does not report', x.rule)
  FROM retired_dispatches x JOIN dispatches d USING (tenant_id, rid, no)
  WHERE (x.epoch IS NOT NULL AND coalesce(d.marked_epoch, 0) < x.epoch)
    OR NOT EXISTS (SELECT FROM journal j WHERE (j.tenant_id, j.rid, j.at, j.kind) = (x.tenant_id, x.rid, x.at, lower(x.rule)))`},
	{"P10", "send-of-retired-number", false, `SELECT a.tenant_id, a.rid, 'number ' || a.dispatch_no, format('attempt %s sent it after it was retired', a.no)
  FROM retired_dispatches x JOIN attempts a ON (a.tenant_id, a.rid, a.dispatch_no) = (x.tenant_id, x.rid, x.no) WHERE a.kind = 'SEND' AND a.started_at > x.at`},
	{"P8", "answer-late", false, `SELECT a.tenant_id, a.rid, NULL::text, format('attempt %s is stored as late: %s, the journal says otherwise', a.no, a.late)
  FROM attempts a JOIN journal j ON (j.tenant_id, j.rid, j.at) = (a.tenant_id, a.rid, a.answered_at)
  WHERE j.data LIKE '%"attempt":' || a.no || ',%' AND a.late <> (a.generation <> j.generation)`},
	{"P8", "answer-impossible", false, `SELECT tenant_id, rid, NULL::text, format('attempt %s, a %s, has the answer %s and the rule %s', no, kind, answer,
    coalesce(rule, 'none')) FROM attempts WHERE (kind = 'SEND' AND answer = 'NOT_FOUND') OR (answer IS NOT NULL AND rule IS NULL)`},
	{"P10", "request-digest", false, `SELECT tenant_id, rid, NULL::text, 'attempt ' || no || ' has no digest of its request' FROM attempts
    WHERE octet_length(request_digest) <> 32`},
	{"P10", "contract-digest", false, `SELECT NULL::bigint, NULL::uuid, format('contract %s of %s', version, account), 'its digest is not that of its text'
    FROM contracts WHERE digest <> sha256(convert_to(contract::text, 'UTF8'))`},
	{"P7", "journal-replay", false, `SELECT tenant_id, rid, NULL::text, 'seq ' || seq || ' names a replay, which only the first row can' FROM journal
    WHERE replay_batch IS NOT NULL AND seq > 1`},
	{"P10", "refund-unmarked", false, `SELECT r.tenant_id, r.rid, NULL::text, format('open and older than epoch %s, which has not marked it', i.epoch)
  FROM refunds r JOIN installation i ON i.epoch > 1 AND i.sending_held_since IS NULL
    AND (i.mark_new_until IS NULL OR (r.created_at < i.mark_new_until AND i.mark_new_until < clock_timestamp() - interval '1 hour'))
  WHERE r.final_at IS NULL AND NOT EXISTS (SELECT FROM dispatches d WHERE (d.tenant_id, d.rid, d.marked_epoch) = (r.tenant_id, r.rid, i.epoch))`},
}

// lineChecks are about effects that belong to no refund, whose history is in effect_events.
var lineChecks = []check{
	{"P8", "line-history", false, `SELECT e.tenant_id, e.rid, 'effect ' || e.effect_id, 'a line of its payment whose history says something else'
  FROM effects e LEFT JOIN LATERAL (SELECT v.to_status, v.data::jsonb AS data FROM effect_events v WHERE (v.tenant_id, v.effect_id) = (e.tenant_id, e.effect_id)
    ORDER BY v.n DESC LIMIT 1) v ON true
  WHERE e.rid IS NULL AND (v.to_status, v.data->>'payment', v.data->>'amount', v.data->>'currency', v.data->>'channelRefundId')
    IS DISTINCT FROM (e.status, e.payment_id, e.amount::text, e.currency, e.channel_refund_id)`},
	{"P8", "line-missing", false, `SELECT j.tenant_id, j.rid, NULL::text, format('seq %s holds a line that does not exist', j.seq)
  FROM journal j JOIN refunds r USING (tenant_id, rid)
    LEFT JOIN effects e ON (e.account, e.channel_refund_id) = (r.account, (j.data::jsonb)->>'channelRefundId')
  WHERE j.kind = 'line_held' AND e.effect_id IS NULL`},
	{"P8", "line-event-of-nothing", false, `SELECT v.tenant_id, NULL::uuid, 'effect ' || v.effect_id, 'a history of an effect that does not exist, or with a gap'
  FROM effect_events v LEFT JOIN effects e USING (tenant_id, effect_id) GROUP BY v.tenant_id, v.effect_id
  HAVING bool_or(e.effect_id IS NULL) OR max(v.n) <> count(*)`},
	{"P9", "posting-time", false, `SELECT g.tenant_id, e.rid, 'effect ' || g.effect_id, g.kind || ' is posted at another time than it was booked'
  FROM postings g JOIN effects e USING (tenant_id, effect_id)
  WHERE CASE g.kind WHEN 'REVERSAL' THEN g.at <> e.reversed_at
    ELSE g.at <> e.at AND NOT EXISTS (SELECT FROM effect_events v WHERE (v.tenant_id, v.effect_id, v.at) = (g.tenant_id, g.effect_id, g.at)
      AND v.to_status IN ('MOVED','REVERSED') AND g.at > e.at) END`},
	{"P9", "ledger-account-kind", false, `SELECT tenant_id, NULL::uuid, 'account ' || code, format('is of kind %s', kind) FROM ledger_accounts
    WHERE kind <> CASE WHEN code LIKE 'refunds:%' THEN 'expense' WHEN code LIKE 'channel:%' THEN 'asset' ELSE kind END`},
	{"P8", "notice-missing", false, `SELECT j.tenant_id, j.rid, NULL::text, format('seq %s comes from a notice of %s that does not exist', min(j.seq), j.kind)
  FROM journal j WHERE j.source = 'notice' AND NOT EXISTS (SELECT FROM notices n WHERE (n.tenant_id, n.rid) = (j.tenant_id, j.rid)
    AND (n.fact->>'status' = upper(j.kind) OR j.kind IN ('succeeded','reversed'))) GROUP BY j.tenant_id, j.rid, j.kind`},
	{"P8", "notice-unreported", false, `SELECT n.tenant_id, n.rid, 'notice of ' || n.account, format('reports %s, the journal does not', n.fact->>'status')
  FROM notices n WHERE n.rid IS NOT NULL AND n.fact->>'status' IN ('SUCCEEDED','FAILED_FINAL','REVERSED')
    AND NOT EXISTS (SELECT FROM journal j WHERE (j.tenant_id, j.rid) = (n.tenant_id, n.rid) AND (upper(j.kind) = n.fact->>'status'
      OR (j.kind IN ('failed_final','reversed') AND n.fact->>'status' IN ('REVERSED','FAILED_FINAL'))))
    AND NOT EXISTS (SELECT FROM effects e WHERE (e.tenant_id, e.rid) = (n.tenant_id, n.rid) AND n.fact->>'status' = 'SUCCEEDED')`},
}

// paramsDigest recomputes the digest of a receipt x from its parameters (docs/bytes.md).
const paramsDigest = `'\x01'::bytea || sha256((SELECT string_agg(int4send(octet_length(convert_to(f, 'UTF8'))) || convert_to(f, 'UTF8'), '' ORDER BY n)
    FROM unnest(CASE x.type WHEN 'payment.captured'
      THEN ARRAY['refundry/d1/capture', x.params->>'paymentId', x.params->>'captureId', x.params->>'amount', x.params->>'currency']
      ELSE ARRAY['refundry/d1/refund', x.params->>'orderId', x.params->>'paymentId', x.params->>'amount', x.params->>'currency'] END)
      WITH ORDINALITY AS p(f, n)))`

// receiptChecks compare receipts with their own parameters and with what they made.
var receiptChecks = []check{
	{"P6", "receipt-params", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'its digest is not that of its parameters'
  FROM receipts x WHERE x.type IN ('refund.requested','payment.captured') AND x.digest IS DISTINCT FROM ` + paramsDigest},
	{"P5", "receipt-time", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'is of another month than its time'
  FROM receipts x WHERE x.month <> date_trunc('month', x.at AT TIME ZONE 'UTC')::date`},
	{"P5", "receipt-payment", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'decides about a payment that its tenant does not have'
  FROM receipts x LEFT JOIN payments p ON (p.tenant_id, p.payment_id) = (x.tenant_id, x.params->>'paymentId')
  WHERE x.type = 'refund.requested' AND p.payment_id IS NULL AND (x.outcome IN ('TAKEN','REPLAYED') OR x.params->'payment' IS NULL)`},
	{"P5", "capture-receipt", false, `SELECT c.tenant_id, NULL::uuid, format('capture %s of payment %s', c.capture_id, c.payment_id), 'no receipt made it with this amount'
  FROM captures c LEFT JOIN receipts x ON x.type = 'payment.captured' AND x.outcome = 'TAKEN'
    AND (x.tenant_id, x.params->>'paymentId', x.params->>'captureId', x.params->>'amount') = (c.tenant_id, c.payment_id, c.capture_id, c.amount::text)
  WHERE x.event_id IS NULL AND c.at > now() - ` + receiptWindow},
	{"P5", "receipt-capture", false, `SELECT x.tenant_id, NULL::uuid, x.consumer || '/' || x.event_id, 'its capture does not exist with this amount'
  FROM receipts x LEFT JOIN captures c ON (x.tenant_id, x.params->>'paymentId', x.params->>'captureId', x.params->>'amount')
    = (c.tenant_id, c.payment_id, c.capture_id, c.amount::text)
  WHERE x.type = 'payment.captured' AND x.outcome = 'TAKEN' AND c.capture_id IS NULL`},
	{"P5", "delivery-without-receipt", false, `SELECT d.tenant_id, d.rid, d.consumer || '/' || d.event_id, format('was delivered and decided (%s), and has no receipt', d.outcome)
  FROM deliveries d LEFT JOIN receipts x USING (tenant_id, consumer, source, event_id)
  WHERE d.tenant_id <> 0 AND d.event_id IS NOT NULL AND x.event_id IS NULL AND (d.outcome IN ('TAKEN','CONFLICT')
    OR (d.outcome = 'REFUSED' AND d.cause <> 'tenant-closed') OR (d.outcome = 'REPLAYED' AND d.cause IN ('event','refund')))`},
	{"P5", "delivery-without-parked", false, `SELECT d.tenant_id, d.rid, d.consumer || '/' || d.event_id, 'was delivered and parked, and no such message is parked'
  FROM deliveries d LEFT JOIN parked p USING (consumer, source, event_id) WHERE d.outcome = 'PARKED' AND d.event_id IS NOT NULL AND p.event_id IS NULL`},
	{"P6", "conflict-missing", false, `SELECT x.tenant_id, x.rid, x.consumer || '/' || x.event_id, 'a conflict without its evidence'
  FROM receipts x LEFT JOIN conflicts c ON (c.tenant_id, c.consumer, c.source, c.event_id) = (x.tenant_id, x.consumer, x.source, x.event_id)
  WHERE x.outcome = 'CONFLICT' AND c.conflict_id IS NULL`},
	{"P6", "conflict-of-nothing", false, `SELECT c.tenant_id, c.rid, 'conflict ' || c.conflict_id, 'with a refund that does not exist'
  FROM conflicts c LEFT JOIN refunds r ON (r.tenant_id, r.rid) = (c.tenant_id, c.rid) WHERE c.rid IS NOT NULL AND r.rid IS NULL`},
	{"P5", "key-of-other-id", false, `SELECT k.tenant_id, k.rid, 'refund ' || k.refund_id, 'a key leads to a refund with another id'
  FROM refund_keys k JOIN refunds r ON (r.tenant_id, r.rid) = (k.tenant_id, k.rid) WHERE r.refund_id <> k.refund_id`},
	{"P3", "payment-snapshot", false, `SELECT p.tenant_id, x.rid, 'payment ' || p.payment_id, 'its amounts or its reference are not those of the request that announced them'
  FROM receipts x JOIN payments p ON (p.tenant_id, p.payment_id) = (x.tenant_id, x.params->>'paymentId') JOIN tenants t ON t.tenant_id = p.tenant_id
  WHERE x.type = 'refund.requested' AND x.outcome = 'TAKEN' AND p.known_by = 'snapshot' AND x.params#>>'{payment,version}' = p.version::text
    AND ((p.captured::text, p.refunded_elsewhere::text, p.currency, p.account) IS DISTINCT FROM (x.params#>>'{payment,amount}',
      x.params#>>'{payment,refundedElsewhere}', x.params#>>'{payment,currency}', x.params#>>'{payment,channelAccount}')
    OR (x.at = p.created_at AND p.channel_reference <> coalesce(nullif(x.params#>>'{payment,channelReference}', ''), t.code || ':' || p.payment_id)))`},
	{"P3", "excess-accepted", false, `SELECT p.tenant_id, NULL::uuid, 'payment ' || p.payment_id, format('excess of %s is accepted, decisions accepted %s', p.excess_accepted,
    coalesce(s.accepted, 0))
  FROM payments p LEFT JOIN (SELECT c.tenant_id, c.payment_id, max(d.excess) AS accepted FROM cases c JOIN decisions d USING (tenant_id, case_id)
    WHERE d.action = 'accept-as-is' AND d.applied_at IS NOT NULL GROUP BY 1, 2) s USING (tenant_id, payment_id)
  WHERE p.excess_accepted > coalesce(s.accepted, 0) AND p.excess_accepted > coalesce(s.accepted, 0) + (SELECT coalesce(sum(e.counted), 0) FROM effects e
    WHERE (e.tenant_id, e.payment_id) = (p.tenant_id, p.payment_id) AND e.rid IS NULL AND e.not_of <> '{}')`},
}
