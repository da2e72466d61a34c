package store

import (
	"context"
	"time"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/store/pg"
)

// An epoch begins when the database is not the one that the installation last agreed to: it was restored, or a standby took over. The last
// writes, and the record of what was sent, may be lost. Nothing is sent until every open refund is marked.

// EpochState is the state of the installation.
type EpochState struct {
	Installation      string     `json:"installation"`
	Epoch             int        `json:"epoch"`
	SystemIdentifier  string     `json:"systemIdentifier"` // agreed to
	Timeline          int        `json:"timeline"`
	DatabaseOID       int64      `json:"databaseOid"` // 0 before the first start of a version that records it
	TableOID          int64      `json:"tableOid"`
	ActualSystem      string     `json:"actualSystemIdentifier"` // of the server
	ActualTimeline    int        `json:"actualTimeline"`
	ActualDatabaseOID int64      `json:"actualDatabaseOid"`
	ActualTableOID    int64      `json:"actualTableOid"`
	AgreedAt          *time.Time `json:"agreedAt"`
	Standby           bool       `json:"standby"` // the server takes no writes; it may lag, so only oids are compared
	Moved             bool       `json:"moved"`   // there is a sign
	Signs             []pg.Sign  `json:"signs"`
	HeldSince         *time.Time `json:"sendingHeldSince"`
	HeldBecause       string     `json:"heldBecause"`
	MarkNewUntil      *time.Time `json:"markNewUntil"` // refunds created before this time are marked too
	Open              int64      `json:"openRefunds"`
	Unmarked          int64      `json:"unmarkedRefunds"` // in the next epoch, or in this one if sending is not held
}

const epochSQL = `SELECT i.installation_id::text, i.system_identifier, i.timeline, coalesce(i.database_oid, 0), coalesce(i.table_oid, 0),
    d.oid::bigint, i.tableoid::bigint, i.sending_held_since, coalesce(i.held_because, ''), i.mark_new_until, ` + pg.SightingColumns + `
  FROM ` + pg.SightingFrom + `, pg_database d WHERE d.datname = current_database()`

const (
	// $1 why; $2, $3 the epoch and the agreement that were read: a later agreement has settled the signs
	holdSQL = `UPDATE installation SET sending_held_since = clock_timestamp(), held_because = $1
  WHERE sending_held_since IS NULL AND epoch = $2 AND agreed_at IS NOT DISTINCT FROM $3 RETURNING sending_held_since`
	adoptSQL = `UPDATE installation SET system_identifier = $1, timeline = $2, database_oid = $3, table_oid = $4, agreed_at = ` + agreedNow + `
  WHERE sending_held_since IS NULL AND agreed_at IS NOT DISTINCT FROM $5 AND
    (system_identifier, timeline, database_oid, table_oid) IS DISTINCT FROM ($1, $2, $3, $4)`
	openSQL   = `SELECT count(*), count(*) FILTER (WHERE ` + unmarkedCond + `) FROM refunds r WHERE r.final_at IS NULL`
	resumeSQL = `UPDATE installation SET epoch = $1, system_identifier = $2, timeline = $3, database_oid = $5, table_oid = $6, agreed_at = ` + agreedNow + `,
    sending_held_since = NULL, held_because = NULL, mark_new_until = clock_timestamp() + $4::interval
  WHERE epoch = $1 - 1 AND NOT EXISTS (SELECT FROM refunds r WHERE r.final_at IS NULL AND ` + unmarkedCond + `)`
	markNewSQL = `UPDATE installation SET mark_new_until = clock_timestamp() + $1::interval WHERE sending_held_since IS NULL`

	// agreedNow rises with every agreement, also when the clock goes back
	agreedNow = `greatest(clock_timestamp(), agreed_at + interval '1 microsecond')`

	// $1 is the epoch
	unmarkedCond = `NOT EXISTS (SELECT FROM dispatches d WHERE d.tenant_id = r.tenant_id AND d.rid = r.rid AND d.marked_epoch = $1)`

	unmarkedSQL = `SELECT r.tenant_id, r.rid, r.account FROM refunds r WHERE r.final_at IS NULL AND (r.tenant_id, r.rid) > ($2, $3) AND ` + unmarkedCond + `
  ORDER BY r.tenant_id, r.rid LIMIT $4`
	reappearedRefundsSQL = `SELECT r.tenant_id, r.rid, r.account FROM refunds r, installation i
  WHERE i.sending_held_since IS NULL AND i.mark_new_until > clock_timestamp() - interval '1 day' AND i.epoch = $1
    AND r.final_at IS NULL AND r.created_at < i.mark_new_until AND ` + unmarkedCond + ` LIMIT $2`
)

// EpochState reads the state of the installation. Errors: refund.ErrUnavailable.
func (s *Store) EpochState(ctx context.Context) (EpochState, error) {
	e, err := s.epochs.read(ctx, s.pool)
	if err != nil {
		return e, pg.Translate(err)
	}
	target := e.Epoch
	if e.Moved || e.HeldSince != nil {
		target++
	}
	return e, pg.Translate(s.pool.QueryRow(ctx, openSQL, target).Scan(&e.Open, &e.Unmarked))
}

// WatchEpoch holds all sending if the database shows a sign of a restore or failover. lossless declares that a failover loses nothing: then
// the new server is agreed to instead, unless there is a sign that a failover does not give. A database to which the installation has never
// agreed, because it was made before the signs were recorded, is agreed to. WatchEpoch is cheap and meant to run often. Errors:
// refund.ErrUnavailable.
func (s *Store) WatchEpoch(ctx context.Context, lossless bool) (EpochState, error) {
	for range holdTries {
		e, err := s.epochs.read(ctx, s.pool)
		if err != nil || e.HeldSince != nil {
			return e, pg.Translate(err)
		}
		switch {
		case !e.Moved && e.AgreedAt != nil:
			return e, nil
		case !e.Moved:
			return e, pg.Translate(s.adopt(ctx, e))
		case lossless && e.failoverOnly():
			s.log.WarnContext(ctx, "the database has moved; failover is declared lossless", "timeline", e.ActualTimeline, "before", e.Timeline)
			return e, pg.Translate(s.adopt(ctx, e))
		}
		if held, err := s.epochs.hold(ctx, s.pool, &e, because(e.Signs)); err != nil || held {
			return e, pg.Translate(err)
		}
	}
	return EpochState{}, errEpochChanges
}

// HoldSending holds all sending, whatever the database shows, until ExposeEpoch. why is stored; held reports that it was not held
// before. Errors: refund.ErrUnavailable.
func (s *Store) HoldSending(ctx context.Context, why pg.Sign) (held bool, err error) {
	for range holdTries {
		e, err := s.epochs.read(ctx, s.pool)
		if err != nil || e.HeldSince != nil {
			return false, pg.Translate(err)
		}
		if held, err := s.epochs.hold(ctx, s.pool, &e, string(why)); err != nil || held {
			return held, pg.Translate(err)
		}
	}
	return false, errEpochChanges
}

// Remember adds what is known about the database from outside of it, such as an anchor file. A database that is behind it holds sending.
func (s *Store) Remember(seen pg.Sighting) { s.epochs.remember(seen) }

// adopt agrees to the server that e shows.
func (s *Store) adopt(ctx context.Context, e EpochState) error {
	fault.Point(fault.EpochAdoptBefore)
	_, err := s.pool.Exec(ctx, adoptSQL, e.ActualSystem, e.ActualTimeline, e.ActualDatabaseOID, e.ActualTableOID, e.AgreedAt)
	fault.Point(fault.EpochAdoptCommitted)
	return err
}
