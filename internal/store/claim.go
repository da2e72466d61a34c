package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// claimSQL makes the caller the owner of a refund's next call, and writes that the call is about to happen: one statement, one
// transaction, one round trip. It gives no row when the refund is not as the caller saw it, somebody holds its row, its lease or (for
// sends) its payment's turn, sending is held, a case is open, or the key would be dead before the first byte could leave. The key's
// end is frozen by the first send; another lifetime in a later contract counts from that send too, and only ever makes it earlier.
//
// $1 tenant, $2 rid, $3 state, $4 generation, $5 journal seq: what the caller saw. $6 kind, $7 dispatch, $8 state after, $9 lease,
// $10 margin before its end, $11 send window, $12 key lifetime (0 = no end), $13 what a key's death is kept away from (horizon and clock
// margin), $14 horizon and visibility lag, $15 spacing of sends (0 = none), $16 contract version, $17 request digest, $18 journal
// kind, $19 journal data, $20 journal digest.
const claimSQL = claimReadyPart + claimMovePart

// claimPooledSQL is claimSQL for connections through a pooler, which stay open when the database behind it moves: a send is claimed only
// on the cluster and timeline that the installation agreed to be on, in the same statement.
const claimPooledSQL = claimReadyPart + `
      AND ($6::text <> 'SEND' OR EXISTS (SELECT FROM pg_control_system() s, pg_control_checkpoint() c WHERE s.system_identifier::text = i.system_identifier
        AND i.timeline = greatest(c.timeline_id, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int)))` + claimMovePart

const claimReadyPart = `WITH seen AS MATERIALIZED (
    SELECT r.tenant_id, r.rid, r.payment_id, r.attempt_no, r.epoch
    FROM refunds r
    WHERE r.tenant_id = $1 AND r.rid = $2 AND r.state = $3 AND r.generation = $4 AND r.journal_seq = $5
      AND (r.lease_ends_at IS NULL OR r.lease_ends_at <= clock_timestamp())
      AND ($6::text <> 'SEND' OR (r.case_id IS NULL AND r.ask_no IS NULL AND r.dispatch_no = $7))
    FOR NO KEY UPDATE SKIP LOCKED
  ), turn AS MATERIALIZED (
    SELECT p.tenant_id, p.payment_id
    FROM seen s JOIN payments p ON (p.tenant_id, p.payment_id) = (s.tenant_id, s.payment_id)
    WHERE $15::interval > interval '0' AND (p.next_send_at IS NULL OR p.next_send_at <= clock_timestamp())
    FOR NO KEY UPDATE OF p
  ), ready AS MATERIALIZED (
    SELECT s.*, greatest(s.epoch, i.epoch) AS new_epoch, d.key_expires_at, clock_timestamp() AS at
    FROM seen s
      JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (s.tenant_id, s.rid, $7)
      JOIN installation i ON i.one
      LEFT JOIN turn t ON t.tenant_id = s.tenant_id
    WHERE ($6::text <> 'SEND' OR i.sending_held_since IS NULL) AND ($15::interval = interval '0' OR t.tenant_id IS NOT NULL)`

const claimMovePart = `
  ), keyed AS MATERIALIZED (
    SELECT y.*, y.at + $9::interval AS lease_ends_at,
      CASE WHEN $6::text <> 'SEND' THEN NULL WHEN $12::interval = interval '0' THEN y.key_expires_at
        ELSE least(y.key_expires_at, coalesce((SELECT min(a.started_at) FROM attempts a
          WHERE (a.tenant_id, a.rid) = (y.tenant_id, y.rid) AND a.dispatch_no = $7 AND a.kind = 'SEND'), y.at) + $12::interval) END AS key_ends_at
    FROM ready y
  ), fenced AS MATERIALIZED (
    SELECT k.*, least(k.at + $11::interval, k.lease_ends_at - $10::interval, k.key_ends_at - $13::interval) AS not_after
    FROM keyed k
  ), moved AS (
    UPDATE refunds r SET state = $8, exposed = r.exposed OR $6::text = 'SEND',
      pending_reason = CASE WHEN $8 = 'PENDING' THEN r.pending_reason END,
      epoch = f.new_epoch, generation = r.generation + 1, lease_ends_at = f.lease_ends_at, next_action_at = f.lease_ends_at,
      attempt_no = r.attempt_no + 1, journal_seq = r.journal_seq + 1,
      journal_head = sha256(r.journal_head || uuid_send(r.rid) || int4send(r.journal_seq + 1) || timestamptz_send(f.at) || $20::bytea),
      state_since = CASE WHEN r.state = $8 THEN r.state_since ELSE f.at END, updated_at = f.at
    FROM fenced f
    WHERE (r.tenant_id, r.rid) = (f.tenant_id, f.rid) AND f.not_after > f.at
    RETURNING r.tenant_id, r.rid, r.epoch, r.generation, r.attempt_no, r.journal_seq, r.journal_head, f.payment_id, f.at, f.not_after, f.key_ends_at
  ), written AS (
    INSERT INTO attempts (tenant_id, rid, no, epoch, dispatch_no, kind, generation, contract_version, request_digest, started_at, not_after)
    SELECT tenant_id, rid, attempt_no, epoch, $7, $6::text, generation, $16, $17::bytea, at, not_after FROM moved
  ), told AS (
    INSERT INTO journal (tenant_id, rid, seq, kind, from_state, to_state, generation, source, actor, at, data, digest, hash)
    SELECT tenant_id, rid, journal_seq, $18, $3, $8, generation, 'worker', 'system:worker', at, $19, $20::bytea, journal_head FROM moved
  ), exposed AS (
    UPDATE dispatches d SET exposed = true, key_expires_at = m.key_ends_at, absence_counts_from = greatest(d.absence_counts_from, m.not_after + $14::interval)
    FROM moved m WHERE $6::text = 'SEND' AND (d.tenant_id, d.rid, d.no) = (m.tenant_id, m.rid, $7)
  ), spaced AS (
    UPDATE payments p SET next_send_at = m.at + $15::interval
    FROM moved m WHERE $15::interval > interval '0' AND (p.tenant_id, p.payment_id) = (m.tenant_id, m.payment_id)
  )
  SELECT attempt_no, epoch, generation, at, not_after FROM moved`

