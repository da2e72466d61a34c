package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// floorScript writes what the door writes for one new refund: receipt, key, refund, dispatch, journal row, balance, job;
// the same columns with values of the same length. It reads and decides nothing. pgbench takes a colon before a letter or a
// digit for a variable, also in literals: JSON has a space after its colons here.
//
// tenant, account and payments are substituted; n counts in each client.
const floorScript = `\set n :n + 1
\set hi :n / 65536
\set low :n % 65536
\set mid :low / 16
\set p random(0, {{payments}} - 1)
\startpipeline
BEGIN;
INSERT INTO receipts (tenant_id, consumer, source, event_id, month, type, digest, params, outcome, rid, transport, at)
  VALUES ({{tenant}}, 'rest', 'rest', md5(:client_id::text || '-' || :n::text) || '-', date_trunc('month', now() AT TIME ZONE 'UTC')::date, 'refund.requested',
    '\x019af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96',
    json '{"amount": 10,"currency": "USD","orderId": "ord-0001234","paymentId": "pay-0001234","refundId": "rf-0000001234-001"}',
    'TAKEN', {{rid}}, 'bench', now());
INSERT INTO refund_keys (tenant_id, refund_id, rid) VALUES ({{tenant}}, {{refund}}, {{rid}});
INSERT INTO refunds (tenant_id, rid, refund_id, payment_id, order_id, account, channel_reference, currency, exponent, amount, digest,
    state, pending_reason, epoch, next_action_at, journal_seq, journal_head, created_at, state_since, updated_at)
  VALUES ({{tenant}}, {{rid}}, {{refund}}, 'pay-' || lpad(:p::text, 7, '0'), 'ord-' || lpad(:p::text, 7, '0'), '{{account}}', 'bench-pay-' || lpad(:p::text, 7, '0'), 'USD', 2, 10,
    '\x019af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96', 'PENDING', 'queued', 1, now() + interval '10 s', 1,
    '\x9af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96', now(), now(), now());
INSERT INTO dispatches (tenant_id, rid, no, account, number, at)
  VALUES ({{tenant}}, {{rid}}, 1, '{{account}}', 'R1' || upper(md5(:client_id::text || '-' || :n::text)), now());
INSERT INTO journal (tenant_id, rid, seq, kind, to_state, generation, source, actor, at, data, digest, hash)
  VALUES ({{tenant}}, {{rid}}, 1, 'requested', 'PENDING', 0, 'rest', 'actor-bench', now(),
    '{"account": "demo","amount": 10,"consumer": "rest","currency": "USD","digest": "d1-9af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96","orderId": "ord-0001234","paymentId": "pay-0001234","refundId": "rf-0000001234-001","tenant": "bench"}',
    '\x9af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96', '\x9af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96');
UPDATE payments SET reserved = reserved + 10, refunds = refunds + 1, last_rid = {{rid}} WHERE tenant_id = {{tenant}} AND payment_id = 'pay-' || lpad(:p::text, 7, '0');
INSERT INTO river_job (args, kind, max_attempts, queue, state)
  VALUES (jsonb_build_object('rid', {{rid}}, 'tenantId', {{tenant}}, 'generation', 0), 'refund_step', 1000, 'refunds', 'available');
COMMIT;
\endpipeline
`

// floorRID increases with time like a uuid of version 7.
const (
	floorRID    = `('018f6f4e-' || lpad(to_hex(:hi::int), 4, '0') || '-7' || lpad(to_hex(:mid::int), 3, '0') || '-8000-' || lpad(to_hex(:client_id::int), 8, '0') || lpad(to_hex(:low::int), 4, '0'))::uuid`
	floorRefund = `'rf-' || lpad(:n::text, 10, '0') || '-' || lpad(:client_id::text, 3, '0')`
)

// floor runs pgbench and reads its log; the transactions of the warm-up do not count.
func (b *run) floor(ctx context.Context, schema string, tenant refund.Tenant, callers int) (Measure, error) {
	dir, err := os.MkdirTemp("", "refundry-floor-")
	if err != nil {
		return Measure{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script := strings.NewReplacer("{{rid}}", floorRID, "{{refund}}", floorRefund, "{{tenant}}", strconv.FormatInt(int64(tenant.ID), 10),
		"{{account}}", b.cfg.Account, "{{payments}}", strconv.Itoa(b.cfg.Payments)).Replace(floorScript)
	file := filepath.Join(dir, "floor.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return Measure{}, err
	}
	if err := b.checkpoint(ctx); err != nil {
		return Measure{}, err
	}
	seconds := int((b.cfg.Warmup+b.cfg.Duration)/time.Second) + 1                     // pgbench counts whole seconds, including its start
	cmd := exec.CommandContext(ctx, b.cfg.Pgbench, "-n", "-M", "prepared", "-j", "2", // #nosec G204 -- the configured program
		"-c", strconv.Itoa(callers), "-T", strconv.Itoa(seconds),
		"-D", "n=0", "-f", file, "-l", "--log-prefix", filepath.Join(dir, "log"), b.cfg.URL)
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c search_path="+schema)
	before := b.readCPU(ctx)
	if out, err := cmd.CombinedOutput(); err != nil {
		return Measure{}, fmt.Errorf("pgbench: %w: %s", err, tail(out))
	}
	after := b.readCPU(ctx)
	m, all, err := readFloor(dir, b.cfg.Warmup, b.cfg.Duration)
	m.CPU = after.perRefund(before, all)
	return m, err
}

// readFloor reads pgbench's log of transactions: client, number, microseconds, script, second and microsecond of its end
// (https://www.postgresql.org/docs/15/pgbench.html, "Per-Transaction Logging"). The measurement begins a warm-up after the
// first transaction, so that the time of connecting does not count.
func readFloor(dir string, warmup, d time.Duration) (m Measure, all int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		return m, 0, err
	}
	type transaction struct {
		end  time.Time
		took time.Duration
	}
	var done []transaction
	first := time.Time{}
	for _, name := range files {
		f, err := os.Open(name) // #nosec G304 -- made by us
		if err != nil {
			return m, 0, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var client, n, us, script, sec, usec int64
			if _, err := fmt.Sscan(lines.Text(), &client, &n, &us, &script, &sec, &usec); err != nil {
				continue
			}
			x := transaction{time.Unix(sec, usec*1000), time.Duration(us) * time.Microsecond}
			done = append(done, x)
			if first.IsZero() || x.end.Before(first) {
				first = x.end
			}
		}
		_ = f.Close()
		if err := lines.Err(); err != nil {
			return m, 0, err
		}
	}
	from := first.Add(warmup)
	var latencies []time.Duration
	for _, x := range done {
		if x.end.After(from) && x.end.Before(from.Add(d)) {
			latencies = append(latencies, x.took)
		}
	}
	if len(latencies) == 0 {
		return m, 0, fmt.Errorf("pgbench ended no transaction within the measured time; %d before it", len(done))
	}
	return measure(latencies, d), len(done), nil
}

func tail(out []byte) string {
	const most = 600
	return strings.TrimSpace(string(out[max(0, len(out)-most):]))
}
