package jobs

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// blockingLimiter admits nothing until it is opened.
type blockingLimiter struct {
	open     atomic.Bool
	why      refund.PendingReason
	refused  atomic.Int64
	reported chan refund.FactKind
}

func (d *blockingLimiter) Admit(string) (func(refund.FactKind), time.Duration, refund.PendingReason) {
	if !d.open.Load() {
		d.refused.Add(1)
		return nil, 10 * time.Millisecond, d.why
	}
	return func(k refund.FactKind) { d.reported <- k }, 0, ""
}

// TestLimiterDelaysWithoutAnAttempt has a breaker or a rate limit hold a call back: the refund stays PENDING with the
// reason, and no attempt exists.
func TestLimiterDelaysWithoutAnAttempt(t *testing.T) {
	t.Parallel()
	for _, why := range []refund.PendingReason{refund.PendingBreaker, refund.PendingRateLimit} {
		t.Run(string(why), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, testContract())
			limiter := &blockingLimiter{why: why, reported: make(chan refund.FactKind, 16)}
			b.cfg.CallLimiter = limiter
			b.start(t)
			k := b.accept(t, 1)[0]
			for end := time.Now().Add(20 * time.Second); limiter.refused.Load() < 2; <-time.After(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the limiter was not asked twice")
				}
			}
			r := b.load(t, k)
			if r.State != refund.StatePending || r.PendingReason != why || r.AttemptNo != 0 || r.Generation != 0 || !r.LeaseEndsAt.IsZero() || r.NextActionAt.IsZero() {
				t.Errorf("%+v: want PENDING because of %s, no attempt and a timer", r.Refund, why)
			}
			limiter.open.Store(true)
			b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
			if got := <-limiter.reported; got != refund.Succeeded {
				t.Errorf("the limiter got %q", got)
			}
			if r := b.load(t, k); r.AttemptNo != 1 {
				t.Errorf("%d attempts, want the one that was admitted", r.AttemptNo)
			}
		})
	}
}

// TestSilenceIsPolledUntilFinal has a channel that never reports a success by itself. It is queried until the result is
// known; silence proves nothing. C7.
func TestSilenceIsPolledUntilFinal(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	var asked atomic.Int64
	b.channel.onSend = func(_ int, c refund.Call, effect func() string) refund.Answer {
		return refund.Answer{Kind: refund.Acknowledged, ChannelRefundID: effect()}
	}
	b.channel.onQuery = func(c refund.Call) refund.Answer {
		if asked.Add(1) < 4 {
			return refund.Answer{Kind: refund.Acknowledged}
		}
		return paid(c, b.channel.effect(c.Number))
	}
	b.start(t)
	k := b.accept(t, 1)[0]
	b.wantAll(t, []refund.RefundRef{k}, refund.StateSuccess)
	r := b.load(t, k)
	if sends, queries, _ := b.channel.counts(); sends != 1 || queries != 4 || r.Case != nil || len(r.Effects) != 1 {
		t.Errorf("%d sends, %d queries, case %+v, effects %+v: want one send and four queries", sends, queries, r.Case, r.Effects)
	}
}

// TestAcknowledgedIsNotSuccessAndNoChangeIsNotFailure queries the channel after an "accepted", which is no success, and
// after a "nothing changed" to a repeat, which is no failure. C20.
func TestAcknowledgedIsNotSuccessAndNoChangeIsNotFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t, testContract())
	lost := make(chan struct{})
	b.channel.onSend = func(n int, c refund.Call, effect func() string) refund.Answer {
		effect()
		if n == 1 {
			return refund.Answer{Kind: refund.Acknowledged}
		}
		return refund.Answer{Kind: refund.Unknown, Rule: "fund-change-n"}
	}
	b.channel.onQuery = func(c refund.Call) refund.Answer {
		select {
		case <-lost:
			return paid(c, b.channel.effect(c.Number))
		default:
			return refund.Answer{Kind: refund.Unknown}
		}
	}
	b.start(t)
	keys := b.accept(t, 2)
	for end := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		first, second := b.load(t, keys[0]).State, b.load(t, keys[1]).State
		if states := map[refund.State]bool{first: true, second: true}; states[refund.StateAccepted] && states[refund.StateUnknown] {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s and %s, want one ACCEPTED and one UNKNOWN", first, second)
		}
	}
	for _, k := range keys {
		if p := b.load(t, k).Payment; p.Refunded != 0 || p.Reserved == 0 {
			t.Errorf("payment %+v: want the amount reserved until the result is known", p)
		}
	}
	close(lost)
	b.wantAll(t, keys, refund.StateSuccess)
	if sends, _, effects := b.channel.counts(); sends != 2 || effects != 2 {
		t.Errorf("%d sends, %d effects, want 2 and 2", sends, effects)
	}
}
