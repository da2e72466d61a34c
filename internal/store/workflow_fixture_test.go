package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// jobLog is an Enqueuer that remembers enqueued jobs, also those of rolled-back transactions.
type jobLog struct {
	mu   sync.Mutex
	jobs []refund.Wakeup
}

func (l *jobLog) EnqueueTx(_ context.Context, _ pgx.Tx, w []refund.Wakeup) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs = append(l.jobs, w...)
	return nil
}

// take returns the jobs since the last call.
func (l *jobLog) take() []refund.Wakeup {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.jobs
	l.jobs = nil
	return out
}

// requestDigest stands for the digest of a request.
var requestDigest = bytes.Repeat([]byte{7}, 32)

// testWorkflow is a testStore with the side of the store that workers use: jobs are logged, times are the defaults.
type testWorkflow struct {
	*testStore
	jobs     *jobLog
	contract refund.Contract
}

func newWorkflow(t *testing.T) *testWorkflow {
	t.Helper()
	b := newTestStore(t)
	f := &testWorkflow{testStore: b, jobs: &jobLog{}, contract: testContract()}
	f.cfg.Enqueuer = f.jobs
	return f
}

// openSecond opens another store on the same database, by another address.
func (f *testWorkflow) openSecond(t *testing.T, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{URL: url, Accounts: anyAccount{f.contract}, Enqueuer: f.jobs, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// refunds accepts n refunds of 100, each on a payment of its own of 1000.
func (f *testWorkflow) refunds(t *testing.T, prefix string, n int) []refund.RefundRef {
	t.Helper()
	var keys []refund.RefundRef
	for from := 0; from < n; from += 100 {
		var g []intake.Intake
		for i := from; i < min(n, from+100); i++ {
			id := fmt.Sprintf("%s_%d", prefix, i)
			g = append(g, f.request("ev_"+id, id, "pay_"+id, 100, inlinePayment(1000)))
		}
		for i, o := range f.accept(t, g...) {
			if o.Verdict != intake.Taken {
				t.Fatalf("%s: %s %s", g[i].Refund.RefundID, o.Verdict, o.Code)
			}
			keys = append(keys, o.Refund.RefundRef)
		}
	}
	f.jobs.take()
	return keys
}

func (f *testWorkflow) refund(t *testing.T, id string) refund.RefundRef {
	return f.refunds(t, id, 1)[0]
}

func (f *testWorkflow) load(t *testing.T, k refund.RefundRef) refund.Record {
	t.Helper()
	r, err := f.Load(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// claimOf is the claim that a worker would send for the record.
func (f *testWorkflow) claimOf(r refund.Record, kind refund.AttemptKind, lease time.Duration) refund.Claim {
	return refund.Claim{RefundRef: r.RefundRef, State: r.State, Generation: r.Generation, JournalSeq: r.JournalSeq, Kind: kind, Dispatch: r.DispatchNo,
		Contract: f.contract, Lease: lease, Margin: lease / 5, SendWindow: 3 * time.Second, ClockMargin: refund.ClockMargin, RequestDigest: requestDigest}
}

func (f *testWorkflow) claim(t *testing.T, k refund.RefundRef, kind refund.AttemptKind, lease time.Duration) refund.Claimed {
	t.Helper()
	c, err := f.Claim(t.Context(), f.claimOf(f.load(t, k), kind, lease))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// enter enters a fact. A fact of a notice comes with its notice, as in production.
func (f *testWorkflow) enter(t *testing.T, k refund.RefundRef, fact refund.Fact) refund.Change {
	t.Helper()
	f.storeNotice(t, k, fact)
	ch, err := f.Enter(t.Context(), k, fact, f.contract)
	if err != nil {
		t.Fatalf("enter %s: %v", fact.Kind, err)
	}
	return ch
}

// storeNotice stores the notice of a fact whose source is one.
func (f *testWorkflow) storeNotice(t *testing.T, k refund.RefundRef, fact refund.Fact) {
	t.Helper()
	if fact.Source != "notice" {
		return
	}
	n := refund.KeptNotice{Notice: refund.Notice{ChannelRefundID: fact.ChannelRefundID, Status: fact.Kind, Amount: fact.Amount, Currency: fact.Currency},
		Headers: map[string][]string{}, Body: []byte{}}
	_, _ = rand.Read(n.Digest[:]) // never fails
	if err := pgx.BeginFunc(t.Context(), f.pool, func(tx pgx.Tx) error {
		_, _, err := keepNotice(t.Context(), tx, "demo", n, &k)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func succeeded(c refund.Claimed, id string) refund.Fact {
	return refund.FactOf(c.Attempt, refund.Answer{Kind: refund.Succeeded, ChannelRefundID: id, Amount: 100, Currency: "USD", Rule: "status"})
}

func answered(c refund.Claimed, kind refund.FactKind) refund.Fact {
	return refund.FactOf(c.Attempt, refund.Answer{Kind: kind, Rule: "test"})
}

func (f *testWorkflow) wantState(t *testing.T, k refund.RefundRef, want refund.State) refund.Record {
	t.Helper()
	r := f.load(t, k)
	if r.State != want {
		t.Fatalf("state %s, want %s", r.State, want)
	}
	return r
}

// waitUntil polls the database's clock past a time: leases end by it.
func (f *testWorkflow) waitUntil(t *testing.T, at time.Time) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		var past bool
		if err := f.pool.QueryRow(t.Context(), `SELECT pg_sleep(0.01) IS NOT NULL AND clock_timestamp() > $1`, at).Scan(&past); err != nil {
			t.Fatal(err)
		}
		if past {
			return
		}
	}
	t.Fatalf("the database's clock did not reach %s", at)
}

// wantSound checks what must hold after anything: balances, ledger, journal chain, heads, attempts.
func (f *testWorkflow) wantSound(t *testing.T) {
	t.Helper()
	for name, sql := range map[string]string{
		"reserved is the sum of open refunds": `SELECT count(*) FROM payments p WHERE p.reserved <> (SELECT coalesce(sum(r.amount), 0) FROM refunds r
			WHERE (r.tenant_id, r.payment_id) = (p.tenant_id, p.payment_id) AND r.final_at IS NULL)`,
		"refunded is the sum of standing effects": `SELECT count(*) FROM payments p WHERE p.refunded <> (SELECT coalesce(sum(e.counted), 0) FROM effects e
			WHERE (e.tenant_id, e.payment_id) = (p.tenant_id, p.payment_id) AND e.status = 'MOVED')`,
		"one posting per effect that moved": `SELECT count(*) FROM effects e WHERE (e.status IN ('MOVED', 'REVERSED')) <>
			EXISTS (SELECT FROM postings g WHERE (g.tenant_id, g.effect_id, g.kind) = (e.tenant_id, e.effect_id, 'REFUND'))`,
		"one mirror per effect that returned": `SELECT count(*) FROM effects e WHERE (e.status = 'REVERSED') <>
			EXISTS (SELECT FROM postings g WHERE (g.tenant_id, g.effect_id, g.kind) = (e.tenant_id, e.effect_id, 'REVERSAL'))`,
		"postings name known accounts": `SELECT count(*) FROM ledger_entries l WHERE NOT EXISTS (SELECT FROM ledger_accounts a
			WHERE (a.tenant_id, a.code, a.currency) = (l.tenant_id, l.account, l.currency))`,
		"the head is the newest row": `SELECT count(*) FROM refunds r WHERE NOT EXISTS (SELECT FROM journal j WHERE (j.tenant_id, j.rid, j.seq) =
			(r.tenant_id, r.rid, r.journal_seq) AND j.hash = r.journal_head AND j.to_state = r.state AND j.generation = r.generation)`,
		"no gap and no break of states": `SELECT count(*) FROM (SELECT seq, from_state, lag(seq) OVER w AS s, lag(to_state) OVER w AS st, pos, lag(pos) OVER w AS p
			FROM journal WINDOW w AS (PARTITION BY tenant_id, rid ORDER BY seq)) j WHERE seq <> coalesce(s, 0) + 1 OR from_state IS DISTINCT FROM st OR pos < p`,
		"an open case is the refund's": `SELECT count(*) FROM cases c JOIN refunds r USING (tenant_id, rid) WHERE (c.closed_at IS NULL) <> (r.case_id IS NOT DISTINCT FROM c.case_id)`,
		"exposure of the refund is that of its numbers": `SELECT count(*) FROM refunds r WHERE r.exposed <> EXISTS
			(SELECT FROM dispatches d WHERE (d.tenant_id, d.rid) = (r.tenant_id, r.rid) AND d.exposed)`,
		"attempts are counted": `SELECT count(*) FROM refunds r WHERE r.attempt_no <> (SELECT count(*) FROM attempts a WHERE (a.tenant_id, a.rid) = (r.tenant_id, r.rid))`,
	} {
		if n := f.count(t, sql); n != 0 {
			t.Errorf("%s: %d violations", name, n)
		}
	}
	f.wantChain(t)
}

// wantChain recomputes digests and hashes in Go from the stored columns.
func (f *testWorkflow) wantChain(t *testing.T) {
	t.Helper()
	rows, err := f.pool.Query(t.Context(), `SELECT rid, seq, kind, coalesce(from_state, ''), to_state, generation, source, actor, fact_key, at, data, digest, hash
		FROM journal ORDER BY tenant_id, rid, seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var prev [32]byte
	for rows.Next() {
		var (
			rid                           [16]byte
			seq, generation               int
			kind, from, to, src, by, data string
			at                            time.Time
			key, digest, hash             []byte
		)
		if err := rows.Scan(&rid, &seq, &kind, &from, &to, &generation, &src, &by, &key, &at, &data, &digest, &hash); err != nil {
			t.Fatal(err)
		}
		if seq == 1 {
			prev = [32]byte{}
		}
		want := refund.Entry{Kind: kind, From: refund.State(from), To: refund.State(to), Generation: generation, Source: src, Actor: by, FactKey: key, Data: data}.Digest()
		prev = refund.JournalHash(prev, rid, int32(seq), at, want)
		if string(digest) != string(want[:]) || string(hash) != string(prev[:]) {
			t.Fatalf("refund %s seq %d (%s): digest or hash is not what its columns give", refund.RID(rid), seq, kind)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
