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

// claimSQL makes the caller the owner of a refund's next call and records the call before it happens: one statement, one transaction, one
// round trip. It returns no row, and changes nothing, if one of these is true.
//
// For every kind of call: the refund's state, generation or journal seq differs from what the caller read; its row is locked; its lease
// has not ended (one longer than refund.LongestLease was given by a clock that ran ahead, and counts as ended); the dispatch does not exist; or not_after has passed. No first byte of the call may leave after not_after (rule R4 of
// docs/rules.md).
//
// For sends alone: a case or a proposal stops them (pg.SendsStopped); the channel has not yet answered whether it executed the dispatch that
// a resend replaced (ask_no); the dispatch is not the refund's newest one (dispatch_no); sending is held; the table installation has another
// oid than the recorded one, because a dump was restored; the payment has excess that nobody accepted; or the spacing since the last send
// of the payment has not ended. The key's expiry is part of not_after for sends alone.
//
// The first send fixes when the key expires; a later contract with another lifetime counts from that send too and can only shorten it.
//
// Only the payment's row is waited for, and only with a spacing; the refund's row is not.
//
// The claim is the protection against a second payment by a worker that takes over. From the claim of a send on, the refund is exposed:
// the channel may have executed the send. not_after is before the end of the lease, so the former owner starts no call once another worker
// may claim. The number is sent again only when the contract and the stored answers allow it (refund.Decide).
//
// The parameters are the fields of claimArgs.
var claimSQL = pg.Named[claimArgs](claimReadyPart + claimMovePart)

// claimPooledSQL is claimSQL for connections through a pooler, which stay open when the database behind it is replaced. For sends it also
// checks, in the same statement, that the database is the recorded one, on the recorded cluster and timeline (unless a failover is lossless),
// and not behind the WAL position that this process has seen on the timeline.
var claimPooledSQL = pg.Named[claimArgs](claimReadyPart + `
      AND (@kind::text <> 'SEND' OR EXISTS (SELECT FROM pg_database b, pg_control_system() s, pg_control_checkpoint() c,
          LATERAL (SELECT greatest(c.timeline_id, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int) AS timeline) t
        WHERE b.datname = current_database() AND coalesce(i.database_oid, b.oid) = b.oid
        AND (@lossless::bool OR (s.system_identifier::text = i.system_identifier AND t.timeline = i.timeline))
        AND (i.agreed_at > @seen_agreed_at OR s.system_identifier::text <> @seen_system OR t.timeline <> @seen_timeline
          OR pg_current_wal_flush_lsn() - '0/0'::pg_lsn >= @seen_wal::bigint)))` + claimMovePart)

// claimArgs are the parameters of a claim.
type claimArgs struct {
	Tenant        int64    `arg:"tenant"`
	RID           [16]byte `arg:"rid"`
	State         string   `arg:"state"` // as the caller saw it, like generation and journal seq
	Generation    int      `arg:"generation"`
	JournalSeq    int      `arg:"journal_seq"`
	Kind          string   `arg:"kind"`
	Dispatch      int      `arg:"dispatch"`
	StateAfter    string   `arg:"state_after"`
	Contract      int      `arg:"contract"`       // its version
	RequestDigest []byte   `arg:"request_digest"` // digest of what is sent

	Lease       time.Duration `arg:"lease"`
	LongestOne  time.Duration `arg:"longest_lease"`
	Margin      time.Duration `arg:"margin"`       // before the lease's end, in which no call starts
	SendWindow  time.Duration `arg:"send_window"`  // longest time from the claim to the first byte
	KeyLifetime time.Duration `arg:"key_lifetime"` // 0 = no end
	KeyMargin   time.Duration `arg:"key_margin"`   // before the key's end: Contract.Horizon + Claim.ClockMargin
	AbsenceLag  time.Duration `arg:"absence_lag"`  // Contract.Horizon + visibilityLag
	Spacing     time.Duration `arg:"spacing"`      // of a payment's sends; 0 = none

	Lossless     bool      `arg:"lossless"`       // a failover is declared lossless
	SeenAgreedAt time.Time `arg:"seen_agreed_at"` // what this process has seen of the database
	SeenSystem   string    `arg:"seen_system"`
	SeenTimeline int       `arg:"seen_timeline"`
	SeenWAL      int64     `arg:"seen_wal"`

	EntryKind   string `arg:"entry_kind"` // of the journal row
	EntryData   string `arg:"entry_data"`
	EntryDigest []byte `arg:"entry_digest"`
}

