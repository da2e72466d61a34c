package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// EvidenceFormat names the documents that Export writes and CheckEvidence reads; draftEvidenceFormat those of builds before v0.1.0,
// whose stored words differ.
const (
	EvidenceFormat      = "refundry/evidence/2"
	draftEvidenceFormat = "refundry/evidence/1"
)

// Evidence is everything stored about one refund: rows as the database has them, by table. Times are RFC 3339 with microseconds, bytes
// "\x" and hex, and the journal's data is its text exactly as hashed.
type Evidence struct {
	Format       string                       `json:"format"`
	ExportedAt   time.Time                    `json:"exportedAt"` // the database's clock
	Installation string                       `json:"installation"`
	Tenant       string                       `json:"tenant"`
	RefundID     string                       `json:"refundId"`
	Tables       map[string][]json.RawMessage `json:"tables"`
	Signature    hexBytes                     `json:"signature,omitempty"` // see Sign; absent where no key was given
}

// EvidenceTables lists the tables of a document, in the order in which they are read.
func EvidenceTables() []string {
	out := make([]string, len(evidenceTables))
	for i, t := range evidenceTables {
		out[i] = t.name
	}
	return out
}

// evidenceTables are read with $1 tenant, $2 rid, $3 payment.
var evidenceTables = []struct{ name, sql string }{
	{"refunds", `SELECT row_to_json(x) FROM refunds x WHERE tenant_id = $1 AND rid = $2 AND payment_id = $3`},
	{"payments", `SELECT row_to_json(x) FROM payments x WHERE tenant_id = $1 AND payment_id = $3 AND $2::uuid IS NOT NULL`},
	{"captures", `SELECT row_to_json(x) FROM captures x WHERE tenant_id = $1 AND payment_id = $3 AND $2::uuid IS NOT NULL ORDER BY at`},
	{"journal", `SELECT row_to_json(x) FROM journal x WHERE tenant_id = $1 AND rid = $2 AND $3::text <> '' ORDER BY seq`},
	{"dispatches", `SELECT row_to_json(x) FROM dispatches x WHERE tenant_id = $1 AND rid = $2 AND $3::text <> '' ORDER BY no`},
	{"retired_dispatches", `SELECT row_to_json(x) FROM retired_dispatches x WHERE tenant_id = $1 AND rid = $2 AND $3::text <> '' ORDER BY no`},
	{"attempts", `SELECT row_to_json(x) FROM attempts x WHERE tenant_id = $1 AND rid = $2 AND $3::text <> '' ORDER BY no`},
	{"effects", `SELECT row_to_json(x) FROM effects x WHERE tenant_id = $1 AND payment_id = $3 AND (rid = $2 OR rid IS NULL) ORDER BY at, effect_id`},
	{"effect_events", `SELECT row_to_json(x) FROM effect_events x JOIN effects e USING (tenant_id, effect_id) WHERE x.tenant_id = $1 AND e.payment_id = $3
    AND (e.rid = $2 OR e.rid IS NULL) ORDER BY x.effect_id, x.n`},
	{"postings", `SELECT row_to_json(x) FROM postings x JOIN effects e USING (tenant_id, effect_id) WHERE x.tenant_id = $1 AND e.payment_id = $3
    AND (e.rid = $2 OR e.rid IS NULL) ORDER BY x.effect_id, x.kind DESC`},
	{"cases", `SELECT row_to_json(x) FROM cases x WHERE tenant_id = $1 AND (rid = $2 OR (rid IS NULL AND payment_id = $3)) ORDER BY opened_at`},
	{"decisions", `SELECT row_to_json(x) FROM decisions x JOIN cases c USING (tenant_id, case_id) WHERE x.tenant_id = $1 AND (c.rid = $2 OR (c.rid IS NULL
    AND c.payment_id = $3)) ORDER BY x.made_at`},
	{"actors", `SELECT row_to_json(x) FROM (SELECT tenant_id, actor_id, name, kind, disabled_at FROM actors) x
    WHERE x.tenant_id = $1 AND x.actor_id IN (SELECT unnest(ARRAY[d.maker, d.checker])
		FROM decisions d JOIN cases c USING (tenant_id, case_id) WHERE d.tenant_id = $1 AND (c.rid = $2 OR (c.rid IS NULL AND c.payment_id = $3)))
		ORDER BY x.actor_id`},
	{"receipts", `SELECT row_to_json(x) FROM receipts x WHERE tenant_id = $1 AND (rid = $2 OR (rid IS NULL AND params->>'paymentId' = $3)) ORDER BY at, event_id`},
	{"conflicts", `SELECT row_to_json(x) FROM conflicts x WHERE tenant_id = $1 AND (rid = $2 OR refund_id = (SELECT refund_id FROM refunds r
    WHERE r.tenant_id = $1 AND r.rid = $2)) AND $3::text <> '' ORDER BY at`},
	{"notices", `SELECT row_to_json(x) FROM notices x WHERE tenant_id = $1 AND rid = $2 AND $3::text <> '' ORDER BY at`},
	// Notices of the account that no refund has matched: without their contents, which may be another tenant's.
	{"unmatched_notices", `SELECT row_to_json(x) FROM (SELECT n.account, n.digest, n.at FROM notices n JOIN refunds r ON r.account = n.account
    WHERE r.tenant_id = $1 AND r.rid = $2 AND $3::text <> '' AND n.rid IS NULL ORDER BY n.at DESC, n.digest LIMIT 1000) x`},
	{"readers", `SELECT row_to_json(x) FROM (SELECT name, generation, cursor, updated_at FROM readers
    WHERE $1::bigint > 0 AND $2::uuid IS NOT NULL AND $3::text <> '') x ORDER BY x.name, x.generation`},
	{"contracts", `SELECT row_to_json(x) FROM contracts x WHERE (account, version) IN (SELECT r.account, a.contract_version FROM attempts a
    JOIN refunds r USING (tenant_id, rid)
		WHERE a.tenant_id = $1 AND a.rid = $2) AND $3::text <> '' ORDER BY version`},
	{"journal_anchors", `SELECT row_to_json(x) FROM journal_anchors x WHERE upto_pos IN (SELECT (SELECT min(upto_pos) FROM journal_anchors n
    WHERE n.upto_pos >= j.pos)
		FROM journal j WHERE j.tenant_id = $1 AND j.rid = $2) AND $3::text <> '' ORDER BY upto_pos`},
}

