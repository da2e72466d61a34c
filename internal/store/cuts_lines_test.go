package store

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// lineKinds: what becomes of a line later, and the decisions that peopleKinds leaves out.
func lineKinds() []cutKind {
	return []cutKind{
		{name: "a line that may be ours", prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.unclear(k)
			return l.listed(id, "re_"+id, 100), func() {
				l.wantCount("the held line", 1, `SELECT count(*) FROM effects WHERE channel_refund_id = $1 AND status = 'HELD'`, "re_"+id)
				l.wantReasons(l.t, l.load(l.t, k), refund.CaseUnmatchedLine)
			}
		}},
		{name: "a held line that is nobody's any more", prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			l.unclear(k)
			l.lines(l.t, l.payment(id), true, foreign("re_"+id, 100))
			l.notice(l.t, k, refund.Succeeded, 1, "ch_"+id)
			return func() error { return l.cut.SettleLines(l.t.Context(), l.tenant.ID, l.payment(id)) }, func() {
				l.wantCount("the line is the payment's", 1, `SELECT count(*) FROM effects WHERE channel_refund_id = $1 AND status = 'MOVED' AND rid IS NULL`, "re_"+id)
				l.wantReasons(l.t, l.load(l.t, k))
			}
		}},
		{name: "a line that gives its id", prepare: func(l *cutRun, id string) (operation, look) {
			l.decide(l.t, l.inDoubt(id).RefundRef, refund.ActionConfirmSuccess)
			return l.listed(id, "re_"+id, 100), func() {
				l.wantCount("the effect with an id", 1, `SELECT count(*) FROM effects WHERE channel_refund_id = $1 AND rid IS NOT NULL`, "re_"+id)
			}
		}},
		{name: "an id that is taken back", prepare: func(l *cutRun, id string) (operation, look) {
			l.decide(l.t, l.inDoubt(id).RefundRef, refund.ActionConfirmSuccess)
			l.lines(l.t, l.payment(id), true, foreign("re_"+id, 100))
			owner := l.refund(l.t, id+"o")
			f := succeeded(l.claim(l.t, owner, refund.AttemptSend, 10*time.Second), "re_"+id)
			return func() error { _, err := l.cut.Enter(l.t.Context(), owner, f, l.contract); return err }, func() {
				l.wantCount("whose it is", 1, `SELECT count(*) FROM effects WHERE channel_refund_id = $1 AND rid = $2`, "re_"+id, [16]byte(owner.RID))
			}
		}},
	}
}

// verdictKinds are verdicts on decisions, and the end of a case.
func verdictKinds() []cutKind {
	return []cutKind{
		{name: "a rejection", prepare: func(l *cutRun, id string) (operation, look) {
			r := l.inDoubt(id)
			d := l.propose(l.t, r.RefundRef, refund.ActionConfirmNotDone)
			return l.judging(d, false), func() {
				l.wantVerdict(d, refund.DecisionRejected)
				l.wantState(l.t, r.RefundRef, refund.StateUnknown)
			}
		}},
		{name: "an approval that has to wait", prepare: func(l *cutRun, id string) (operation, look) {
			k := l.refund(l.t, id)
			claimed := l.claim(l.t, k, refund.AttemptSend, 3*time.Second)
			l.enter(l.t, k, answered(claimed, refund.Unknown))
			l.late(k)
			d := l.propose(l.t, k, refund.ActionConfirmNotDone)
			return l.judging(d, true), func() {
				l.wantVerdict(d, refund.DecisionApproved)
				l.waitUntil(l.t, claimed.NotAfter.Add(l.contract.Horizon.D()))
				if _, err := l.Sweep(l.t.Context(), 1000); err != nil {
					l.t.Fatal(err)
				}
				l.wantState(l.t, k, refund.StateFailed)
			}
		}},
		{name: "an excess that is accepted", prepare: func(l *cutRun, id string) (operation, look) {
			d, _, err := l.Propose(l.t.Context(), refund.Proposal{Tenant: l.tenant.ID, CaseID: l.tooMuch(id), Action: refund.ActionAcceptAsIs,
				Evidence: "ticket 4711", Actor: "ann"})
			if err != nil {
				l.t.Fatal(err)
			}
			return l.judging(d, true), func() {
				l.wantCount("the case is closed", 1, `SELECT count(*) FROM cases WHERE case_id = $1 AND closed_how = 'decision:accept-as-is'`, [16]byte(d.CaseID))
			}
		}},
		settledCase(),
	}
}

// settledCase is the case of a payment whose excess a later snapshot has taken away.
func settledCase() cutKind {
	return cutKind{name: "a case that is over, by the sweep", alone: settledPaymentsSQL, prepare: func(l *cutRun, id string) (operation, look) {
		is := l.tooMuch(id)
		spec := *inlinePayment(10_000)
		spec.Version = 10_000
		if _, _, err := l.PutPayment(l.t.Context(), l.tenant, l.payment(id), spec, "actor:test"); err != nil {
			l.t.Fatal(err)
		}
		return l.sweep, func() {
			l.swept("the case is closed", func() bool {
				return l.count(l.t, `SELECT count(*) FROM cases WHERE case_id = $1 AND closed_how = 'fact:captured'`, [16]byte(is)) == 1
			})
		}
	}}
}

// payment is that of the refund that refund makes.
func (l *cutRun) payment(id string) string { return "pay_" + id + "_0" }

// listed is a complete list with one line that none of our requests caused.
func (l *cutRun) listed(id, channelID string, amount int64) operation {
	return func() error {
		return l.cut.EnterLines(l.t.Context(), l.tenant.ID, l.payment(id), "list", []refund.ListedEffect{foreign(channelID, amount)}, true, l.contract)
	}
}

func (l *cutRun) judging(d refund.Decision, approve bool) operation {
	return func() error {
		_, err := l.cut.Judge(l.t.Context(), refund.Approval{Tenant: l.tenant.ID, CaseID: d.CaseID, DecisionID: d.ID, Approve: approve, Actor: "bob"})
		return err
	}
}

func (l *cutRun) wantVerdict(d refund.Decision, want refund.DecisionVerdict) {
	l.t.Helper()
	l.wantCount("the verdict "+string(want), 1, `SELECT count(*) FROM decisions WHERE decision_id = $1 AND verdict = $2`, [16]byte(d.ID), string(want))
}

// tooMuch is the case of a payment that was refunded outside by more than was captured.
func (l *cutRun) tooMuch(id string) (of refund.RID) {
	l.t.Helper()
	l.refund(l.t, id)
	l.lines(l.t, l.payment(id), true, foreign("re_"+id, 5_000))
	if err := l.pool.QueryRow(l.t.Context(), `SELECT case_id FROM cases WHERE payment_id = $1 AND rid IS NULL AND closed_at IS NULL`,
		l.payment(id)).Scan((*[16]byte)(&of)); err != nil {
		l.t.Fatal(err)
	}
	return of
}
