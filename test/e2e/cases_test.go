package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// site is the server that all cases share; each case has refunds of its own.
type site struct {
	dev *harness.Dev
	api *harness.Client
	sim *harness.Sim
}

// oneCase is a failure of other systems, and the faults that cause it here.
type oneCase struct {
	name  string
	rules []harness.Rule
	run   func(ctx context.Context, t *testing.T, s site)
}

// TestCases shows that the failures of other systems do not happen here; docs/cases.md describes each by its number.
func TestCases(t *testing.T) {
	t.Parallel()
	ctx := bounded(t, 3*time.Minute)
	dev := harness.StartDev(t)
	var all []oneCase
	for _, part := range [][]oneCase{doorCases(), channelCases(), ambiguousCases(), raceCases()} {
		all = append(all, part...)
	}
	var rules []harness.Rule
	for _, c := range all {
		rules = append(rules, c.rules...)
	}
	dev.Sim().SetRules(ctx, rules...)
	t.Run("all", func(t *testing.T) { // returns when every parallel case has ended
		for _, c := range all {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(ctx, t, site{dev, dev.ClientFor(t), dev.SimFor(t)})
			})
		}
	})
	dev.DB().CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
	sim := dev.Sim()
	for _, id := range []string{"c13", "c28"} { // the sweeper has passed many times by now
		if n := len(sim.EffectsOf(ctx, id)); n != 1 {
			t.Errorf("%s: %d effects at the end, want 1: nothing is sent again on a channel with neither keys nor queries", id, n)
		}
	}
}

// paidOnce waits for SUCCESS and checks that the channel moved the money once, with so many sends.
func (s site) paidOnce(ctx context.Context, t *testing.T, id string, sends int, within time.Duration) harness.Timeline {
	t.Helper()
	s.api.UntilState(ctx, id, "SUCCESS", within)
	effects := s.sim.EffectsOf(ctx, id)
	if len(effects) != 1 || effects[0].Requests != sends {
		t.Errorf("%s: the channel has %+v, want one effect after %d sends", id, effects, sends)
	}
	tl := s.api.Timeline(ctx, id)
	if n := tl.Calls("SEND"); n != sends {
		t.Errorf("%s: %d attempts to send, want %d", id, n, sends)
	}
	if len(tl.Effects) != 1 {
		t.Errorf("%s: %d effects booked, want 1", id, len(tl.Effects))
	}
	for _, e := range tl.Effects {
		if e.Source == "answer" && len(e.Voucher["arn"]) != 23 {
			t.Errorf("%s: the voucher is %v, want the one that the channel gave with its answer", id, e.Voucher)
		}
	}
	return tl
}

// payment fails the test unless the balances are these.
func (s site) payment(ctx context.Context, t *testing.T, id string, reserved, refunded int64) {
	t.Helper()
	p := s.api.Payment(ctx, id)
	if p.Reserved != reserved || p.Refunded != refunded || p.Refundable != p.Captured-reserved-refunded {
		t.Errorf("payment %s: reserved %d refunded %d refundable %d of %d, want %d and %d and the rest", id, p.Reserved, p.Refunded,
			p.Refundable, p.Captured, reserved, refunded)
	}
}

// never fails the test when the refund was in one of the states.
func never(t *testing.T, tl harness.Timeline, states ...string) {
	t.Helper()
	for _, was := range tl.States()[1:] {
		for _, s := range states {
			if was == s {
				t.Errorf("%s went through %v, never %s", tl.RefundID, tl.States(), s)
			}
		}
	}
}