// Export reads the evidence of one refund from one snapshot. Errors: refund.ErrNotFound, refund.ErrUnavailable.
func (v *Verifier) Export(ctx context.Context, tenant, refundID string) (Evidence, error) {
	out := Evidence{Format: EvidenceFormat, Tenant: tenant, RefundID: refundID, Installation: v.installation, Tables: map[string][]json.RawMessage{}}
	tx, err := v.db.Snapshot(ctx)
	if err != nil {
		return out, pg.Translate(err)
	}
	defer pg.Undo(ctx, tx)
	var id int64
	var rid [16]byte
	var payment string
	err = tx.QueryRow(ctx, `SELECT r.tenant_id, r.rid, r.payment_id, clock_timestamp() FROM refund_keys k JOIN refunds r USING (tenant_id, rid)
		WHERE k.tenant_id = (SELECT tenant_id FROM tenants WHERE code = $1) AND k.refund_id = $2`, tenant, refundID).Scan(&id, &rid, &payment, &out.ExportedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return out, fmt.Errorf("%w: refund %s of tenant %s", refund.ErrNotFound, refundID, tenant)
	}
	if err != nil {
		return out, pg.Translate(err)
	}
	for _, t := range evidenceTables {
		rows, err := tx.Query(ctx, t.sql, id, rid, payment)
		if err != nil {
			return out, fmt.Errorf("table %s: %w", t.name, pg.Translate(err))
		}
		all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (raw json.RawMessage, err error) {
			err = row.Scan(&raw)
			return raw, err
		})
		if err != nil {
			return out, fmt.Errorf("table %s: %w", t.name, pg.Translate(err))
		}
		out.Tables[t.name] = append([]json.RawMessage{}, all...)
	}
	return out, nil
}
