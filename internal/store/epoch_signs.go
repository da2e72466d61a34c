package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/fault"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/pg"
)

// holdTries bounds how often the installation row is read again because it changed between reading and holding.
const holdTries = 3

// errEpochChanges reports that the installation row changed with every try.
var errEpochChanges = errors.Join(errors.New("store: the epoch changes all the time"), refund.ErrBusy)

// errStandby refuses a session. It would live through the promotion of the standby, and no new session would show the failover.
var errStandby = fmt.Errorf("%w: the server is a standby", refund.ErrUnavailable)

// epochWatch compares the database with what the installation has agreed to and with the highest state that this process has seen. What
// was seen is kept in memory only: in the database it would be restored with it.
type epochWatch struct {
	log *slog.Logger

	mu   sync.Mutex
	seen pg.Sighting
}

func (w *epochWatch) highest() pg.Sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *epochWatch) remember(s pg.Sighting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = w.seen.And(s)
}

// wrote remembers a row of the journal that this process has committed under an agreement. So a database that lacks a claim of this process
// is behind, also when the claim was made after the last reading.
func (w *epochWatch) wrote(agreedAt *time.Time, pos int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if pg.Deref(agreedAt).Equal(w.seen.AgreedAt) {
		w.seen.Journal = max(w.seen.Journal, pos)
	}
}

// read reads the installation and its signs. It compares with what was seen before the reading began: another connection may see a higher
// position meanwhile.
func (w *epochWatch) read(ctx context.Context, q pg.Querier) (e EpochState, err error) {
	seen := w.highest()
	var now pg.Sighting
	err = q.QueryRow(ctx, epochSQL).Scan(append([]any{&e.Installation, &e.SystemIdentifier, &e.Timeline, &e.DatabaseOID, &e.TableOID,
		&e.ActualDatabaseOID, &e.ActualTableOID, &e.HeldSince, &e.HeldBecause, &e.MarkNewUntil}, now.Targets(&e.AgreedAt)...)...)
	if err != nil {
		return e, err
	}
	now.AgreedAt = pg.Deref(e.AgreedAt)
	e.Epoch, e.ActualSystem, e.ActualTimeline, e.Standby = now.Epoch, now.System, now.Timeline, now.Standby
	e.Signs = []pg.Sign{}
	for _, c := range []struct {
		sign    pg.Sign
		differs bool
	}{
		{pg.SignSystem, e.SystemIdentifier != e.ActualSystem},
		{pg.SignTimeline, e.Timeline != e.ActualTimeline},
		{pg.SignDatabase, e.AgreedAt != nil && e.DatabaseOID != e.ActualDatabaseOID},
		{pg.SignTable, e.AgreedAt != nil && e.TableOID != e.ActualTableOID},
	} {
		if c.differs {
			e.Signs = append(e.Signs, c.sign)
		}
	}
	e.Signs = append(e.Signs, seen.Behind(now)...)
	e.Moved = len(e.Signs) > 0
	w.remember(now)
	return e, nil
}

// hold holds sending and reports whether it is held now: not if the row has changed since e was read.
func (w *epochWatch) hold(ctx context.Context, q pg.Querier, e *EpochState, why string) (held bool, err error) {
	if why != string(pg.SignOperator) {
		w.log.ErrorContext(ctx, "the database was restored or has failed over: nothing is sent until `refundry epoch expose`", "signs", why, "epoch", e.Epoch,
			"timeline", e.ActualTimeline, "before", e.Timeline, "system", e.ActualSystem, "systemBefore", e.SystemIdentifier)
	}
	var since time.Time
	fault.Point(fault.EpochHoldBefore)
	err = q.QueryRow(ctx, holdSQL, why, e.Epoch, e.AgreedAt).Scan(&since)
	fault.Point(fault.EpochHoldCommitted)
	if errors.Is(err, pgx.ErrNoRows) { // held already, or agreed to meanwhile
		err = q.QueryRow(ctx, `SELECT sending_held_since, coalesce(held_because, '') FROM installation`).Scan(&e.HeldSince, &e.HeldBecause)
		return e.HeldSince != nil, err
	}
	if err == nil {
		e.HeldSince, e.HeldBecause = &since, why
	}
	return err == nil, err
}

// onConnect runs on every new connection of a serving process before any other statement, and holds sending if the database shows a sign.
// Sessions break when a cluster is restored or fails over, so no claim can come between that and the hold. Two changes happen below an open
// session: a standby is promoted, so a session never begins on one; and a dump is restored, so a claim of a send compares the table's oid
// itself. A missing schema holds nothing. With lossless the signs of a failover are left to WatchEpoch.
func (w *epochWatch) onConnect(lossless bool) func(ctx context.Context, conn *pgx.Conn) error {
	return func(ctx context.Context, conn *pgx.Conn) error {
		for range holdTries {
			e, err := w.read(ctx, conn)
			if pg.IsMissingRelation(err) || pg.IsMissingColumn(err) || errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err == nil && e.Standby {
				return errStandby
			}
			if err != nil || !e.Moved || e.HeldSince != nil || lossless && e.failoverOnly() {
				return err
			}
			if held, err := w.hold(ctx, conn, &e, because(e.Signs)); err != nil || held {
				return err
			}
		}
		return errEpochChanges
	}
}

// failoverOnly reports that every sign is one that a failover gives.
func (e EpochState) failoverOnly() bool {
	for _, s := range e.Signs {
		if !s.Failover() {
			return false
		}
	}
	return true
}

// because is the text of several signs.
func because(signs []pg.Sign) string {
	names := make([]string, len(signs))
	for i, s := range signs {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
