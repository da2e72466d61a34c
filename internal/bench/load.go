package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// load runs the callers: each sends its next refund when the last one is accepted.
func (b *run) load(ctx context.Context, target Target, tenant refund.Tenant, callers int) (Measure, error) {
	if err := b.checkpoint(ctx); err != nil {
		return Measure{}, err
	}
	before := b.readCPU(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from := time.Now().Add(b.cfg.Warmup)
	until := from.Add(b.cfg.Duration)
	latencies := make([][]time.Duration, callers)
	var all atomic.Int64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(c), uint64(b.schemas))) // #nosec G404 G115 -- spreads a load; small and not negative
			for n := 0; ctx.Err() == nil; n++ {
				start := time.Now()
				if err := target.Accept(ctx, b.intake(tenant, c, n, rnd.IntN(b.cfg.Payments))); err != nil {
					cancel(err)
					return
				}
				end := time.Now()
				all.Add(1)
				if end.After(until) {
					return
				}
				if end.After(from) {
					latencies[c] = append(latencies[c], end.Sub(start))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return Measure{}, err
	}
	m := measure(slices.Concat(latencies...), b.cfg.Duration)
	m.CPU = b.readCPU(ctx).perRefund(before, int(all.Load()))
	return m, nil
}

// intake returns a refund as a shop sends it: a random Idempotency-Key, a refund id that increases with time, one of many
// payments.
func (b *run) intake(tenant refund.Tenant, caller, n, payment int) intake.Intake {
	return intake.Intake{Tenant: tenant, Type: intake.TypeRefundRequested, Actor: "actor:bench", Transport: "bench",
		Event: intake.EventID{Consumer: intake.ConsumerREST, Source: "rest", ID: eventID(caller, n)},
		Refund: &intake.Request{Params: refund.Params{RefundID: fmt.Sprintf("rf-%010d-%03d", n, caller), OrderID: orderID(payment),
			PaymentID: paymentID(payment), Amount: refundAmount, Currency: "USD"}}}
}

// Names and amounts of the data, also for the floor's script and the payments of the schema.
const (
	refundAmount    = 10
	capturedAmount  = 1_000_000_000
	paymentIDFormat = "pay-%07d"
	orderIDFormat   = "ord-%07d"
)

func paymentID(n int) string { return fmt.Sprintf(paymentIDFormat, n) }
func orderID(n int) string   { return fmt.Sprintf(orderIDFormat, n) }

// eventID returns ids that are distributed like random keys and never repeat: the finaliser of SplitMix64 is one to one.
func eventID(caller, n int) string {
	z := uint64(caller)<<40 | uint64(n) // #nosec G115 -- not negative
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return fmt.Sprintf("%016x-%016x", z^z>>31, z)
}

func measure(latencies []time.Duration, d time.Duration) Measure {
	if len(latencies) == 0 {
		return Measure{}
	}
	slices.Sort(latencies)
	at := func(q float64) float64 {
		return float64(latencies[min(len(latencies)-1, int(q*float64(len(latencies))))]) / float64(time.Millisecond)
	}
	return Measure{PerSecond: float64(len(latencies)) / d.Seconds(), P50: at(0.5), P99: at(0.99)}
}
