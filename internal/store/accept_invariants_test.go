package store

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refundry/refundry/internal/store/pg"
)

// acceptInvariants count violations. Each must be 0 after any intakes and workflow.
var acceptInvariants = map[string]string{
	"reserved is the sum of open refunds": `SELECT count(*) FROM payments p WHERE p.reserved <> (SELECT coalesce(sum(r.amount), 0) FROM refunds r
		WHERE r.tenant_id = p.tenant_id AND r.payment_id = p.payment_id AND r.final_at IS NULL)
		OR p.refunded <> (SELECT coalesce(sum(e.counted), 0) FROM effects e WHERE e.tenant_id = p.tenant_id AND e.payment_id = p.payment_id AND e.status = 'MOVED')
		OR p.reserved + p.refunded + p.refunded_elsewhere + p.held > p.captured
		OR p.refunds <> (SELECT count(*) FROM refunds r WHERE r.tenant_id = p.tenant_id AND r.payment_id = p.payment_id)`,
	"captures add up": `SELECT count(*) FROM payments p WHERE p.known_by = 'captures' AND p.captured <>
		(SELECT coalesce(sum(c.amount), 0) FROM captures c WHERE c.tenant_id = p.tenant_id AND c.payment_id = p.payment_id)`,
	"refund and key are one to one": `SELECT count(*) FROM refunds r FULL JOIN refund_keys k ON k.tenant_id = r.tenant_id AND k.rid = r.rid AND k.refund_id = r.refund_id
		WHERE r.rid IS NULL OR k.rid IS NULL`,
	"no refund id twice": `SELECT count(*) FROM (SELECT FROM refunds GROUP BY tenant_id, refund_id HAVING count(*) > 1) x`,
	"dispatch 1 exists":  `SELECT count(*) FROM refunds r WHERE NOT EXISTS (SELECT FROM dispatches d WHERE d.tenant_id = r.tenant_id AND d.rid = r.rid AND d.no = 1)`,
	"receipt and refund have one digest": `SELECT count(*) FROM receipts x JOIN refunds r ON r.tenant_id = x.tenant_id AND r.rid = x.rid
		WHERE x.outcome IN ('TAKEN', 'REPLAYED') AND x.digest <> r.digest`,
	"no receipt of nothing":  `SELECT count(*) FROM receipts x WHERE x.rid IS NOT NULL AND NOT EXISTS (SELECT FROM refunds r WHERE r.tenant_id = x.tenant_id AND r.rid = x.rid)`,
	"no event in two months": `SELECT count(*) FROM (SELECT FROM receipts GROUP BY tenant_id, consumer, source, event_id HAVING count(*) > 1) x`,
	"every refund has the one receipt that made it": `SELECT count(*) FROM refunds r WHERE 1 <> (SELECT count(*) FROM receipts x
		WHERE x.tenant_id = r.tenant_id AND x.rid = r.rid AND x.outcome = 'TAKEN')`,
	"no gap in a journal": `SELECT count(*) FROM (SELECT seq, row_number() OVER (PARTITION BY tenant_id, rid ORDER BY seq) AS n FROM journal) j WHERE seq <> n`,
	"hashes are linked": `SELECT count(*) FROM (SELECT *, lag(hash, 1, decode(repeat('00', 32), 'hex')) OVER (PARTITION BY tenant_id, rid ORDER BY seq) AS prev FROM journal) j
		WHERE hash <> sha256(prev || uuid_send(rid) || int4send(seq) || timestamptz_send(at) || digest)`,
	"digests are those of their columns": `SELECT count(*) FROM journal j WHERE digest <> sha256((
		SELECT string_agg(int4send(octet_length(convert_to(f, 'UTF8'))) || convert_to(f, 'UTF8'), ''::bytea ORDER BY n)
		FROM unnest(ARRAY['refundry/j1', kind, coalesce(from_state, ''), to_state, generation::text, source, actor, coalesce(encode(fact_key, 'hex'), ''), data]) WITH ORDINALITY AS u(f, n)))`,
	"the head is state and generation": `SELECT count(*) FROM refunds r WHERE NOT EXISTS (SELECT FROM journal j WHERE j.tenant_id = r.tenant_id AND j.rid = r.rid
		AND j.seq = r.journal_seq AND j.hash = r.journal_head AND j.to_state = r.state AND j.generation = r.generation)`,
	"pos rises with seq": `SELECT count(*) FROM (SELECT pos, lag(pos) OVER (PARTITION BY tenant_id, rid ORDER BY seq) AS before FROM journal) j WHERE pos <= before`,
	"one posting per success": `SELECT count(*) FROM refunds r LEFT JOIN (SELECT e.tenant_id, e.rid, count(*) AS n
		FROM effects e JOIN postings g USING (tenant_id, effect_id) WHERE g.kind = 'REFUND' GROUP BY 1, 2) g USING (tenant_id, rid)
		WHERE r.state = 'SUCCESS' AND coalesce(g.n, 0) <> 1`,
	"the payment's chain reaches all its refunds": `WITH RECURSIVE c (tenant_id, payment_id, rid) AS (
		SELECT tenant_id, payment_id, last_rid FROM payments WHERE last_rid IS NOT NULL
		UNION ALL SELECT c.tenant_id, c.payment_id, r.prev_rid FROM c JOIN refunds r ON r.tenant_id = c.tenant_id AND r.rid = c.rid WHERE r.prev_rid IS NOT NULL)
		SELECT count(*) FROM refunds r FULL JOIN c ON c.tenant_id = r.tenant_id AND c.rid = r.rid AND c.payment_id = r.payment_id WHERE r.rid IS NULL OR c.rid IS NULL`,
	"processing has its attempt": `SELECT count(*) FROM refunds r WHERE (r.state = 'PROCESSING' AND NOT EXISTS (SELECT FROM attempts a WHERE a.tenant_id = r.tenant_id AND a.rid = r.rid
		AND a.no = r.attempt_no AND a.generation = r.generation AND a.answer IS NULL)) OR r.attempt_no <> (SELECT count(*) FROM attempts a WHERE a.tenant_id = r.tenant_id AND a.rid = r.rid)`,
	"what is open has a timer": `SELECT count(*) FROM refunds WHERE final_at IS NULL AND next_action_at IS NULL`,
	"a conflict is never bound as a success": `SELECT count(*) FROM receipts x JOIN refund_keys k ON k.tenant_id = x.tenant_id AND k.refund_id = x.params->>'refundId'
		JOIN refunds r ON r.tenant_id = k.tenant_id AND r.rid = k.rid WHERE x.outcome IN ('TAKEN', 'REPLAYED') AND x.type = 'refund.requested' AND x.rid <> r.rid`,
}

// wantNoViolations checks every invariant over a session of its own, with statistics and the planner's defaults: in the order of joins
// that the hot path fixes, a check over all rows can take time that is quadratic in them.
func (b *testStore) wantNoViolations(t *testing.T) {
	t.Helper()
	pc, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pg.OpenOwn(t.Context(), pc, "refundry-invariants", pg.OwnSettings(b.cfg.Schema, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), `ANALYZE`); err != nil {
		t.Fatal(err)
	}
	for name, sql := range acceptInvariants {
		var n int
		if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if n != 0 {
			t.Errorf("%s: %d violations", name, n)
		}
	}
}
