package store

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// cutKinds are all kinds of transactions of the store; the marking of an epoch is beside them.
var cutKinds = slices.Concat(acceptKinds(), ownershipKinds(), factKinds(), peopleKinds(), lineKinds(), upkeepKinds())

type (
	operation = func() error
	look      = func()
)

// through is a group that goes through the door.
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
					return l.cut.ParkUndecodable(l.t.Context(), l.tenant.ID, intake.EventID{Consumer: "orders"}, "undecodable", intake.Park{Position: "poison/" + id, Body: []byte("?")})
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
				if r := l.load(l.t, k); !r.NextActionAt.After(r.Now) {
					l.t.Error("the refund is still due")
				}
			}
		}},
		{name: "the end of a lease, by the sweep", skip: 1, prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.claim(l.t, k, refund.AttemptSend, 20*time.Millisecond)
			l.waitUntil(l.t, l.load(l.t, k).LeaseEndsAt)
			return l.sweep, func() { l.wantState(l.t, k, refund.StateUnknown) }
		}},
		{name: "a waking of what waits", skip: 1, prepare: func(l *cutRun, id string) (operation, look) {
			l.refund(l.t, id)
			if _, err := l.pool.Exec(l.t.Context(), `INSERT INTO parked (tenant_id, parked_id, consumer, position, headers, body, reason, wake_payment, tries)
				VALUES ($1, gen_random_uuid(), 'orders', $2, '{}', '', 'payment-unknown', $3, 1)`, int64(l.tenant.ID), "wait/"+id, "pay_"+id+"_0"); err != nil {
				l.t.Fatal(err)
			}
			return l.sweep, func() {
				l.wantCount("tried again", 1, `SELECT count(*) FROM parked WHERE position = $1 AND tries > 1`, "wait/"+id)
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

// entering is a fact about a refund that way has brought to where it is entered.
func entering(name string, want refund.State, way func(l *cutRun, k refund.RefundRef) refund.Fact) cutKind {
	return cutKind{name: name, prepare: func(l *cutRun, id string) (operation, look) {
		k := l.refund(l.t, id)
		f := way(l, k)
		before := l.load(l.t, k)
		return func() error {
				_, err := l.cut.Enter(l.t.Context(), k, f, l.contract)
				return err
			}, func() {
				r := l.wantState(l.t, k, want)
				if f.Attempt != 0 && r.Attempts[f.Attempt-1].Answer != f.Kind {
					l.t.Errorf("attempt %d: %q, want %s", f.Attempt, r.Attempts[f.Attempt-1].Answer, f.Kind)
				}
				if r.JournalSeq > before.JournalSeq+2 {
					l.t.Errorf("%d journal rows for one fact", r.JournalSeq-before.JournalSeq)
				}
			}
	}}
}

// answering is the answer to the first send.
func answering(kind refund.FactKind, want refund.State) cutKind {
	return entering("the answer "+string(kind), want, func(l *cutRun, k refund.RefundRef) refund.Fact {
		f := answered(l.claim(l.t, k, refund.AttemptSend, 10*time.Second), kind)
		if kind == refund.Succeeded || kind == refund.Acknowledged {
			f.ChannelRefundID = "ch_" + k.RID.String()
		}
		return f
	})
}

// unclear leaves a send without a usable answer, past everything it can do.
func (l *cutRun) unclear(k refund.RefundRef) refund.Record {
	claimed := l.claim(l.t, k, refund.AttemptSend, 50*time.Millisecond)
	l.enter(l.t, k, answered(claimed, refund.Unknown))
	l.waitUntil(l.t, claimed.NotAfter.Add(l.contract.Horizon.D()))
	return l.load(l.t, k)
}

func factKinds() []cutKind {
	own := func(r refund.Record, kind refund.FactKind) refund.Fact {
		return refund.Fact{Kind: kind, Generation: r.Generation, Source: "worker", Actor: "system:worker"}
	}
	kinds := []cutKind{
		answering(refund.Succeeded, refund.StateSuccess), answering(refund.Acknowledged, refund.StateAccepted), answering(refund.RefusedClean, refund.StateFailed),
		answering(refund.RefusedEcho, refund.StateUnknown), answering(refund.RefusedNewNumber, refund.StatePending), answering(refund.Retryable, refund.StatePending),
		answering(refund.NotSent, refund.StatePending), answering(refund.Unknown, refund.StateUnknown),
		entering("the end of a lease", refund.StateUnknown, func(l *cutRun, k refund.RefundRef) refund.Fact {
			c := l.claim(l.t, k, refund.AttemptSend, 20*time.Millisecond)
			l.waitUntil(l.t, l.load(l.t, k).LeaseEndsAt)
			return refund.Fact{Kind: refund.LeaseEnd, Generation: c.Generation, Source: "sweeper", Actor: "system:sweeper"}
		}),
		entering("a proven absence", refund.StatePending, func(l *cutRun, k refund.RefundRef) refund.Fact {
			l.unclear(k)
			return answered(l.claim(l.t, k, refund.AttemptQuery, 10*time.Second), refund.NotFound)
		}),
		entering("a final failure", refund.StateFailed, func(l *cutRun, k refund.RefundRef) refund.Fact {
			l.unclear(k)
			return answered(l.claim(l.t, k, refund.AttemptQuery, 10*time.Second), refund.FailedFinal)
		}),
		entering("a return", refund.StateReversed, func(l *cutRun, k refund.RefundRef) refund.Fact {
			l.enter(l.t, k, succeeded(l.claim(l.t, k, refund.AttemptSend, 10*time.Second), "ch_"+k.RID.String()))
			return refund.Fact{Kind: refund.Reversed, ChannelRefundID: "ch_" + k.RID.String(), Source: "settlement", Actor: "system:settlement"}
		}),
		entering("a return of what was not known", refund.StateReversed, func(l *cutRun, k refund.RefundRef) refund.Fact {
			l.unclear(k)
			return refund.Fact{Kind: refund.Reversed, ChannelRefundID: "ch_" + k.RID.String(), Source: "settlement", Actor: "system:settlement"}
		}),
		entering("a late success", refund.StateSuccess, func(l *cutRun, k refund.RefundRef) refund.Fact {
			l.enter(l.t, k, answered(l.claim(l.t, k, refund.AttemptSend, 10*time.Second), refund.RefusedClean))
			return refund.Fact{Kind: refund.Succeeded, ChannelRefundID: "ch_" + k.RID.String(), Amount: 100, Currency: "USD", Source: "notice", Actor: "system:notices"}
		}),
		entering("a deadline", refund.StateUnknown, func(l *cutRun, k refund.RefundRef) refund.Fact {
			r := l.unclear(k)
			if _, err := l.pool.Exec(l.t.Context(), `UPDATE refunds SET state_since = state_since - interval '2 h' WHERE rid = $1`, [16]byte(r.RID)); err != nil {
				l.t.Fatal(err)
			}
			f := own(r, refund.Deadline)
			f.Reason = refund.CaseDeadline
			return f
		}),
		entering("the end of a number by time", refund.StateFailed, func(l *cutRun, k refund.RefundRef) refund.Fact {
			c := l.claim(l.t, k, refund.AttemptSend, 3*time.Second)
			l.enter(l.t, k, answered(c, refund.Unknown))
			l.enter(l.t, k, refund.Fact{Kind: refund.FailedFinal, Source: "notice", Actor: "system:notices"})
			l.wantState(l.t, k, refund.StateUnknown) // its send may still act
			l.waitUntil(l.t, c.NotAfter.Add(l.contract.Horizon.D()))
			return own(l.load(l.t, k), refund.Settled)
		}),
	}
	return append(kinds, cutKind{name: "a withdrawal", prepare: func(l *cutRun, id string) (operation, look) {
		k := l.refund(l.t, id)
		return func() error { _, err := l.cut.Cancel(l.t.Context(), k, "actor:ann"); return err }, func() { l.wantState(l.t, k, refund.StateCanceled) }
	}})
}

// peopleKinds: notices, lines of lists, proposals and what people decide.
func peopleKinds() []cutKind {
	return []cutKind{
		{name: "a notice", prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.unclear(k)
			return l.told(id, l.number(l.t, k), "ch_"+id), func() { l.wantState(l.t, k, refund.StateSuccess) }
		}},
		{name: "a notice of nothing that is known", prepare: func(l *cutRun, id string) (operation, look) {
			return l.told(id, "", "nobody_"+id), func() {
				l.wantCount("the notice is kept", 1, `SELECT count(*) FROM notices WHERE channel_refund_id = $1 AND rid IS NULL`, "nobody_"+id)
			}
		}},
		{name: "a new refund that a notice waits for", prepare: func(l *cutRun, id string) (operation, look) {
			l.keep(id, refund.DispatchNumber(l.text(l.t, `SELECT installation_id FROM installation`), l.tenant.Code, id, 1))
			var out []intake.Outcome
			return func() (err error) {
					out, err = l.door.Accept(l.t.Context(), []intake.Intake{l.request("e"+id, id, "p"+id, 100, inlinePayment(100))})
					return err
				}, func() {
					wantVerdicts(l.t, out, intake.Taken)
					l.wantCount("the notice has its refund", 1, `SELECT count(*) FROM notices WHERE body = $1 AND rid IS NOT NULL`, []byte(id))
				}
		}},
		{name: "a notice that was left behind", prepare: func(l *cutRun, id string) (operation, look) {
			l.keep(id, "")
			k := l.refund(l.t, id)
			l.unclear(k)
			if _, err := l.pool.Exec(l.t.Context(), `UPDATE notices SET number = $2 WHERE body = $1`, []byte(id), l.number(l.t, k)); err != nil {
				l.t.Fatal(err)
			}
			return func() error { _, err := l.cut.MatchNotices(l.t.Context()); return err }, func() { l.wantState(l.t, k, refund.StateSuccess) }
		}},
		{name: "a line of a list", prepare: func(l *cutRun, id string) (operation, look) {
			l.refund(l.t, id)
			return func() error {
					return l.cut.EnterLines(l.t.Context(), l.tenant.ID, "pay_"+id+"_0", "list", []refund.ListedEffect{foreign("re_"+id, 7)}, true, l.contract)
				}, func() {
					l.wantCount("the line", 1, `SELECT count(*) FROM effects WHERE channel_refund_id = $1 AND status = 'MOVED'`, "re_"+id)
				}
		}},
		{name: "a proposal", prepare: func(l *cutRun, id string) (operation, look) {
			r := l.inDoubt(id)
			return func() error {
					_, _, err := l.cut.Propose(l.t.Context(), refund.Proposal{Tenant: r.Tenant, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4711", Actor: "ann"})
					return err
				}, func() {
					l.wantCount("one proposal", 1, `SELECT count(*) FROM decisions WHERE case_id = $1`, [16]byte(r.Case.ID))
				}
		}},
		{name: "an approval that takes effect", prepare: func(l *cutRun, id string) (operation, look) {
			r := l.inDoubt(id)
			d := l.propose(l.t, r.RefundRef, refund.ActionConfirmNotDone)
			return func() error {
				_, err := l.cut.Judge(l.t.Context(), refund.Approval{Tenant: r.Tenant, CaseID: d.CaseID, DecisionID: d.ID, Approve: true, Actor: "bob"})
				return err
			}, func() { l.wantState(l.t, r.RefundRef, refund.StateFailed) }
		}},
		{name: "a decision that takes effect later", skip: 1, prepare: func(l *cutRun, id string) (operation, look) {
			var k refund.RefundRef
			l.inTime(func(lease time.Duration, try string) bool {
				k = l.refund(l.t, id+try)
				claimed := l.claim(l.t, k, refund.AttemptSend, lease)
				l.enter(l.t, k, answered(claimed, refund.Unknown))
				l.late(k)
				d, err := l.judge(l.t, l.propose(l.t, k, refund.ActionConfirmNotDone), true, "bob")
				if err != nil {
					l.t.Fatal(err)
				}
				defer l.waitUntil(l.t, claimed.NotAfter.Add(l.contract.Horizon.D()))
				return d.AppliedAt.IsZero()
			})
			return func() error { return errors.Join(l.sweep(), l.sweep()) }, func() { l.wantState(l.t, k, refund.StateFailed) } // a pass leaves it to the next one
		}},
	}
}

// inTime tries with longer and longer leases until what has to happen within one did: machines may be slow.
func (l *cutRun) inTime(do func(lease time.Duration, try string) bool) {
	l.t.Helper()
	for lease, try := 400*time.Millisecond, ""; !do(lease, try); lease, try = 2*lease, try+"x" {
		if lease > 10*time.Second {
			l.t.Fatal("this machine is too slow")
		}
	}
}

// keep has a notice that names nothing of ours yet.
func (l *cutRun) keep(id, number string) {
	l.t.Helper()
	n := refund.KeptNotice{Notice: refund.Notice{Digest: sha256.Sum256([]byte(id)), Number: number, ChannelRefundID: "ch_" + id, Status: refund.Succeeded, Amount: 100, Currency: "USD"},
		Headers: map[string][]string{}, Body: []byte(id)}
	l.receive(l.t, n, refund.NoticeKept)
}

func (l *cutRun) told(id, number, channelID string) operation {
	n := refund.KeptNotice{Notice: refund.Notice{Digest: sha256.Sum256([]byte(id)), Number: number, ChannelRefundID: channelID, Status: refund.Succeeded, Amount: 100, Currency: "USD"},
		Headers: map[string][]string{}, Body: []byte(id)}
	return func() error { _, err := l.cut.ReceiveNotice(l.t.Context(), "demo", n); return err }
}

// inDoubt is a refund in doubt with a case, its send past everything it can do.
func (l *cutRun) inDoubt(id string) refund.Record {
	k := l.refund(l.t, id)
	l.unclear(k)
	return l.late(k)
}

// late opens the case of a deadline.
func (l *cutRun) late(k refund.RefundRef) refund.Record {
	l.t.Helper()
	if _, err := l.pool.Exec(l.t.Context(), `UPDATE refunds SET state_since = state_since - interval '2 h' WHERE rid = $1`, [16]byte(k.RID)); err != nil {
		l.t.Fatal(err)
	}
	r := l.load(l.t, k)
	l.enter(l.t, k, refund.Fact{Kind: refund.Deadline, Reason: refund.CaseDeadline, Generation: r.Generation, Source: "worker", Actor: "system:worker"})
	return l.load(l.t, k)
}
