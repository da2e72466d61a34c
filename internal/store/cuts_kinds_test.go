package store

import (
	"crypto/rand"
	"slices"
	"time"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// cutKinds are all kinds of transactions of the store; the marking of an epoch is beside them.
var cutKinds = slices.Concat(acceptKinds(), ownershipKinds(), factKinds(), peopleKinds(), lineKinds(), verdictKinds(), upkeepKinds())

type (
	operation = func() error
	look      = func()
)

// through is a kind that submits a group to the Door.
func through(name string, group func(l *cutRun, id string) []intake.Intake, want ...intake.Verdict) cutKind {
	return cutKind{name: name, prepare: func(l *cutRun, id string) (operation, look) {
		g := group(l, id)
		var out []intake.Outcome
		return func() (err error) {
				out, err = l.door.Accept(l.t.Context(), g)
				return err
			}, func() {
				wantVerdicts(l.t, out, want...)
			}
	}}
}

func acceptKinds() []cutKind {
	return []cutKind{
		through("a new refund", func(l *cutRun, id string) []intake.Intake {
			return []intake.Intake{l.request("e"+id, id, "p"+id, 60, inlinePayment(100))}
		}, intake.Taken),
		through("a group of everything", func(l *cutRun, id string) []intake.Intake {
			return []intake.Intake{l.request("e1"+id, id, "p"+id, 60, inlinePayment(100)), l.event("e2"+id, id, "p"+id, 61, nil),
				l.event("e3"+id, id+"_2", "p"+id, 60, nil), l.event("e4"+id, id+"_3", "unknown"+id, 60, nil), l.request("e1"+id, id, "p"+id, 60, nil)}
		}, intake.Taken, intake.Conflict, intake.Refused, intake.Waiting, intake.Replayed),
		{name: "a capture", prepare: func(l *cutRun, id string) (operation, look) { // which has no id of ours: its repeat is a replay
			g := []intake.Intake{l.captured("e"+id, "p"+id, "c1", 100)}
			return func() error { _, err := l.door.Accept(l.t.Context(), g); return err }, func() {
				l.wantCount("captured once", 1, `SELECT count(*) FROM payments WHERE payment_id = $1 AND captured = 100`, "p"+id)
			}
		}},
		{name: "an unreadable message", prepare: func(l *cutRun, id string) (operation, look) {
			return func() error {
					return l.cut.Park(l.t.Context(), l.tenant.ID, intake.EventID{Consumer: "orders"}, "undecodable",
						intake.Park{Position: "poison/" + id, Body: []byte("?")})
				}, func() {
					l.wantCount("one parked message", 1, `SELECT count(*) FROM parked WHERE position = $1`, "poison/"+id)
				}
		}},
		{name: "a payment's first snapshot", prepare: func(l *cutRun, id string) (operation, look) {
			return l.put(id, 100), func() {
				l.wantCount("the payment", 1, `SELECT count(*) FROM payments WHERE payment_id = $1 AND captured = 100`, "p"+id)
			}
		}},
		{name: "a payment's next snapshot", prepare: func(l *cutRun, id string) (operation, look) {
			if err := l.put(id, 100)(); err != nil {
				l.t.Fatal(err)
			}
			return l.put(id, 200), func() {
				l.wantCount("the newer amount", 1, `SELECT count(*) FROM payments WHERE payment_id = $1 AND captured = 200`, "p"+id)
			}
		}},
		{name: "accounts of the configuration", prepare: func(l *cutRun, id string) (operation, look) {
			c := l.contract
			c.Waits.Accepted += refund.Duration(time.Duration(l.n) * time.Second) // another digest, so another version
			return func() error {
				_, err := l.cut.SyncAccounts(l.t.Context(), []AccountConfig{{Name: "demo", Adapter: "plain", Tenants: []string{"demo"}, Contract: c}})
				return err
			}, func() {}
		}},
		{name: "a tenant", alone: sqlAddTenant, prepare: func(l *cutRun, id string) (operation, look) {
			return func() error { _, err := l.cut.AddTenant(l.t.Context(), "t-"+id, access.ModeTest); return err },
				func() { l.wantCount("the tenant", 1, `SELECT count(*) FROM tenants WHERE code = $1`, "t-"+id) }
		}},
		{name: "a key", once: true, prepare: func(l *cutRun, id string) (operation, look) {
			row, err := l.AddTenant(l.t.Context(), "k-"+id, access.ModeTest)
			if err != nil {
				l.t.Fatal(err)
			}
			key, err := access.NewAPIKey(rand.Reader, row.Mode)
			if err != nil {
				l.t.Fatal(err)
			}
			return func() error {
				return l.cut.AddKey(l.t.Context(), NewKey{Tenant: row, Actor: "ann", Kind: "person", Scopes: []string{"refunds:read"}}, key)
			}, func() {}
		}},
	}
}

func (l *cutRun) put(id string, amount int64) operation {
	spec := *inlinePayment(amount)
	spec.Version = amount
	return func() error {
		_, _, err := l.cut.PutPayment(l.t.Context(), l.tenant, "p"+id, spec, "actor:test")
		return err
	}
}

func (l *cutRun) wantCount(what string, want int, sql string, args ...any) {
	l.t.Helper()
	if n := l.count(l.t, sql, args...); n != want {
		l.t.Errorf("%s: %d, want %d", what, n, want)
	}
}

// ownershipKinds: claims are not repeated by anybody. Whether the cut one happened or not, the attempt and the state go together.
func ownershipKinds() []cutKind {
	return []cutKind{
		{name: "the claim of a send", alone: claimSQL.SQL, once: true, prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			return l.claimCut(k, refund.AttemptSend), func() {
				r := l.load(l.t, k)
				if claimed := r.State == refund.StateProcessing; claimed != (len(r.Attempts) == 1) || claimed != r.Exposed {
					l.t.Errorf("%s with %d attempts, exposed %t", r.State, len(r.Attempts), r.Exposed)
				}
			}
		}},
		{name: "the claim of a question", alone: claimSQL.SQL, once: true, prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.enter(l.t, k, answered(l.claim(l.t, k, refund.AttemptSend, 10*time.Second), refund.Unknown))
			return l.claimCut(k, refund.AttemptQuery), func() {
				if r := l.wantState(l.t, k, refund.StateUnknown); (r.Generation == 2) != (len(r.Attempts) == 2) {
					l.t.Errorf("generation %d with %d attempts", r.Generation, len(r.Attempts))
				}
			}
		}},
		{name: "a person's question", alone: askSQL, once: true, prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.enter(l.t, k, answered(l.claim(l.t, k, refund.AttemptSend, 10*time.Second), refund.RefusedClean))
			return func() error {
				_, err := l.cut.Ask(l.t.Context(), l.claimOf(l.load(l.t, k), refund.AttemptQuery, 10*time.Second))
				return err
			}, func() { l.wantState(l.t, k, refund.StateFailed) }
		}},
		{name: "a postponement", alone: postponeSQL, prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			until := time.Now().Add(time.Hour).Truncate(time.Second)
			return func() error {
					return l.cut.Reschedule(l.t.Context(), k, 0, refund.Step{Kind: refund.StepWait, Until: until, Why: refund.PendingSpacing})
				}, func() {
					if r := l.load(l.t, k); !r.NextActionAt.Equal(until) || r.PendingReason != refund.PendingSpacing {
						l.t.Errorf("timer %s because %s", r.NextActionAt, r.PendingReason)
					}
				}
		}},
		{name: "a sweep", prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.due(k)
			return l.sweep, func() {
				l.swept("the refund is no longer due", func() bool { r := l.load(l.t, k); return r.NextActionAt.After(r.Now) })
			}
		}},
		{name: "the end of a lease, by the sweep", skip: 1, prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.claim(l.t, k, refund.AttemptSend, 20*time.Millisecond)
			l.waitUntil(l.t, l.load(l.t, k).LeaseEndsAt)
			return l.sweep, func() {
				l.swept("UNKNOWN after the end of the lease", func() bool { return l.load(l.t, k).State == refund.StateUnknown })
			}
		}},
		{name: "a waking of what waits", skip: 1, prepare: func(l *cutRun, id string) (operation, look) {
			l.refund(l.t, id)
			if _, err := l.pool.Exec(l.t.Context(), `INSERT INTO parked (tenant_id, parked_id, consumer, position, headers, body, reason, wake_payment, tries)
				VALUES ($1, gen_random_uuid(), 'orders', $2, '{}', '', 'payment-unknown', $3, 1)`, int64(l.tenant.ID), "wait/"+id, "pay_"+id+"_0"); err != nil {
				l.t.Fatal(err)
			}
			return l.sweep, func() {
				l.swept("the message is tried again", func() bool {
					return l.count(l.t, `SELECT count(*) FROM parked WHERE position = $1 AND tries > 1`, "wait/"+id) == 1
				})
				if _, err := l.pool.Exec(l.t.Context(), `UPDATE parked SET done_at = now(), done_how = 'discarded' WHERE position = $1`, "wait/"+id); err != nil {
					l.t.Fatal(err)
				}
			}
		}},
	}
}

func (l *cutRun) claimCut(k refund.RefundRef, kind refund.AttemptKind) operation {
	return func() error {
		_, err := l.cut.Claim(l.t.Context(), l.claimOf(l.load(l.t, k), kind, 10*time.Second))
		return err
	}
}

func (l *cutRun) due(k refund.RefundRef) {
	l.t.Helper()
	if _, err := l.pool.Exec(l.t.Context(), `UPDATE refunds SET next_action_at = now() - interval '1 s' WHERE rid = $1`, [16]byte(k.RID)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *cutRun) sweep() error {
	_, err := l.cut.Sweep(l.t.Context(), 1000)
	return err
}

// swept sweeps until done holds. A sweep skips locked rows, and PostgreSQL may hold those of a cut connection for a moment.
func (l *cutRun) swept(what string, done func() bool) {
	l.t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); {
		if err := l.sweep(); err != nil || time.Now().After(end) {
			l.t.Fatalf("not %s after 10 s of sweeps: %v", what, err)
		}
	}
}
