package store

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

func TestClaimWritesIntentBeforeTheCall(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.contract.Key.Lifetime = refund.Duration(24 * time.Hour)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	r := f.wantState(t, k, refund.StateProcessing)
	a, d := r.Attempts[0], r.Dispatches[0]
	if c.No != 1 || c.Generation != 1 || r.Generation != 1 || r.AttemptNo != 1 || a.Kind != refund.AttemptSend || a.Answer != "" {
		t.Errorf("claim %+v, attempt %+v", c, a)
	}
	if !r.Exposed || !d.Exposed {
		t.Error("a send that may leave is exposed from its claim on")
	}
	if c.Send != 3*time.Second || !a.NotAfter.Equal(a.StartedAt.Add(c.Send)) {
		t.Errorf("send for %s until %s, want the window of 3 s", c.Send, a.NotAfter)
	}
	if want := a.StartedAt.Add(10 * time.Second); !r.LeaseEndsAt.Equal(want) || !r.NextActionAt.Equal(want) {
		t.Errorf("lease %s, timer %s, want both %s", r.LeaseEndsAt, r.NextActionAt, want)
	}
	if want := a.StartedAt.Add(24 * time.Hour); !d.KeyExpiresAt.Equal(want) {
		t.Errorf("key expires %s, want %s: fixed at the first send", d.KeyExpiresAt, want)
	}
	if want := a.NotAfter.Add(f.contract.Horizon.D()); !d.AbsenceCountsFrom.Equal(want) {
		t.Errorf("absence counts from %s, want %s", d.AbsenceCountsFrom, want)
	}
	f.wantSound(t)
}

func TestClaimFence(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	for name, c := range map[string]struct {
		change func(*refund.Claim)
		send   time.Duration // 0 = refused
	}{
		"window":      {func(c *refund.Claim) {}, 3 * time.Second},
		"short lease": {func(c *refund.Claim) { c.Lease, c.Margin = 3*time.Second, time.Second }, 2 * time.Second},
		"key": {func(c *refund.Claim) {
			c.Contract.Key.Lifetime, c.ClockMargin = refund.Duration(4*time.Second), 2*time.Second
		}, time.Second},
		"dead key":      {func(c *refund.Claim) { c.Contract.Key.Lifetime = refund.Duration(3 * time.Second) }, 0},
		"other state":   {func(c *refund.Claim) { c.State = refund.StateUnknown }, 0},
		"generation":    {func(c *refund.Claim) { c.Generation++ }, 0},
		"journal":       {func(c *refund.Claim) { c.JournalSeq++ }, 0},
		"dead dispatch": {func(c *refund.Claim) { c.Dispatch++ }, 0},
	} {
		k := f.refund(t, "rf_"+string(name[0])+name[len(name)-2:])
		claim := f.claimOf(f.load(t, k), refund.AttemptSend, 10*time.Second)
		c.change(&claim)
		got, err := f.Claim(t.Context(), claim)
		if c.send == 0 && !errors.Is(err, refund.ErrNotOwner) {
			t.Errorf("%s: %v, want ErrNotOwner", name, err)
		}
		if c.send != 0 && (err != nil || got.Send != c.send) {
			t.Errorf("%s: may send for %s (%v), want %s", name, got.Send, err, c.send)
		}
	}
	f.wantSound(t)
}

func TestClaimRefusedWhileHeldOrUnderCase(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	if _, err := f.pool.Exec(t.Context(), `UPDATE installation SET sending_held_since = now()`); err != nil {
		t.Fatal(err)
	}
	r := f.load(t, k)
	if !r.SendingHeld {
		t.Error("SendingHeld is false, want true")
	}
	if _, err := f.Claim(t.Context(), f.claimOf(r, refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("a send while sending is held: %v", err)
	}
	if _, err := f.pool.Exec(t.Context(), `UPDATE installation SET sending_held_since = NULL`); err != nil {
		t.Fatal(err)
	}
	if _, err := f.pool.Exec(t.Context(), `WITH c AS (INSERT INTO cases (tenant_id, case_id, rid, reasons, evidence)
		SELECT tenant_id, rid, rid, '{excess}', '{}' FROM refunds RETURNING case_id) UPDATE refunds SET case_id = (SELECT case_id FROM c)`); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Claim(t.Context(), f.claimOf(f.load(t, k), refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("a send under a case: %v", err)
	}
	f.wantSound(t)
}

func TestClaimSpacesSendsOfAPayment(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	f.contract.Limits.Spacing = refund.Duration(time.Hour)
	out := f.accept(t, f.request("e1", "rf_1", "pay", 100, inlinePayment(1000)), f.request("e2", "rf_2", "pay", 100, nil))
	f.claim(t, out[0].Refund.RefundRef, refund.AttemptSend, 10*time.Second)
	r := f.load(t, out[1].Refund.RefundRef)
	if _, err := f.Claim(t.Context(), f.claimOf(r, refund.AttemptSend, 10*time.Second)); !errors.Is(err, refund.ErrNotOwner) {
		t.Errorf("second send of the payment inside its spacing: %v", err)
	}
	if st := refund.Decide(r, f.contract, r.Now); st.Kind != refund.StepWait || st.Why != refund.PendingSpacing {
		t.Errorf("decided %+v, want to wait for the payment's turn", st)
	}
	f.wantSound(t)
}

// Eight owners race for 300 refunds: each gets exactly one owner, and each owner's answer ends exactly one.
func TestClaimRace(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 300)
	var claims, ends, lost atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, k := range keys {
				r, err := f.Load(t.Context(), k)
				if err != nil {
					t.Error(err)
					return
				}
				if r.State != refund.StatePending {
					lost.Add(1)
					continue
				}
				c, err := f.Claim(t.Context(), f.claimOf(r, refund.AttemptSend, 10*time.Second))
				if errors.Is(err, refund.ErrNotOwner) {
					lost.Add(1)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				claims.Add(1)
				if ch, err := f.Enter(t.Context(), k, succeeded(c, "ch_"+k.RID.String()), f.contract); err != nil || ch.After.State != refund.StateSuccess {
					t.Errorf("answer of the owner: %s %v", ch.After.State, err)
				}
				ends.Add(1)
			}
		})
	}
	wg.Wait()
	if claims.Load() != 300 || ends.Load() != 300 {
		t.Errorf("%d claims, %d ends, want 300 of both", claims.Load(), ends.Load())
	}
	if n := f.count(t, `SELECT count(*) FROM effects WHERE status = 'MOVED'`); n != 300 {
		t.Errorf("%d effects, want 300", n)
	}
	f.wantSound(t)
}

