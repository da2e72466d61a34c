package jobs

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// TestRunnerAdoptsForeignRefund runs the whole workflow for a payment that somebody has refunded at the channel. The list
// has this refund without our number, and by the channel's time it is older than ours. It is held while ours may pay; then our
// refund fails by proof, nothing more is sent, and the balance contains the foreign refund. C19.
func TestRunnerAdoptsForeignRefund(t *testing.T) {
	t.Parallel()
	c := testContract()
	c.Query, c.List = refund.QueryTerms{}, refund.QueryTerms{Exists: true, Readings: 1, FirstDelay: refund.Duration(10 * time.Millisecond)}
	b := newBench(t, c)
	b.channel.onSend = func(int, refund.Call, func() string) refund.Answer {
		return refund.Answer{Kind: refund.RefusedEcho, Code: "already_refunded"}
	}
	b.channel.onListed = func(refund.Call) ([]refund.ListedEffect, bool) {
		return []refund.ListedEffect{{ChannelRefundID: "re_outside", Status: refund.Succeeded, Amount: 100, Currency: "USD",
			At: time.Now().Add(-time.Hour)}}, true
	}
	b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateFailed)
	eventually(t, "the foreign refund in the balance", func() bool {
		r := b.load(t, k)
		return r.Payment.Refunded == 100 && r.Payment.Held == 0 && r.Payment.Reserved == 0 && r.Case == nil && r.NextActionAt.IsZero()
	})
	if sends, _, _ := b.channel.counts(); sends != 1 {
		t.Errorf("%d sends, want 1", sends)
	}
}

// TestRunnerQueriesUnderACase queries the channel while a decision is proposed. The queries do not void the proposal; an
// answer that proves something would.
func TestRunnerQueriesUnderACase(t *testing.T) {
	t.Parallel()
	c := testContract()
	c.Waits.Unknown = refund.Duration(time.Millisecond)
	b := newBench(t, c)
	b.channel.onSend = func(int, refund.Call, func() string) refund.Answer { return refund.Answer{Kind: refund.Unknown} }
	b.channel.onQuery = func(refund.Call) refund.Answer { return refund.Answer{Kind: refund.Unknown} }
	b.start(t)
	k := b.accept(t, 1)[0]
	eventually(t, "a case", func() bool { return b.load(t, k).Case.Has(refund.CaseDeadline) })
	for _, name := range []string{"ann", "bob"} {
		if _, err := b.pool.Exec(t.Context(), `INSERT INTO actors (tenant_id, name, kind) VALUES ($1, $2, 'person')`, int64(b.tenant.ID), name); err != nil {
			t.Fatal(err)
		}
	}
	r := b.load(t, k)
	d, _, err := b.store.Propose(t.Context(), refund.Proposal{Tenant: k.Tenant, CaseID: r.Case.ID, Action: refund.ActionConfirmNotDone,
		Evidence: "ticket 4711", Actor: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	_, before, _ := b.channel.counts()
	eventually(t, "two more queries", func() bool { _, n, _ := b.channel.counts(); return n >= before+2 })
	if _, err := b.store.Judge(t.Context(), refund.Approval{Tenant: k.Tenant, CaseID: d.CaseID, DecisionID: d.ID, Approve: true, Actor: "bob"}); err != nil {
		t.Fatalf("the proposal must still stand: %v", err)
	}
	b.wantAll(t, []refund.RefundRef{k}, refund.StateFailed)
	if r := b.load(t, k); r.Case != nil || r.Exposed {
		t.Errorf("%+v", r.Refund)
	}
}
