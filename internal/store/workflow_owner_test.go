package store

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// An owner whose lease has ended changes nothing by its conclusions: after the lease, under a new owner, after the final state.
func TestEnterStaleOwner(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 100)
	for i, k := range keys {
		old := f.claim(t, k, refund.AttemptSend, 30*time.Millisecond)
		f.waitUntil(t, f.load(t, k).LeaseEndsAt)
		f.enter(t, k, refund.Fact{Kind: refund.LeaseEnd, Generation: old.Generation, Source: "sweeper", Actor: "system:sweeper"})
		var fresh refund.Claimed
		if i%3 > 0 {
			fresh = f.claim(t, k, refund.AttemptSend, 10*time.Second) // the same number again
		}
		if i%3 > 1 {
			f.enter(t, k, succeeded(fresh, "ch_"+k.RID.String()))
		}
		before := f.load(t, k)
		for _, stale := range []refund.Fact{
			{Kind: refund.LeaseEnd, Generation: old.Generation}, {Kind: refund.Settled, Generation: old.Generation},
			{Kind: refund.Deadline, Reason: refund.CaseDeadline, Generation: old.Generation}, {Kind: refund.KeyExpired, Generation: old.Generation},
		} {
			if _, err := f.Enter(t.Context(), k, stale, f.contract); !errors.Is(err, refund.ErrNotOwner) {
				t.Fatalf("%s of a passed generation: %v", stale.Kind, err)
			}
		}
		if err := f.Reschedule(t.Context(), k, old.Generation-1, refund.Step{Until: time.Now().Add(time.Hour)}); !errors.Is(err, refund.ErrNotOwner) {
			t.Fatalf("postponed by a passed generation: %v", err)
		}
		late := f.enter(t, k, answered(old, refund.RefusedClean)) // evidence is kept; a negative one moves nothing while another is open or known better
		after := f.load(t, k)
		if i%3 > 0 && late.After.State != before.State {
			t.Fatalf("a late refusal moved %s to %s", before.State, late.After.State)
		}
		if after.Attempts[0].Answer != refund.RefusedClean || after.Generation != before.Generation {
			t.Fatalf("attempt %+v", after.Attempts[0])
		}
	}
	f.wantSound(t)
}

// C25: the owner's lease ends while its call is in flight, and the success arrives after the take-over. It is kept, and booked once.
func TestEnterLateSuccessAfterTakeover(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.contract.Query = refund.QueryTerms{}
	f.contract.Key = refund.IdempotencyTerms{NumberLength: 64} // neither key nor query
	f.cfg.Accounts = anyAccount{f.contract}
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 50*time.Millisecond)
	f.waitUntil(t, f.load(t, k).LeaseEndsAt)
	if swept, err := f.Sweep(t.Context(), 100); err != nil || swept.TakenOver != 1 {
		t.Fatalf("sweep %+v %v, want one take-over", swept, err)
	}
	f.wantState(t, k, refund.StateUnknown)
	f.enter(t, k, succeeded(c, "ch_1"))
	r := f.wantState(t, k, refund.StateSuccess)
	var late bool
	if err := f.pool.QueryRow(t.Context(), `SELECT late FROM attempts`).Scan(&late); err != nil || late {
		t.Errorf("late=%v %v: no other owner has come, so the generation stands", late, err)
	}
	if len(r.Effects) != 1 || r.Case != nil || r.Payment.Refunded != 100 {
		t.Errorf("effects %+v, case %+v, payment %+v", r.Effects, r.Case, r.Payment)
	}
	if again := f.enter(t, k, succeeded(c, "ch_1")); !again.Known {
		t.Error("the same answer again must be known")
	}
	f.wantSound(t)
}

// Two facts at the same moment: one waits for the other, both are kept, and the money counts once per channel refund.
func TestEnterConcurrentFacts(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	for round := range 20 {
		k := f.refunds(t, "rf"+string(rune('a'+round)), 1)[0]
		c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
		id := "ch_" + k.RID.String()
		facts := []refund.Fact{
			succeeded(c, id), succeeded(c, id),
			{Kind: refund.Succeeded, ChannelRefundID: id, Amount: 100, Currency: "USD", Source: "notice"},
			{Kind: refund.Succeeded, ChannelRefundID: id, Amount: 100, Currency: "USD", Source: "settlement"},
			{Kind: refund.Acknowledged, ChannelRefundID: id, Source: "notice"},
		}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for _, fact := range facts {
			wg.Go(func() {
				<-start
				if _, err := f.Enter(t.Context(), k, fact, f.contract); err != nil {
					t.Errorf("%s by %s: %v", fact.Kind, fact.Source, err)
				}
			})
		}
		close(start)
		wg.Wait()
		if r := f.wantState(t, k, refund.StateSuccess); len(r.Effects) != 1 || r.Payment.Refunded != 100 {
			t.Fatalf("%d effects, refunded %d", len(r.Effects), r.Payment.Refunded)
		}
	}
	f.wantSound(t)
}
