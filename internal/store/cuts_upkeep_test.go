package store

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/migrate"
	"github.com/refundry/refundry/internal/store/pg"
	"github.com/refundry/refundry/internal/store/verify"
)

// upkeepKinds: what the verbs of operators write, and what the service writes for itself.
func upkeepKinds() []cutKind {
	return append(epochKinds(), []cutKind{
		{name: "an anchor", prepare: func(l *cutRun, id string) (operation, look) {
			l.refund(l.t, id)
			a := l.anchorer(l.t, func(c *verify.AnchorConfig) { c.Pool, c.MaxRows = l.cut.Pool(), 0 })
			whole := l.anchorer(l.t, func(c *verify.AnchorConfig) { c.File, c.MaxRows = a.file, 0 })
			return func() error { return a.Once(l.t.Context()) }, func() {
				for end := time.Now().Add(10 * time.Second); l.count(l.t,
					`SELECT count(*) FROM journal WHERE pos > (SELECT coalesce(max(upto_pos), 0) FROM journal_anchors)`) > 0; {
					if time.Now().After(end) { // a connection that was cut may hold the lock for a moment
						l.t.Fatal("the journal has rows without an anchor")
					}
					whole.once(l.t)
				}
				whole.once(l.t)
				if r := l.verify(l.t, trusting(whole)); !r.OK {
					l.t.Errorf("%+v", r.Promises)
				}
			}
		}},
		{name: "a parked message that is discarded", alone: sqlDiscard, prepare: func(l *cutRun, id string) (operation, look) {
			is := l.parked(id)
			return func() error { return l.cut.Discard(l.t.Context(), l.tenant.ID, is, "actor:ann") }, func() {
				l.wantCount("discarded", 1, `SELECT count(*) FROM parked WHERE parked_id = $1 AND done_how = 'discarded' AND done_by = 'actor:ann'`, [16]byte(is))
			}
		}},
		{name: "a parked message that was tried in vain", alone: sqlStillParked, once: true, prepare: func(l *cutRun, id string) (operation, look) {
			is := l.parked(id)
			return func() error { return l.cut.StillParked(l.t.Context(), l.tenant.ID, is) }, func() {
				l.wantCount("counted once or not", 1, `SELECT count(*) FROM parked WHERE parked_id = $1 AND tries IN (1, 2) AND done_at IS NULL`, [16]byte(is))
			}
		}},
		{name: "deliveries", alone: sqlRecordDeliveries, once: true, prepare: func(l *cutRun, id string) (operation, look) {
			d := intake.Delivery{Tenant: l.tenant.ID, Event: intake.EventID{Consumer: "orders", Source: "/s", ID: id}, Transport: "nats:" + id, Outcome: "REPLAYED", Cause: intake.CauseSettled}
			return func() error { return l.cut.RecordDeliveries(l.t.Context(), []intake.Delivery{d, d}) }, func() {
				if n := l.count(l.t, `SELECT count(*) FROM deliveries WHERE event_id = $1`, id); n != 0 && n != 2 {
					l.t.Errorf("%d of two deliveries", n)
				}
			}
		}},
		{name: "the end of a tenant", alone: sqlCloseTenant, prepare: func(l *cutRun, id string) (operation, look) {
			l.addTenant(l.t, "end-"+id)
			return func() error { return l.cut.CloseTenant(l.t.Context(), "end-"+id) }, func() {
				l.wantCount("closed", 1, `SELECT count(*) FROM tenants WHERE code = $1 AND closed_at IS NOT NULL`, "end-"+id)
			}
		}},
		{name: "the end of a key", alone: sqlRevokeKey, prepare: func(l *cutRun, id string) (operation, look) {
			row, err := l.AddTenant(l.t.Context(), "rev-"+id, access.ModeTest)
			if err != nil {
				l.t.Fatal(err)
			}
			key, err := access.NewAPIKey(rand.Reader, row.Mode)
			if err != nil {
				l.t.Fatal(err)
			}
			if err := l.AddKey(l.t.Context(), NewKey{Tenant: row, Actor: "ann", Kind: "person", Scopes: []string{"refunds:read"}}, key); err != nil {
				l.t.Fatal(err)
			}
			return func() error { return l.cut.RevokeKey(l.t.Context(), key.Prefix) }, func() {
				l.wantCount("revoked", 1, `SELECT count(*) FROM api_keys WHERE prefix = $1 AND revoked_at IS NOT NULL`, key.Prefix)
			}
		}},
		{name: "a partition", prepare: func(l *cutRun, _ string) (operation, look) {
			cfg := migrate.PartitionsConfig{Days: 7 + l.n}
			if _, err := migrate.EnsurePartitions(l.t.Context(), l.pool, migrate.PartitionsConfig{Days: 6 + l.n}); err != nil {
				l.t.Fatal(err)
			}
			return func() error {
					if _, err := migrate.EnsurePartitions(l.t.Context(), l.cut.Pool(), cfg); err != nil {
						return fmt.Errorf("%w: %w", refund.ErrUnavailable, err) // housekeeping is tried again whatever it was
					}
					return nil
				}, func() {
					if r, err := migrate.EnsurePartitions(l.t.Context(), l.pool, cfg); err != nil || len(r.Created)+len(r.Blocked)+len(r.Postponed) > 0 {
						l.t.Errorf("%+v, %v, want nothing left to do", r, err)
					}
				}
		}},
	}...)
}