var claimReadyPart = `WITH seen AS MATERIALIZED (
    SELECT r.tenant_id, r.rid, r.payment_id, r.attempt_no, r.epoch
    FROM refunds r
    WHERE r.tenant_id = @tenant AND r.rid = @rid AND r.state = @state AND r.generation = @generation AND r.journal_seq = @journal_seq
      AND (r.lease_ends_at IS NULL OR r.lease_ends_at <= clock_timestamp() OR r.lease_ends_at > clock_timestamp() + @longest_lease::interval)
      AND (@kind::text <> 'SEND' OR (r.ask_no IS NULL AND r.dispatch_no = @dispatch AND (r.case_id IS NULL OR NOT (` + pg.SendsStopped + `))))
    FOR NO KEY UPDATE SKIP LOCKED
  ), payment_slot AS MATERIALIZED (
    SELECT p.tenant_id, p.payment_id
    FROM seen s JOIN payments p ON (p.tenant_id, p.payment_id) = (s.tenant_id, s.payment_id)
    WHERE @spacing::interval > interval '0' AND (p.next_send_at IS NULL OR p.next_send_at <= clock_timestamp()
        OR p.next_send_at > clock_timestamp() + @spacing::interval)
    FOR NO KEY UPDATE OF p
  ), ready AS MATERIALIZED (
    SELECT s.*, greatest(s.epoch, i.epoch) AS new_epoch, i.agreed_at, d.key_expires_at, clock_timestamp() AS at
    FROM seen s
      JOIN dispatches d ON (d.tenant_id, d.rid, d.no) = (s.tenant_id, s.rid, @dispatch)
      JOIN installation i ON i.one
      JOIN payments b ON (b.tenant_id, b.payment_id) = (s.tenant_id, s.payment_id)
      LEFT JOIN payment_slot t ON t.tenant_id = s.tenant_id
    WHERE (@kind::text <> 'SEND' OR (i.sending_held_since IS NULL AND b.excess <= b.excess_accepted
        AND coalesce(i.table_oid, i.tableoid::bigint) = i.tableoid::bigint))
      AND (@spacing::interval = interval '0' OR t.tenant_id IS NOT NULL)`

const claimMovePart = `
  ), with_key_end AS MATERIALIZED (
    SELECT y.*, y.at + @lease::interval AS lease_ends_at,
      CASE WHEN @kind::text <> 'SEND' THEN NULL WHEN @key_lifetime::interval = interval '0' THEN y.key_expires_at
        ELSE least(y.key_expires_at, coalesce((SELECT min(a.started_at) FROM attempts a
          WHERE (a.tenant_id, a.rid) = (y.tenant_id, y.rid) AND a.dispatch_no = @dispatch AND a.kind = 'SEND'),
          y.at) + @key_lifetime::interval) END AS key_ends_at
    FROM ready y
  ), with_deadline AS MATERIALIZED (
    SELECT k.*, least(k.at + @send_window::interval, k.lease_ends_at - @margin::interval, k.key_ends_at - @key_margin::interval) AS not_after
    FROM with_key_end k
  ), claimed AS (
    UPDATE refunds r SET state = @state_after, exposed = r.exposed OR @kind::text = 'SEND',
      pending_reason = CASE WHEN @state_after = 'PENDING' THEN r.pending_reason END,
      epoch = f.new_epoch, generation = r.generation + 1, lease_ends_at = f.lease_ends_at, next_action_at = f.lease_ends_at,
      attempt_no = r.attempt_no + 1, journal_seq = r.journal_seq + 1,
      journal_head = sha256(r.journal_head || uuid_send(r.rid) || int4send(r.journal_seq + 1) || timestamptz_send(f.at) || @entry_digest::bytea),
      state_since = CASE WHEN r.state = @state_after THEN r.state_since ELSE f.at END, updated_at = f.at
    FROM with_deadline f
    WHERE (r.tenant_id, r.rid) = (f.tenant_id, f.rid) AND f.not_after > f.at
    RETURNING r.tenant_id, r.rid, r.epoch, r.generation, r.attempt_no, r.journal_seq, r.journal_head, f.payment_id, f.at, f.not_after, f.key_ends_at, f.agreed_at
  ), attempt_row AS (
    INSERT INTO attempts (tenant_id, rid, no, epoch, dispatch_no, kind, generation, contract_version, request_digest, started_at, not_after)
    SELECT tenant_id, rid, attempt_no, epoch, @dispatch, @kind::text, generation, @contract, @request_digest::bytea, at, not_after FROM claimed
  ), journal_row AS (
    INSERT INTO journal (tenant_id, rid, seq, kind, from_state, to_state, generation, source, actor, at, data, digest, hash)
    SELECT tenant_id, rid, journal_seq, @entry_kind, @state, @state_after, generation, 'worker', 'system:worker', at, @entry_data, @entry_digest::bytea,
    journal_head FROM claimed
    RETURNING pos
  ), dispatch_row AS (
    UPDATE dispatches d SET exposed = true, key_expires_at = m.key_ends_at, absence_counts_from = greatest(d.absence_counts_from,
    m.not_after + @absence_lag::interval)
    FROM claimed m WHERE @kind::text = 'SEND' AND (d.tenant_id, d.rid, d.no) = (m.tenant_id, m.rid, @dispatch)
  ), payment_row AS (
    UPDATE payments p SET next_send_at = m.at + @spacing::interval
    FROM claimed m WHERE @spacing::interval > interval '0' AND (p.tenant_id, p.payment_id) = (m.tenant_id, m.payment_id)
  )
  SELECT m.attempt_no, m.epoch, m.generation, m.at, m.not_after, m.agreed_at, j.pos FROM claimed m, journal_row j`

