package store

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// entering is a fact about a refund that way has brought to where it is entered.
func entering(name string, want refund.State, way func(l *cutRun, k refund.RefundRef) refund.Fact) cutKind {
	return cutKind{name: name, prepare: func(l *cutRun, id string) (operation, look) {
		k := l.refund(l.t, id)
		f := way(l, k)
		l.storeNotice(l.t, k, f)
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
