package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

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
			l.plant(l.t, fmt.Sprintf(`UPDATE notices SET number = '%s' WHERE body = '%s'`, l.number(l.t, k), id))
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
		openedCase(),
		{name: "a proposal", prepare: func(l *cutRun, id string) (operation, look) {
			r := l.inDoubt(id)
			return func() error {
					_, _, err := l.cut.Propose(l.t.Context(), refund.Proposal{Tenant: r.Tenant, CaseID: r.Case.ID, Action: refund.ActionWait, Evidence: "ticket 4711",
						Actor: "ann"})
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
	n := refund.KeptNotice{Notice: refund.Notice{Digest: sha256.Sum256([]byte(id)), Number: number, ChannelRefundID: "ch_" + id, Status: refund.Succeeded,
		Amount: 100, Currency: "USD"},
		Headers: map[string][]string{}, Body: []byte(id)}
	l.receive(l.t, n, refund.NoticeKept)
}

func (l *cutRun) told(id, number, channelID string) operation {
	n := refund.KeptNotice{Notice: refund.Notice{Digest: sha256.Sum256([]byte(id)), Number: number, ChannelRefundID: channelID, Status: refund.Succeeded,
		Amount: 100, Currency: "USD"},
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

// openedCase is the case of a final refund that a person opens.
func openedCase() cutKind {
	return cutKind{name: "a case that a person opens", prepare: func(l *cutRun, id string) (operation, look) {
		k := l.refund(l.t, id)
		l.enter(l.t, k, succeeded(l.claim(l.t, k, refund.AttemptSend, 10*time.Second), "re_"+id))
		return func() error { _, _, err := l.cut.OpenCase(l.t.Context(), k, "statement of 2 March", "ann"); return err }, func() {
			l.wantCount("one case", 1, `SELECT count(*) FROM cases WHERE rid = $1`, [16]byte(k.RID))
		}
	}}
}
