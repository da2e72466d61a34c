package store

import (
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func TestSweepWakesDueRefundsOnce(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 50)
	if _, err := f.pool.Exec(t.Context(), `UPDATE refunds SET next_action_at = now() - interval '1 s'`); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	woken := 0
	var wg sync.WaitGroup
	for range 4 { // replicas at the same time
		wg.Go(func() {
			for range 5 {
				s, err := f.Sweep(t.Context(), 20)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				woken += s.Enqueued
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	seen := map[refund.RefundRef]int{}
	for _, w := range f.jobs.take() {
		seen[w.RefundRef]++
	}
	for _, k := range keys {
		if seen[k] != 1 {
			t.Errorf("refund %s got %d jobs, want 1", k.RID, seen[k])
		}
	}
	if r := f.load(t, keys[0]); woken != 50 || !r.NextActionAt.After(r.Now) {
		t.Errorf("%d woken, timer %s", woken, r.NextActionAt)
	}
	if s, err := f.Sweep(t.Context(), 20); err != nil || s != (refund.Swept{}) {
		t.Errorf("nothing is due: %+v %v", s, err)
	}
}

func TestSweepSaysWhenThereIsMore(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.refunds(t, "rf", 5)
	if _, err := f.pool.Exec(t.Context(), `UPDATE refunds SET next_action_at = now() - interval '1 s'`); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Sweep(t.Context(), 3); err != nil || s.Enqueued != 3 || !s.More {
		t.Errorf("%+v %v, want 3 and more", s, err)
	}
	if s, err := f.Sweep(t.Context(), 3); err != nil || s.Enqueued != 2 || s.More {
		t.Errorf("%+v %v, want the last 2", s, err)
	}
}

func TestSweepTakesOverEndedLeases(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	dead, alive := f.refund(t, "dead"), f.refund(t, "alive")
	old := f.claim(t, dead, refund.AttemptSend, 50*time.Millisecond)
	f.claim(t, alive, refund.AttemptSend, time.Minute)
	f.waitUntil(t, f.load(t, dead).LeaseEndsAt)
	f.jobs.take()
	var mu sync.Mutex
	var sum refund.Swept
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := f.Sweep(t.Context(), 100)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			sum.TakenOver += s.TakenOver
			mu.Unlock()
		})
	}
	wg.Wait()
	r := f.wantState(t, dead, refund.StateUnknown)
	f.wantState(t, alive, refund.StateProcessing)
	if jobs := f.jobs.take(); sum.TakenOver != 1 || len(jobs) != 1 || jobs[0].Generation != r.Generation || r.Generation != old.Generation {
		t.Errorf("%d take-overs, jobs %v: want one, and its follow-up in the same transaction", sum.TakenOver, jobs)
	}
	f.wantSound(t)
}

// The payment became known between the search for it and the parking of its message: no job was written, so the sweep must find the pair.
func TestSweepWakesParked(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.refund(t, "rf") // makes pay_rf_0
	for _, p := range []string{"pay_rf_0", "pay_rf_0", "pay_unknown"} {
		if _, err := f.pool.Exec(t.Context(), `INSERT INTO parked (tenant_id, parked_id, consumer, position, headers, body, reason, wake_payment, tries)
			VALUES ($1, gen_random_uuid(), 'orders', gen_random_uuid()::text, '{}', '', 'payment-unknown', $2, 1)`, int64(f.tenant.ID), p); err != nil {
			t.Fatal(err)
		}
	}
	s, err := f.Sweep(t.Context(), 100)
	jobs := f.jobs.take()
	if err != nil || s.Payments != 1 || len(jobs) != 1 || jobs[0].PaymentID != "pay_rf_0" || jobs[0].Tenant != f.tenant.ID {
		t.Errorf("%+v %v, jobs %v: want one wake-up for the one payment that is known", s, err, jobs)
	}
}