// parked is a message that could not be decoded.
func (l *cutRun) parked(id string) refund.RID {
	l.t.Helper()
	is := pg.NewRID()
	if _, err := l.pool.Exec(l.t.Context(), `INSERT INTO parked (tenant_id, parked_id, consumer, position, headers, body, reason, tries)
		VALUES ($1, $2, 'orders', $3, '{}', 'x', 'undecodable', 1)`, int64(l.tenant.ID), [16]byte(is), "junk/"+id); err != nil {
		l.t.Fatal(err)
	}
	return is
}

// epochKinds leave the installation as they found it: sending.
func epochKinds() []cutKind {
	return []cutKind{
		{name: "sending is held", alone: holdSQL, prepare: func(l *cutRun, _ string) (operation, look) {
			l.elsewhere(l.t)
			return func() error { _, err := l.cut.WatchEpoch(l.t.Context(), false); return err }, func() {
				if l.epoch(l.t).HeldSince == nil {
					l.t.Error("sending is not held")
				}
				l.resumed()
			}
		}},
		{name: "a new place without loss", alone: adoptSQL, prepare: func(l *cutRun, _ string) (operation, look) {
			l.elsewhere(l.t)
			before := l.epoch(l.t).Epoch
			return func() error { _, err := l.cut.WatchEpoch(l.t.Context(), true); return err }, func() {
				if e := l.epoch(l.t); e.Moved || e.HeldSince != nil || e.Epoch != before {
					l.t.Errorf("%+v, want the new place in epoch %d", e, before)
				}
			}
		}},
		{name: "the beginning of an epoch", alone: resumeSQL, prepare: func(l *cutRun, id string) (operation, look) {
			l.refund(l.t, id)
			l.elsewhere(l.t)
			before := l.epoch(l.t).Epoch
			return func() error { // as the verb does: what has begun is not begun again
					e, err := l.cut.EpochState(l.t.Context())
					if err == nil && (e.Moved || e.HeldSince != nil) {
						_, err = l.cut.ExposeEpoch(l.t.Context(), ExposeConfig{})
					}
					return err
				}, func() {
					if e := l.epoch(l.t); e.Moved || e.HeldSince != nil || e.Epoch != before+1 || e.Unmarked != 0 {
						l.t.Errorf("%+v, want epoch %d with every open refund marked", e, before+1)
					}
					l.resumed()
				}
		}},
		{name: "how long new refunds are marked", alone: markNewSQL, prepare: func(l *cutRun, _ string) (operation, look) {
			return func() error { return l.cut.SetMarkNew(l.t.Context(), time.Hour) }, func() {
				l.wantCount("an hour", 1, `SELECT count(*) FROM installation WHERE mark_new_until > now() + interval '50 min'`)
				l.resumed()
			}
		}},
	}
}

// resumed lets the installation send, and marks no new refund.
func (l *cutRun) resumed() {
	l.t.Helper()
	e := l.epoch(l.t)
	var err error
	if e.HeldSince != nil {
		_, err = l.ExposeEpoch(l.t.Context(), ExposeConfig{})
	}
	if err == nil {
		err = l.SetMarkNew(l.t.Context(), 0)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}
