package store

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
)

// plant runs statements without triggers and foreign keys.
func (f *testWorkflow) plant(t *testing.T, sql string) {
	t.Helper()
	if sql == "" {
		return
	}
	conn, err := pgx.Connect(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), planting(sql)); err != nil {
		t.Fatal(err)
	}
}

// planting completes the text of a plant: it fills in names and disables triggers.
func planting(sql string) string {
	var names []string
	for _, name := range []string{"success", "unknown", "failed", "processing", "pending", "reversed", "accepted", "late", "renumbered", "decided", "doubled"} {
		names = append(names, "$"+name, "(SELECT rid FROM refunds WHERE refund_id = '"+name+"_0')")
	}
	for _, name := range []string{"first", "second"} {
		names = append(names, "$"+name, "(SELECT rid FROM refunds WHERE refund_id = '"+name+"')")
	}
	return `SET search_path = refundry; SET session_replication_role = replica; ` + strings.NewReplacer(names...).Replace(sql)
}

// lineOf stores a held line of a refund's amount. rest are the columns covered_by and not_of.
func lineOf(name, rest string) string {
	return `INSERT INTO effects (tenant_id, effect_id, account, payment_id, channel_refund_id, amount, currency, counted, status, source, at, covered_by, not_of)
		SELECT tenant_id, gen_random_uuid(), account, payment_id, 're_held', amount, currency, amount, 'HELD', 'list', now(), ` + rest + `
		FROM refunds WHERE rid = ` + name
}

// tailAdded writes a valid journal row without a change of the refund.
func tailAdded(t *testing.T, f *testWorkflow) {
	r, err := f.reader().FindRefund(t.Context(), f.tenant.ID, "pending_0")
	if err != nil {
		t.Fatal(err)
	}
	e := refund.Entry{Kind: "withdrawn", From: refund.StatePending, To: refund.StatePending, Source: "cancel", Actor: "actor:test", Data: "{}"}
	at := time.Now().Truncate(time.Microsecond)
	digest := e.Digest()
	hash := refund.JournalHash(r.JournalHead, r.RID, 2, at, digest)
	if _, err := f.pool.Exec(t.Context(), `INSERT INTO journal (tenant_id, rid, seq, kind, from_state, to_state, generation, source, actor, at, data, digest, hash)
		VALUES ($1, $2, 2, $3, $4, $5, 0, $6, $7, $8, '{}', $9, $10)`, int64(r.Tenant), [16]byte(r.RID), e.Kind, string(e.From), string(e.To), e.Source, e.Actor,
		at, digest[:], hash[:]); err != nil {
		t.Fatal(err)
	}
}

// rebuiltRefund rewrites the whole journal of a refund with another amount, chain and head included.
func rebuiltRefund(t *testing.T, f *testWorkflow) {
	r, err := f.reader().FindRefund(t.Context(), f.tenant.ID, "pending_0")
	if err != nil {
		t.Fatal(err)
	}
	e := refund.Entry{To: refund.StatePending}
	var at time.Time
	if err := f.pool.QueryRow(t.Context(), `SELECT kind, source, actor, data, at FROM journal WHERE rid = $1`, [16]byte(r.RID)).Scan(&e.Kind, &e.Source,
		&e.Actor, &e.Data, &at); err != nil {
		t.Fatal(err)
	}
	e.Data = strings.Replace(e.Data, `"amount":100`, `"amount":900`, 1)
	digest := e.Digest()
	hash := refund.JournalHash([32]byte{}, r.RID, 1, at, digest)
	f.plant(t, fmt.Sprintf(`UPDATE journal SET data = '%s', digest = '\x%x', hash = '\x%x' WHERE rid = $pending; UPDATE refunds SET journal_head = '\x%x' WHERE rid = $pending`,
		e.Data, digest, hash, hash))
}

// numberOf gives the dispatch the number that it must have, so that only its ordinal is wrong.
func numberOf(id string, no int) func(t *testing.T, f *testWorkflow) {
	return func(t *testing.T, f *testWorkflow) {
		f.plant(t, fmt.Sprintf(`UPDATE dispatches SET number = '%s' WHERE rid = $pending`, refund.DispatchNumber(f.Installation(), f.tenant.Code, id, no)))
	}
}

// again claims another send of a refund that may have been sent already, under another contract.
func again(version int) func(t *testing.T, f *testWorkflow) {
	return func(t *testing.T, f *testWorkflow) {
		k, _ := f.reader().FindRefund(t.Context(), f.tenant.ID, "unknown_0")
		f.contract = verifyContracts()[version-1]
		f.claim(t, k.RefundRef, refund.AttemptSend, 10*time.Second)
	}
}

// planted is one violation, stored without triggers and foreign keys.
type planted struct {
	promise, check string
	sql            string // $name is the rid of that refund
	do             func(t *testing.T, f *testWorkflow)
}

// plantedTx lets a Verifier read inside the transaction that planted something.
type plantedTx struct{ pgx.Tx }

func (p plantedTx) Snapshot(ctx context.Context) (pgx.Tx, error) { return p.Begin(ctx) }
