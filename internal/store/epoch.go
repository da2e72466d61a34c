package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/store/pg"
)

// An epoch begins when the database is not the one that the installation last agreed to: it was restored, or a standby took over. The last
// writes, and the record of what was sent, may be lost. Nothing is sent until every open refund is marked.

// EpochState is the state of the installation.
type EpochState struct {
	Installation     string     `json:"installation"`
	Epoch            int        `json:"epoch"`
	SystemIdentifier string     `json:"systemIdentifier"` // agreed to
	Timeline         int        `json:"timeline"`
	ActualSystem     string     `json:"actualSystemIdentifier"` // of the server
	ActualTimeline   int        `json:"actualTimeline"`
	Moved            bool       `json:"moved"` // they differ
	HeldSince        *time.Time `json:"sendingHeldSince"`
	MarkNewUntil     *time.Time `json:"markNewUntil"` // refunds created before this time are marked too
	Open             int64      `json:"openRefunds"`
	Unmarked         int64      `json:"unmarkedRefunds"` // in the next epoch, or in this one if sending is not held
}

// epochSQL reads the timeline from the WAL too: a server that has taken over writes it there at once, but into its control file only with
// the next checkpoint. On a standby the agreed timeline counts.
const epochSQL = `SELECT i.installation_id::text, i.epoch, i.system_identifier, i.timeline, i.sending_held_since, i.mark_new_until, s.system_identifier::text,
    CASE WHEN pg_is_in_recovery() THEN i.timeline
      ELSE greatest(c.timeline_id, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int) END
  FROM installation i, pg_control_system() s, pg_control_checkpoint() c`

const (
	holdSQL  = `UPDATE installation SET sending_held_since = clock_timestamp() WHERE sending_held_since IS NULL RETURNING sending_held_since`
	adoptSQL = `UPDATE installation SET system_identifier = $1, timeline = $2 WHERE sending_held_since IS NULL AND (system_identifier,
    timeline) IS DISTINCT FROM ($1, $2)`
	openSQL   = `SELECT count(*), count(*) FILTER (WHERE ` + unmarkedCond + `) FROM refunds r WHERE r.final_at IS NULL`
	resumeSQL = `UPDATE installation SET epoch = $1, system_identifier = $2, timeline = $3, sending_held_since = NULL,
    mark_new_until = clock_timestamp() + $4::interval
  WHERE epoch = $1 - 1 AND NOT EXISTS (SELECT FROM refunds r WHERE r.final_at IS NULL AND ` + unmarkedCond + `)`
	markNewSQL = `UPDATE installation SET mark_new_until = clock_timestamp() + $1::interval WHERE sending_held_since IS NULL`

	// $1 is the epoch
	unmarkedCond = `NOT EXISTS (SELECT FROM dispatches d WHERE d.tenant_id = r.tenant_id AND d.rid = r.rid AND d.marked_epoch = $1)`

	unmarkedSQL = `SELECT r.tenant_id, r.rid, r.account FROM refunds r WHERE r.final_at IS NULL AND (r.tenant_id, r.rid) > ($2, $3) AND ` + unmarkedCond + `
  ORDER BY r.tenant_id, r.rid LIMIT $4`
	reappearedRefundsSQL = `SELECT r.tenant_id, r.rid, r.account FROM refunds r, installation i
  WHERE i.sending_held_since IS NULL AND i.mark_new_until > clock_timestamp() - interval '1 day' AND i.epoch = $1
    AND r.final_at IS NULL AND r.created_at < i.mark_new_until AND ` + unmarkedCond + ` LIMIT $2`
)

func readEpoch(ctx context.Context, q pg.Querier) (e EpochState, err error) {
	err = q.QueryRow(ctx, epochSQL).Scan(&e.Installation, &e.Epoch, &e.SystemIdentifier, &e.Timeline, &e.HeldSince, &e.MarkNewUntil, &e.ActualSystem,
		&e.ActualTimeline)
	e.Moved = e.SystemIdentifier != e.ActualSystem || e.Timeline != e.ActualTimeline
	return e, err
}

// EpochState reads the state of the installation. Errors: refund.ErrUnavailable.
func (s *Store) EpochState(ctx context.Context) (EpochState, error) {
	e, err := readEpoch(ctx, s.pool)
	if err != nil {
		return e, pg.Translate(err)
	}
	target := e.Epoch
	if e.Moved || e.HeldSince != nil {
		target++
	}
	return e, pg.Translate(s.pool.QueryRow(ctx, openSQL, target).Scan(&e.Open, &e.Unmarked))
}

// WatchEpoch holds all sending if the database is not the one agreed to. lossless declares that a failover loses nothing: then the new
// server is agreed to instead. WatchEpoch is cheap and meant to run often. Errors: refund.ErrUnavailable.
func (s *Store) WatchEpoch(ctx context.Context, lossless bool) (EpochState, error) {
	e, err := readEpoch(ctx, s.pool)
	if err != nil || !e.Moved || e.HeldSince != nil {
		return e, pg.Translate(err)
	}
	if lossless {
		s.log.WarnContext(ctx, "the database has moved; failover is declared lossless", "timeline", e.ActualTimeline, "before", e.Timeline)
		fault.Point(fault.EpochAdoptBefore)
		_, err := s.pool.Exec(ctx, adoptSQL, e.ActualSystem, e.ActualTimeline)
		fault.Point(fault.EpochAdoptCommitted)
		return e, pg.Translate(err)
	}
	s.log.ErrorContext(ctx, "the database was restored or has failed over: nothing is sent until `refundry epoch expose`", "epoch", e.Epoch,
		"timeline", e.ActualTimeline, "before", e.Timeline, "system", e.ActualSystem, "systemBefore", e.SystemIdentifier)
	return e, pg.Translate(hold(ctx, s.pool, &e))
}

func hold(ctx context.Context, q pg.Querier, e *EpochState) error {
	var since time.Time
	fault.Point(fault.EpochHoldBefore)
	err := q.QueryRow(ctx, holdSQL).Scan(&since)
	fault.Point(fault.EpochHoldCommitted)
	if errors.Is(err, pgx.ErrNoRows) { // held already
		return q.QueryRow(ctx, `SELECT sending_held_since FROM installation`).Scan(&e.HeldSince)
	}
	e.HeldSince = &since
	return err
}

// holdIfMoved runs on every new connection of a serving process before any other statement. Sessions break when a database moves, so no
// claim can come between the move and the hold. A missing schema holds nothing.
func holdIfMoved(ctx context.Context, conn *pgx.Conn) error {
	e, err := readEpoch(ctx, conn)
	if pg.IsMissingRelation(err) || errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil || !e.Moved || e.HeldSince != nil {
		return err
	}
	return hold(ctx, conn, &e)
}
