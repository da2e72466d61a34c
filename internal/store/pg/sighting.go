package pg

import (
	"context"
	"time"
)

// Sign is a difference that shows a restored or moved database.
type Sign string

// The signs. SignSystem and SignTimeline compare with the agreed values, and so do both oids. The others compare with what a process has
// seen before, or what its anchor file says.
const (
	SignSystem    Sign = "system-identifier" // another cluster
	SignTimeline  Sign = "timeline"          // a standby took over, or a recovery to a point in time
	SignDatabase  Sign = "database-oid"      // a copy, or a dump in a new database
	SignTable     Sign = "table-oid"         // a dump that was restored
	SignAgreement Sign = "agreement"         // the installation row is older than one that was seen
	SignWAL       Sign = "wal-position"      // behind a position that was seen
	SignJournal   Sign = "journal-end"       // behind a position that was seen
	SignAnchor    Sign = "anchor-file"       // the file has an anchor that the database does not have
	SignOperator  Sign = "operator"          // an operator said so
)

// Failover reports whether a failover alone gives this sign.
func (s Sign) Failover() bool { return s == SignSystem || s == SignTimeline }

// Sighting is how far a database was when it was seen.
type Sighting struct {
	Epoch    int       `json:"-"`
	Standby  bool      `json:"-"`        // in recovery: it may lag, so nothing is compared with it
	AgreedAt time.Time `json:"agreedAt"` // zero = not agreed to, or written before agreements were recorded
	System   string    `json:"systemIdentifier"`
	Timeline int       `json:"timeline"`
	WAL      int64     `json:"wal"`     // flushed, in bytes from 0/0; comparable on one system and timeline
	Journal  int64     `json:"journal"` // highest position; 0 = none
}

// SightingColumns fill Targets, from SightingFrom. The timeline is read from the WAL too: a server that has taken over
// writes it there at once, but into its control file only with the next checkpoint. On a standby the agreed timeline counts.
//
// The WAL position is the flushed one: what was only written can be lost by a crash that loses no commit.
const (
	SightingColumns = `i.epoch, pg_is_in_recovery(), i.agreed_at, s.system_identifier::text,
    CASE WHEN pg_is_in_recovery() THEN i.timeline
      ELSE greatest(c.timeline_id, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int) END,
    CASE WHEN pg_is_in_recovery() THEN 0 ELSE (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint END,
    (SELECT coalesce(max(pos), 0) FROM journal)`
	SightingFrom = `installation i, pg_control_system() s, pg_control_checkpoint() c`
)

// Targets returns the destinations of SightingColumns. agreed takes i.agreed_at, which may be null.
func (s *Sighting) Targets(agreed **time.Time) []any {
	return []any{&s.Epoch, &s.Standby, agreed, &s.System, &s.Timeline, &s.WAL, &s.Journal}
}

// See reads how far the database is now. Errors: the database's own.
func See(ctx context.Context, q Querier) (s Sighting, err error) {
	var agreed *time.Time
	err = q.QueryRow(ctx, `SELECT `+SightingColumns+` FROM `+SightingFrom).Scan(s.Targets(&agreed)...)
	s.AgreedAt = Deref(agreed)
	return s, err
}

// Behind returns the signs that the database of now is older than the one that was seen. A later agreement settles everything that was seen
// before it. Now must have been read after seen.
func (s Sighting) Behind(now Sighting) (signs []Sign) {
	switch {
	case now.Standby, s.AgreedAt.IsZero() && (now.Epoch > s.Epoch || s == Sighting{}), !s.AgreedAt.IsZero() && now.AgreedAt.After(s.AgreedAt):
		return nil
	case now.AgreedAt.Before(s.AgreedAt), now.Epoch < s.Epoch:
		signs = append(signs, SignAgreement)
	}
	if s.System == now.System && s.Timeline == now.Timeline && now.WAL < s.WAL {
		signs = append(signs, SignWAL)
	}
	if now.Journal < s.Journal {
		signs = append(signs, SignJournal)
	}
	return signs
}

// And returns the highest of two sightings: the one with the later agreement, or under the same agreement the higher positions.
func (s Sighting) And(o Sighting) Sighting {
	switch {
	case o.Standby:
		return s
	case s.Standby, s.AgreedAt.Before(o.AgreedAt), s.AgreedAt.Equal(o.AgreedAt) && s.Epoch < o.Epoch:
		return o
	case o.AgreedAt.Before(s.AgreedAt), o.Epoch < s.Epoch:
		return s
	}
	if s.System == "" {
		s.System, s.Timeline = o.System, o.Timeline
	}
	if s.System == o.System && s.Timeline == o.Timeline {
		s.WAL = max(s.WAL, o.WAL)
	}
	s.Journal = max(s.Journal, o.Journal)
	return s
}
