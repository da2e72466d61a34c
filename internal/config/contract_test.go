package config_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/refund"
)

// limitedKind is a kind of channel whose only profile has every limit.
type limitedKind struct{}

func (limitedKind) Check(yaml.Node) error { return nil }

func (limitedKind) Profiles() []string { return []string{"limited"} }

func (limitedKind) Contract(profile string) (refund.Contract, bool) {
	c, _ := plain.Kind.Contract(plain.Blind)
	c.Profile, c.Limits = "limited", refund.LimitTerms{Spacing: refund.Duration(2 * time.Second), PerSecond: 20, PerSecondErrors: 10,
		Window: refund.Duration(90 * 24 * time.Hour), MaxRefunds: 50, Currencies: []refund.Currency{"USD", "KWD"}, MinAmount: 10, MaxAmount: 1000,
		Step: map[refund.Currency]int64{"KWD": 10}}
	return c, profile == "limited"
}

// terms reads a contract as a file has it.
func terms(t *testing.T, text string, kind config.ChannelKind) (refund.Contract, error) {
	t.Helper()
	var c config.Contract
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c.Terms(kind)
}

// TestAnAccountTightensEveryLimitOfItsContract: where the profile has no limit, and where it has one.
func TestAnAccountTightensEveryLimitOfItsContract(t *testing.T) {
	t.Parallel()
	const text = `{perSecond: 7, spacing: 5s, currencies: [USD, KWD], minAmount: 50, maxAmount: 500, step: {KWD: 100}, window: 720h, maxRefunds: 5,
  waits: {pending: 1h, unknown: 1m, accepted: 2h}, profile: `
	for profile, kind := range map[string]config.ChannelKind{"blind": plain.Kind, "limited": limitedKind{}} {
		got, err := terms(t, text+profile+"}", kind)
		if err != nil {
			t.Fatal(err)
		}
		l := got.Limits
		if l.PerSecond != 7 || l.Spacing.D() != 5*time.Second || len(l.Currencies) != 2 || l.MinAmount != 50 || l.MaxAmount != 500 ||
			l.Window.D() != 720*time.Hour || l.MaxRefunds != 5 || !maps.Equal(l.Step, map[refund.Currency]int64{"KWD": 100}) {
			t.Errorf("%s: %+v", profile, l)
		}
		if got.Waits.Pending.D() != time.Hour || got.Waits.Unknown.D() != time.Minute || got.Waits.Accepted.D() != 2*time.Hour {
			t.Errorf("%s: %+v", profile, got.Waits)
		}
		for amount, want := range map[int64]bool{100: true, 500: true, 40: false, 600: false} {
			if got.Expresses(amount, "USD") != want {
				t.Errorf("%s: USD %d passes: %v, want %v", profile, amount, !want, want)
			}
		}
		if got.Expresses(110, "KWD") || !got.Expresses(200, "KWD") || got.Expresses(100, "EUR") {
			t.Errorf("%s: KWD in steps of 100, and no EUR", profile)
		}
	}
	before, _ := limitedKind{}.Contract("limited")
	if got, err := terms(t, "{profile: limited}", limitedKind{}); err != nil || got.Limits.MaxRefunds != before.Limits.MaxRefunds || got.Limits.Step["KWD"] != 10 {
		t.Errorf("an account without terms of its own: %+v %v, want those of the profile", got.Limits, err)
	}
}

// TestAnAccountNeverLoosensItsContract: every fault is told, each with its setting.
func TestAnAccountNeverLoosensItsContract(t *testing.T) {
	t.Parallel()
	for term, want := range map[string]string{
		"perSecond: 21": ".perSecond", "spacing: 1s": ".spacing", "currencies: [USD, EUR]": ".currencies", "minAmount: 9": ".minAmount",
		"maxAmount: 1001": ".maxAmount", "step: {KWD: 15}": ".step.KWD", "window: 2161h": ".window", "maxRefunds: 51": ".maxRefunds",
		"perSecond: -1": ".perSecond: must not", "window: -1h": ".window: must not", "maxRefunds: -1": ".maxRefunds: must not",
		"minAmount: 600, maxAmount: 500": ".minAmount: 600 is above maxAmount 500", "step: {KWD: 0}": ".step.KWD: must be at least 1",
		"step: {XXX: 5}": ".step: \"XXX\"", "currencies: [usd]": ".currencies: \"usd\"", "currencies: [USD, USD]": "listed twice",
		"waits: {unknown: -1s}": ".waits.unknown",
	} {
		if _, err := terms(t, "{profile: limited, "+term+"}", limitedKind{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a fault that says %q", term, err, want)
		}
	}
	_, err := terms(t, "{profile: limited, maxAmount: 5000, maxRefunds: 100}", limitedKind{})
	if err == nil || !strings.Contains(err.Error(), ".maxAmount") || !strings.Contains(err.Error(), ".maxRefunds") {
		t.Errorf("%v, want both faults at once", err)
	}
	if _, err := terms(t, "{profile: other}", plain.Kind); err == nil || !strings.Contains(err.Error(), ".profile") {
		t.Errorf("an unknown profile: %v", err)
	}
}