// Claim takes the next call of a refund as its contract allows: generation + 1, lease, attempt row, exposure, journal row. All times are
// the database's, except Claimed.Send: the caller reads its clock, calls Claim, and lets the first byte leave within Claimed.Send of that
// reading. That is never later than NotAfter.
//
// Errors: ErrNotOwner where claimSQL or claimPooledSQL returns no row, because the refund has changed, is locked or leased, or may not be
// sent now (the caller stops or reads again); ErrBusy if the payment's row, for a send with
// a spacing, stayed locked for Config.LockTimeout; ErrUnavailable. After an error nothing may be sent: the lease of a claim that did commit
// ends by itself.
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
	seen := s.epochs.highest()
	args := claimArgs{
		Tenant: int64(c.Tenant), RID: c.RID, State: string(c.State), Generation: c.Generation, JournalSeq: c.JournalSeq,
		Kind: string(c.Kind), Dispatch: c.Dispatch, StateAfter: string(to), Contract: c.Contract.Version, RequestDigest: emptyIfNil(c.RequestDigest),
		Lease: c.Lease, LongestOne: refund.LongestLease, Margin: c.Margin, SendWindow: c.SendWindow,
		KeyLifetime: c.Contract.Key.Lifetime.D(), KeyMargin: c.Contract.Horizon.D() + c.ClockMargin,
		AbsenceLag: c.Contract.Horizon.D() + visibilityLag(c.Contract), Spacing: spacing,
		Lossless: !s.cfg.HoldOnFailover, SeenAgreedAt: seen.AgreedAt, SeenSystem: seen.System, SeenTimeline: seen.Timeline, SeenWAL: seen.WAL,
		EntryKind: entry.Kind, EntryData: entry.Data, EntryDigest: digest[:],
	}
	statement := s.claimStatement()
	row := s.pool.QueryRow(ctx, statement.SQL, statement.Args(&args)...)
	var agreedAt *time.Time
	var pos int64
	err = row.Scan(&out.No, &out.Epoch, &out.Generation, &out.StartedAt, &out.NotAfter, &agreedAt, &pos)
	if errors.Is(err, pgx.ErrNoRows) {
		return refund.Claimed{}, fmt.Errorf("%w: claim of %s", refund.ErrNotOwner, c.RID)
	}
	if err != nil {
		return refund.Claimed{}, pg.Translate(err)
	}
	s.epochs.wrote(agreedAt, pos)
	fault.Point(after)
	out.Send = out.NotAfter.Sub(out.StartedAt)
	return out, nil
}

// claimStatement returns claimPooledSQL where new connections do not reveal a restore or a failover (see onConnect), else claimSQL.
func (s *Store) claimStatement() pg.Statement[claimArgs] {
	if s.cfg.Params == pg.ParamsRole && (s.cfg.HoldOnFailover || s.cfg.HoldOnRestore) {
		return claimPooledSQL
	}
	return claimSQL
}

// claimEntry is the claim's journal row. It does not contain the attempt's number, which the statement assigns.
func claimEntry(c refund.Claim, kind refund.FactKind, to refund.State) (refund.Entry, error) {
	data, err := refund.CanonicalJSON(map[string]any{"dispatch": c.Dispatch, "call": string(c.Kind), "contract": c.Contract.Version})
	if err != nil {
		return refund.Entry{}, err
	}
	names := map[refund.FactKind]string{refund.ClaimSend: "claim_send", refund.ClaimAsk: "claim_ask"}
	return refund.Entry{Kind: names[kind], From: c.State, To: to, Generation: c.Generation + 1, Source: "worker", Actor: "system:worker", Data: data}, nil
}

// visibilityLag is how long the channel may hide a refund that it has executed: from its query, or from its list where it has no query.
func visibilityLag(c refund.Contract) time.Duration {
	if c.Query.Automatic() {
		return c.Query.VisibilityLag.D()
	}
	return c.List.VisibilityLag.D()
}

// emptyIfNil returns an empty digest instead of nil: the column is never NULL.
func emptyIfNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
