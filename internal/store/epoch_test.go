package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// elsewhere makes the installation believe that it last agreed to be on another timeline, as after a restore.
func (f *testWorkflow) elsewhere(t *testing.T) {
	t.Helper()
	if _, err := f.pool.Exec(t.Context(), `UPDATE installation SET timeline = timeline + 7`); err != nil {
		t.Fatal(err)
	}
}

func (f *testWorkflow) epoch(t *testing.T) EpochState {
	t.Helper()
	e, err := f.EpochState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEpochHoldsSending(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	if e, err := f.WatchEpoch(t.Context(), false); err != nil || e.Moved || e.HeldSince != nil {
		t.Fatalf("a database that is where it was: %v %+v", err, e)
	}
	f.elsewhere(t)
	e, err := f.WatchEpoch(t.Context(), false)
	if err != nil || !e.Moved || e.HeldSince == nil {
		t.Fatalf("a database that moved: %v %+v", err, e)
	}
	if again, err := f.WatchEpoch(t.Context(), false); err != nil || !again.HeldSince.Equal(*e.HeldSince) {
		t.Errorf("held since %v, then %v (%v)", e.HeldSince, again.HeldSince, err)
	}
	k := f.refund(t, "while_held") // intake goes on
	r := f.load(t, k)
	if d := refund.Decide(r, f.contract, r.Now); d.Kind != refund.StepWait || d.Why != refund.PendingHeld {
		t.Errorf("%+v, want a wait for the epoch", d)
	}
	if _, err := f.Claim(t.Context(), f.claimOf(r, refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("a send was claimed while sending is held: %v", err)
	}
}

func TestEpochLosslessFailoverGoesOn(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.elsewhere(t)
	if _, err := f.WatchEpoch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if e := f.epoch(t); e.Moved || e.HeldSince != nil || e.Epoch != 1 {
		t.Errorf("%+v, want the new place taken over", e)
	}
}

// A serving process never has a connection on which something could be claimed before the move was seen.
func TestEpochIsSeenByEveryNewConnection(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	k := f.refund(t, "rf")
	f.elsewhere(t)
	s, err := Open(t.Context(), Config{URL: f.url, Accounts: anyAccount{f.contract}, HoldOnFailover: true, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Claim(t.Context(), f.claimOf(f.load(t, k), refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("claimed on a database that has moved: %v", err)
	}
	if f.epoch(t).HeldSince == nil {
		t.Error("sending is not held")
	}
}

func TestEpochExposeMarksEveryOpenRefund(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.elsewhere(t)
	held, err := f.WatchEpoch(t.Context(), false)
	if err != nil || held.HeldSince == nil {
		t.Fatal(err)
	}
	open := f.epoch(t)
	if open.Open != open.Unmarked || open.Open == 0 {
		t.Fatalf("%+v", open)
	}
	var told int64
	e, err := f.ExposeEpoch(t.Context(), ExposeConfig{Batch: 2, Progress: func(marked, _ int64) { told = marked }})
	if err != nil {
		t.Fatal(err)
	}
	if e.Epoch != 2 || e.HeldSince != nil || e.Moved || e.Unmarked != 0 || e.Open != open.Open || told != open.Open || e.MarkNewUntil == nil {
		t.Errorf("after expose: %+v, progress reported %d", e, told)
	}
	for sql, want := range map[string]int{
		`SELECT count(*) FROM refunds WHERE state IN ('PENDING', 'PROCESSING')`:                                                                          0,
		`SELECT count(*) FROM dispatches d JOIN refunds r USING (tenant_id, rid) WHERE r.final_at IS NULL AND d.marked_epoch IS DISTINCT FROM 2`:         0,
		`SELECT count(*) FROM dispatches d JOIN refunds r USING (tenant_id, rid) WHERE r.final_at IS NOT NULL AND d.marked_epoch IS NOT NULL`:            0,
		`SELECT count(*) FROM refunds r WHERE final_at IS NULL AND (SELECT max(no) FROM dispatches d WHERE d.rid = r.rid) <> dispatch_no + 1`:            0,
		`SELECT count(*) FROM dispatches WHERE marked_epoch = 2 AND (NOT exposed OR key_expires_at > now() OR may_act_until < at + interval '59 s')`:     0,
		`SELECT count(*) FROM dispatches d WHERE marked_epoch = 2 AND NOT EXISTS (SELECT FROM retired_dispatches x WHERE (x.rid, x.no) = (d.rid, d.no))`: 0,
		`SELECT count(*) FROM refunds WHERE final_at IS NULL AND epoch <> 2`:                                                                             0,
	} {
		if n := f.count(t, sql); n != want {
			t.Errorf("%s: %d, want %d", sql, n, want)
		}
	}
	wantBroken(t, f.verify(t), "", "")
	f.wantSound(t)
}

// After the marking every dispatch is queried. If the channel knows none of them, the refund is sent under a number that was never used.
func TestEpochQueriesThenSendsUnderANewNumber(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	k := f.refund(t, "rf")
	if _, err := f.ExposeEpoch(t.Context(), ExposeConfig{}); err != nil {
		t.Fatal(err)
	}
	f.plant(t, `UPDATE dispatches SET may_act_until = now() - interval '1 hour' WHERE rid = (SELECT rid FROM refunds WHERE refund_id = 'rf_0')`) // the longest lease has gone by
	for range 10 {
		r := f.load(t, k)
		st := refund.Decide(r, f.contract, r.Now)
		switch st.Kind {
		case refund.StepQuery:
			claim := f.claimOf(r, refund.AttemptQuery, 10*time.Second)
			claim.Dispatch = st.Dispatch
			c, err := f.Claim(t.Context(), claim)
			if err != nil {
				t.Fatal(err)
			}
			f.enter(t, k, answered(c, refund.NotFound))
		case refund.StepWait:
			f.waitUntil(t, st.Until)
		case refund.StepRetireKey:
			f.enter(t, k, refund.Fact{Kind: refund.KeyExpired, Dispatch: st.Dispatch, Generation: r.Generation, Source: "worker", Actor: "system:worker"})
		case refund.StepSend:
			if st.Dispatch != 3 {
				t.Fatalf("sends number %d: 1 and 2 may have been used in what was lost", st.Dispatch)
			}
			wantBroken(t, f.verify(t), "", "")
			return
		default:
			t.Fatalf("%+v", st)
		}
	}
	t.Fatalf("never sent: %+v", f.load(t, k).Refund)
}

// A run that is broken off goes on where it was, and several at once do no harm.
func TestEpochExposeIsResumable(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.refunds(t, "many", 60)
	f.elsewhere(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := f.ExposeEpoch(ctx, ExposeConfig{Batch: 10, Progress: func(marked, _ int64) {
		if marked >= 20 {
			cancel()
		}
	}}); err == nil {
		t.Fatal("a canceled run must not pretend to be done")
	}
	e := f.epoch(t)
	if e.Epoch != 1 || e.HeldSince == nil || e.Unmarked == 0 || e.Unmarked >= e.Open {
		t.Fatalf("half-way: %+v", e)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if e, err := f.ExposeEpoch(t.Context(), ExposeConfig{Batch: 7}); err != nil || e.Epoch != 2 || e.Unmarked != 0 {
				t.Errorf("%v %+v", err, e)
			}
		})
	}
	wg.Wait()
	if n := f.count(t, `SELECT count(*) FROM journal WHERE kind = 'epoch_mark' GROUP BY rid HAVING count(*) > 1 UNION ALL SELECT 0 LIMIT 1`); n != 0 {
		t.Error("a refund was marked twice")
	}
	wantBroken(t, f.verify(t), "", "")
}

// Refunds that come while it goes on, and after it, are marked before anything is sent for them.
func TestEpochMarksReappearingRefunds(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	f.elsewhere(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			id := "come_" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
			if _, err := f.AcceptGroup(t.Context(), []intake.Intake{f.request("ev_"+id, id, "pay_"+id, 100, inlinePayment(1000))}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	if _, err := f.ExposeEpoch(t.Context(), ExposeConfig{Batch: 5, MarkNew: time.Hour}); err != nil {
		t.Error(err)
	}
	k := f.refund(t, "after")
	close(stop)
	<-done
	if r := f.load(t, k); !r.SendingHeld || refund.Decide(r, f.contract, r.Now).Kind == refund.StepSend {
		t.Error("a refund that may have been lost would be sent unasked")
	}
	for n := 1; n > 0; {
		var err error
		if n, err = f.MarkReappeared(t.Context(), 50); err != nil {
			t.Fatal(err)
		}
	}
	if r := f.load(t, k); r.SendingHeld || !r.MarkedIn(2) || r.State != refund.StateUnknown {
		t.Errorf("%+v", r.Refund)
	}
	if n := f.count(t, `SELECT count(*) FROM refunds WHERE state = 'PENDING'`); n != 0 {
		t.Errorf("%d refunds were not marked", n)
	}
	if err := f.SetMarkNew(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	f.waitUntil(t, time.Now())
	late := f.refund(t, "new")
	if r := f.load(t, late); r.SendingHeld || refund.Decide(r, f.contract, r.Now).Kind != refund.StepSend {
		t.Errorf("nothing lost can come any more, and a new refund waits: %+v", r.Refund)
	}
	wantBroken(t, f.verify(t), "", "")
}
