package jobs

import (
	"context"
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

// The answer is lost after the effect, or before it: the number is asked about, and only a proven absence is sent again.
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

// A process that dies between its claim and its answer is taken over by the sweeper alone: no job is left, and River's rescuer is far away.
func TestRunnerTakesOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	k := b.accept(t, 1)[0]
	r := b.load(t, k)
	if _, err := b.store.Claim(t.Context(), refund.Claim{RefundRef: k, State: r.State, Generation: r.Generation, JournalSeq: r.JournalSeq, Kind: refund.AttemptSend,
		Dispatch: 1, Contract: testContract(), Lease: 200 * time.Millisecond, Margin: 10 * time.Millisecond, SendWindow: 50 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pool.Exec(t.Context(), `DELETE FROM river_job`); err != nil {
		t.Fatal(err)
	}
	b.start(t)
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	if r := b.load(t, k); r.Attempts[0].Answer != "" || len(r.Effects) != 1 {
		t.Errorf("attempts %+v, effects %+v: the lost send stays without an answer, one effect", r.Attempts, r.Effects)
	}
}

// suspending is a store whose process sleeps for a day right after a claim.
type suspending struct {
	*store.Store
	asleep *atomic.Int64 // nanoseconds slept so far
	once   atomic.Bool
}

func (s *suspending) Claim(ctx context.Context, c refund.Claim) (refund.Claimed, error) {
	got, err := s.Store.Claim(ctx, c)
	if err == nil && s.once.CompareAndSwap(false, true) {
		s.asleep.Add(int64(24 * time.Hour))
	}
	return got, err
}

// C33: suspended between attempt row and send, woken after a day: NotSent, nothing leaves, and the refund goes on from PENDING.
func TestRunnerWokenAfterADay(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	var asleep atomic.Int64
	b.cfg.Store = &suspending{Store: b.store, asleep: &asleep}
	// a suspended machine's monotonic clock stands still: only the wall clock tells
	b.cfg.Clock = func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) }
	b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	r := b.load(t, k)
	if a := r.Attempts[0]; a.Answer != refund.NotSent || a.Kind != refund.AttemptSend {
		t.Errorf("first attempt %+v, want NOT_SENT", a)
	}
	if sends, queries, _ := b.channel.counts(); sends != 1 || queries != 0 {
		t.Errorf("%d sends, %d queries, want only the second send to have left", sends, queries)
	}
}

// held is a store in which somebody else has the row during the first claims.
type held struct {
	*store.Store
	claims atomic.Int64
}

func (s *held) Claim(ctx context.Context, c refund.Claim) (refund.Claimed, error) {
	if s.claims.Add(1) <= 3 {
		return refund.Claimed{}, refund.ErrNotOwner
	}
	return s.Store.Claim(ctx, c)
}

// Whoever holds the row for a moment, such as people who approve the same decision, does not leave the refund to the sweeper.
func TestRunnerLooksAgainAtAHeldRow(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	b.cfg.Store, b.cfg.SweepEvery = &held{Store: b.store}, time.Hour
	b.start(t)
	b.wantAll(t, b.accept(t, 1), refund.StateSuccess)
}

// A channel with neither key nor query: an ambiguous send is never repeated, a person must look.
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
	if asked, err := r.CheckNow(t.Context(), k); asked || err != nil {
		t.Errorf("check: asked=%v %v, want nothing to ask with", asked, err)
	}
	if sends, queries, _ := b.channel.counts(); sends != 1 || queries != 0 {
		t.Errorf("%d sends, %d queries, want 1 and 0", sends, queries)
	}
}