// C16: recovery, another worker, an operator and the late answer of the first owner concern the same refunds. Each intent needs the
// current generation; the answer needs none and is never lost.
func TestEveryActionNeedsTheClaim(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	keys := f.refunds(t, "rf", 60)
	owned := make([]refund.Claimed, len(keys))
	for i, k := range keys {
		owned[i] = f.claim(t, k, refund.AttemptSend, 50*time.Millisecond)
	}
	f.waitUntil(t, f.load(t, keys[len(keys)-1]).LeaseEndsAt)
	var takenOver atomic.Int64
	each := func(do func(i int, k refund.RefundRef) error) func() {
		return func() {
			for i, k := range keys {
				if err := do(i, k); err != nil && !errors.Is(err, refund.ErrNotOwner) && !errors.Is(err, refund.ErrNotCancelable) {
					t.Error(err)
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			s, err := f.Sweep(t.Context(), 500)
			if err != nil {
				t.Error(err)
			}
			takenOver.Add(int64(s.TakenOver))
		})
		wg.Go(each(func(_ int, k refund.RefundRef) error { // another worker does what comes next
			r, err := f.Load(t.Context(), k)
			if err != nil {
				return err
			}
			kinds := map[refund.StepKind]refund.AttemptKind{refund.StepSend: refund.AttemptSend, refund.StepQuery: refund.AttemptQuery}
			if st := refund.Decide(r, f.contract, r.Now); kinds[st.Kind] != "" {
				_, err = f.Claim(t.Context(), f.claimOf(r, kinds[st.Kind], 10*time.Second))
			}
			return err
		}))
	}
	wg.Go(each(func(_ int, k refund.RefundRef) error { _, err := f.Cancel(t.Context(), k, "actor:ann"); return err }))
	wg.Go(each(func(i int, k refund.RefundRef) error {
		_, err := f.Enter(t.Context(), k, succeeded(owned[i], "ch_"+k.RID.String()), f.contract)
		return err
	}))
	wg.Wait()
	for _, k := range keys {
		r := f.wantState(t, k, refund.StateSuccess)
		sends := 0
		for _, a := range r.Attempts {
			if a.Kind == refund.AttemptSend {
				sends++
			}
		}
		if sends != 1 || r.Attempts[0].Answer != refund.Succeeded || len(r.Effects) != 1 {
			t.Errorf("%s: %d sends, first answer %q, %d effects: want one send, answered, and one effect", k.RID, sends, r.Attempts[0].Answer, len(r.Effects))
		}
	}
	if n := takenOver.Load(); n > int64(len(keys)) {
		t.Errorf("%d take-overs of %d refunds", n, len(keys))
	}
	f.wantSound(t)
}

func TestAskNeedsNoOwner(t *testing.T) {
	t.Parallel()
	f := newWorkflow(t)
	k := f.refund(t, "rf")
	c := f.claim(t, k, refund.AttemptSend, 10*time.Second)
	f.enter(t, k, succeeded(c, "ch_1"))
	before := f.load(t, k)
	asked, err := f.Ask(t.Context(), f.claimOf(before, refund.AttemptQuery, 10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	r := f.load(t, k)
	if asked.No != 2 || asked.Generation != before.Generation || !r.LeaseEndsAt.IsZero() || r.Generation != before.Generation ||
		r.JournalSeq != before.JournalSeq {
		t.Errorf("asked %+v, refund %+v", asked, r.Refund)
	}
	ch := f.enter(t, k, succeeded(asked, "ch_1"))
	if !ch.Known || len(ch.Steps) != 0 {
		t.Errorf("the same effect again must be known: %+v", ch.Rows)
	}
	if r := f.load(t, k); r.Attempts[1].Answer != refund.Succeeded || len(r.Effects) != 1 {
		t.Errorf("attempt %+v, %d effects", r.Attempts[1], len(r.Effects))
	}
	if _, err := f.Ask(t.Context(), f.claimOf(before, refund.AttemptSend, time.Second)); err == nil {
		t.Error("a send can never be asked without an owner")
	}
	f.wantSound(t)
}