// Claim takes the next call of a refund as its contract allows: generation + 1, lease, attempt row, exposure, journal row. The times
// are the database's; what comes back for the local clock is a duration. Errors: ErrNotOwner (whatever the reason, the caller stops or
// looks again), ErrBusy, ErrUnavailable. After any error nothing may be sent: if the claim did happen, its lease ends by itself.
func (s *Store) Claim(ctx context.Context, c refund.Claim) (refund.Claimed, error) {
	send := c.Kind == refund.AttemptSend
	to := c.State
	kind, spacing := refund.ClaimAsk, time.Duration(0)
	if send {
		kind, spacing = refund.ClaimSend, c.Contract.Limits.Spacing.D()
		if c.State == refund.StatePending {
			to = refund.StateProcessing
		}
	}
	entry, err := claimEntry(c, kind, to)
	if err != nil {
		return refund.Claimed{}, err
	}
	digest := entry.Digest()
	before, after := fault.ClaimAskBefore, fault.ClaimAskCommitted
	if send {
		before, after = fault.ClaimBefore, fault.ClaimCommitted
	}
	fault.Point(before)
	out := refund.Claimed{Attempt: refund.Attempt{DispatchNo: c.Dispatch, Kind: c.Kind, ContractVersion: c.Contract.Version}}
	row := s.pool.QueryRow(ctx, s.claimStatement(), int64(c.Tenant), [16]byte(c.RID), string(c.State), c.Generation, c.JournalSeq,
		string(c.Kind), c.Dispatch, string(to), c.Lease, c.Margin, c.SendWindow, c.Contract.Key.Lifetime.D(), c.Contract.Horizon.D()+c.ClockSkew,
		c.Contract.Horizon.D()+visibilityLag(c.Contract), spacing, c.Contract.Version, requestDigest(c.Request), entry.Kind, entry.Data, digest[:])
	err = row.Scan(&out.No, &out.Epoch, &out.Generation, &out.StartedAt, &out.NotAfter)
	if errors.Is(err, pgx.ErrNoRows) {
		return refund.Claimed{}, fmt.Errorf("%w: claim of %s", refund.ErrNotOwner, c.RID)
	}
	if err != nil {
		return refund.Claimed{}, pg.Translate(err)
	}
	fault.Point(after)
	out.Send = out.NotAfter.Sub(out.StartedAt)
	return out, nil
}

// claimStatement is claimSQL, or claimPooledSQL where a new connection is no sign of a move that holdIfMoved could see.
func (s *Store) claimStatement() string {
	if s.cfg.Params == pg.ParamsRole && s.cfg.HoldOnFailover {
		return claimPooledSQL
	}
	return claimSQL
}

// claimEntry is the claim's journal row. The attempt's number is not in it: it is drawn inside the statement.
func claimEntry(c refund.Claim, kind refund.FactKind, to refund.State) (refund.Entry, error) {
	data, err := refund.CanonicalJSON(map[string]any{"dispatch": c.Dispatch, "call": string(c.Kind), "contract": c.Contract.Version})
	if err != nil {
		return refund.Entry{}, err
	}
	names := map[refund.FactKind]string{refund.ClaimSend: "claim_send", refund.ClaimAsk: "claim_ask"}
	return refund.Entry{Kind: names[kind], From: c.State, To: to, Generation: c.Generation + 1, Source: "worker", Actor: "system:worker", Data: data}, nil
}

// visibilityLag is how long a done refund may be hidden from whatever can be asked: the query, else the list.
func visibilityLag(c refund.Contract) time.Duration {
	if c.Query.Automatic() {
		return c.Query.VisibilityLag.D()
	}
	return c.List.VisibilityLag.D()
}

// requestDigest keeps the column's promise of never being null for callers that send nothing worth a digest.
func requestDigest(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
