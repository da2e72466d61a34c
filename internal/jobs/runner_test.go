package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store"
)

func TestRunnerSucceeds(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.start(t)
	keys := b.accept(t, 100)
	b.wantAll(t, keys, refund.StateSuccess)
	if sends, queries, effects := b.channel.counts(); sends != 100 || queries != 0 || effects != 100 {
		t.Errorf("%d sends, %d queries, %d effects, want 100, 0, 100", sends, queries, effects)
	}
	r := b.load(t, keys[0])
	if r.JournalSeq != 3 || r.AttemptNo != 1 || r.Payment.Refunded != 100 || !r.NextActionAt.IsZero() {
		t.Errorf("%+v", r.Refund)
	}
}

// TestRunnerLostAnswers loses answers after the effect, or before it. The number is queried, and sent again only after a
// proven absence.
func TestRunnerLostAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.channel.onSend = func(n int, c refund.Call, effect func() string) refund.Answer {
		switch n % 3 {
		case 0:
			effect()
			return refund.Answer{Kind: refund.Unknown}
		case 1:
			return refund.Answer{Kind: refund.Unknown}
		}
		return paid(c, effect())
	}
	b.start(t)
	keys := b.accept(t, 30)
	b.wantAll(t, keys, refund.StateSuccess)
	if _, _, effects := b.channel.counts(); effects != 30 {
		t.Errorf("%d effects, want 30", effects)
	}
	for _, k := range keys {
		for _, a := range b.load(t, k).Attempts {
			if a.Answer == "" {
				t.Errorf("refund %s: attempt %d has no answer", k.RID, a.No)
			}
		}
	}
}

// TestRunnerTakesOver leaves a claim without an answer, as a process does that is killed. The sweeper alone takes it over:
// there is no job, and River's rescuer is not due.
func TestRunnerTakesOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	k := b.accept(t, 1)[0]
	r := b.load(t, k)
	if _, err := b.store.Claim(t.Context(), refund.Claim{RefundRef: k, State: r.State, Generation: r.Generation, JournalSeq: r.JournalSeq,
		Kind: refund.AttemptSend, Dispatch: 1, Contract: testContract(), Lease: 200 * time.Millisecond, Margin: 10 * time.Millisecond, SendWindow: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pool.Exec(t.Context(), `DELETE FROM river_job`); err != nil {
		t.Fatal(err)
	}
	b.start(t)
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	if r := b.load(t, k); r.Attempts[0].Answer != "" || len(r.Effects) != 1 {
		t.Errorf("attempts %+v, effects %+v: want no answer of the lost send, and one effect", r.Attempts, r.Effects)
	}
}

// suspendingStore is a store whose process is suspended for a day after a claim.
type suspendingStore struct {
	*store.Store
	asleep *atomic.Int64 // nanoseconds of suspension
	once   atomic.Bool
}

func (s *suspendingStore) Claim(ctx context.Context, c refund.Claim) (refund.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	if err == nil && s.once.CompareAndSwap(false, true) {
		s.asleep.Add(int64(24 * time.Hour))
	}
	return got, err
}

// TestRunnerWokenAfterADay suspends the process between the attempt and the send and wakes it after a day. The answer is
// NotSent, nothing is sent, and the refund continues from PENDING. C33.
func TestRunnerWokenAfterADay(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	var asleep atomic.Int64
	b.cfg.Store = &suspendingStore{Store: b.store, asleep: &asleep}
	// the monotonic clock stops while a machine is suspended
	b.cfg.Clock = func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) }
	b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	r := b.load(t, k)
	if a := r.Attempts[0]; a.Answer != refund.NotSent || a.Kind != refund.AttemptSend {
		t.Errorf("first attempt %+v, want NOT_SENT", a)
	}
	if sends, queries, _ := b.channel.counts(); sends != 1 || queries != 0 {
		t.Errorf("%d sends, %d queries, want the second send only", sends, queries)
	}
}

// busyStore is a store in which another transaction has the row during the first claims.
type busyStore struct {
	*store.Store
	claims atomic.Int64
}

func (s *busyStore) Claim(ctx context.Context, c refund.Claim) (refund.Claimed, error) {
	if s.claims.Add(1) <= 3 {
		return refund.Claimed{}, refund.ErrNotOwner
	}
	return s.Store.Claim(ctx, c)
}

// TestRunnerRereadsABusyRow has the row held for a moment, as an approval does. The step waits for it and does not leave
// the refund to the sweeper.
func TestRunnerRereadsABusyRow(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.cfg.Store, b.cfg.SweepEvery = &busyStore{Store: b.store}, time.Hour
	b.start(t)
	b.wantAll(t, b.accept(t, 1), refund.StateSuccess)
}

// TestRunnerBlindChannel has a channel with neither keys nor queries: an ambiguous send is never repeated, and a case is
// opened.
func TestRunnerBlindChannel(t *testing.T) {
	t.Parallel()
	c := testContract()
	c.Query, c.Key = refund.QueryTerms{}, refund.IdempotencyTerms{NumberLength: 64}
	b := newBench(t, c)
	b.channel.onSend = func(_ int, _ refund.Call, effect func() string) refund.Answer {
		effect()
		return refund.Answer{Kind: refund.Unknown}
	}
	r := b.start(t)
	k := b.accept(t, 1)[0]
	eventually(t, "a case", func() bool { return b.load(t, k).Case.Has(refund.CaseNoStep) })
	if err := r.CheckNow(t.Context(), k); !errors.Is(err, refund.CannotAskChannel) {
		t.Errorf("check: %v, want that nothing can be queried", err)
	}
	if sends, queries, _ := b.channel.counts(); sends != 1 || queries != 0 {
		t.Errorf("%d sends, %d queries, want 1 and 0", sends, queries)
	}
}
