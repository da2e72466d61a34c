package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// Contract has the profile of the contract and the terms in which the account is stricter than it. Zero = as in the profile.
// An account can tighten a limit of the profile and never loosen it: the profile says what the channel has promised.
type Contract struct {
	Profile    string                    `yaml:"profile"`
	PerSecond  int                       `yaml:"perSecond"`  // calls per second of each process
	Spacing    time.Duration             `yaml:"spacing"`    // between sends for one payment
	Currencies []refund.Currency         `yaml:"currencies"` // the only ones
	MinAmount  int64                     `yaml:"minAmount"`  // of one refund, in ISO 4217's minor units
	MaxAmount  int64                     `yaml:"maxAmount"`  // the same
	Step       map[refund.Currency]int64 `yaml:"step"`       // amounts are multiples of it, in the channel's units
	Window     time.Duration             `yaml:"window"`     // refunds are possible this long after the payment
	MaxRefunds int                       `yaml:"maxRefunds"` // of one payment
	Waits      Waits                     `yaml:"waits"`
}

// Waits are the times after which a case is opened. They bind nobody at the channel, so any time will do. Zero = as in the
// profile.
type Waits struct {
	Pending  time.Duration `yaml:"pending"`
	Unknown  time.Duration `yaml:"unknown"`
	Accepted time.Duration `yaml:"accepted"`
}

// Terms returns the ready-made contract of the profile with the terms of the account. Errors: Faults of an unknown profile,
// of terms that are looser than the profile's, or that are not valid.
func (c Contract) Terms(kind ChannelKind) (refund.Contract, error) {
	t, ok := kind.Contract(c.Profile)
	if !ok {
		return t, Faults{fmt.Sprintf(".profile: %q is not one of: %s", c.Profile, strings.Join(kind.Profiles(), ", "))}
	}
	var f Faults
	atMost(&f, ".perSecond", c.PerSecond, &t.Limits.PerSecond)
	if t.Limits.PerSecond > 0 {
		t.Limits.PerSecondErrors = min(t.Limits.PerSecondErrors, t.Limits.PerSecond)
	}
	atLeast(&f, ".spacing", refund.Duration(c.Spacing), &t.Limits.Spacing)
	atLeast(&f, ".minAmount", c.MinAmount, &t.Limits.MinAmount)
	atMost(&f, ".maxAmount", c.MaxAmount, &t.Limits.MaxAmount)
	f.AddIf(t.Limits.MaxAmount > 0 && t.Limits.MinAmount > t.Limits.MaxAmount, ".minAmount: %d is above maxAmount %d", t.Limits.MinAmount, t.Limits.MaxAmount)
	atMost(&f, ".window", refund.Duration(c.Window), &t.Limits.Window)
	atMost(&f, ".maxRefunds", c.MaxRefunds, &t.Limits.MaxRefunds)
	c.narrowCurrencies(&f, &t.Limits)
	c.widenSteps(&f, &t.Limits)
	for _, w := range []struct {
		name string
		said time.Duration
		term *refund.Duration
	}{{"pending", c.Waits.Pending, &t.Waits.Pending}, {"unknown", c.Waits.Unknown, &t.Waits.Unknown}, {"accepted", c.Waits.Accepted, &t.Waits.Accepted}} {
		f.AddIf(w.said < 0, ".waits.%s: must not be negative", w.name)
		if w.said > 0 {
			*w.term = refund.Duration(w.said)
		}
	}
	if err := t.Validate(); err != nil && len(f) == 0 {
		f = Faults{": " + err.Error()}
	}
	return t, f.Err()
}

// atMost lowers an upper limit. 0 in the file is as in the profile, and 0 in the profile is no limit.
func atMost[N cmp.Ordered](f *Faults, name string, said N, term *N) {
	var none N
	f.AddIf(said < none, "%s: must not be negative", name)
	f.AddIf(*term > none && said > *term, "%s: %v is above the profile's %v: an account can only be stricter", name, shown(said), shown(*term))
	if said > none {
		*term = said
	}
}

// atLeast raises a lower limit. 0 in the file is as in the profile.
func atLeast[N cmp.Ordered](f *Faults, name string, said N, term *N) {
	var none N
	f.AddIf(said < none, "%s: must not be negative", name)
	f.AddIf(said > none && said < *term, "%s: %v is below the profile's %v: an account can only be stricter", name, shown(said), shown(*term))
	if said > none {
		*term = said
	}
}

// shown returns the value as the file writes it.
func shown(v any) any {
	if d, is := v.(refund.Duration); is {
		return d.D()
	}
	return v
}

// narrowCurrencies takes the account's currencies, each of which the profile must have, if it lists any.
func (c Contract) narrowCurrencies(f *Faults, l *refund.LimitTerms) {
	for i, cur := range c.Currencies {
		_, err := refund.ParseCurrency(string(cur))
		f.AddIf(err != nil, ".currencies: %q is not a currency of ISO 4217", cur)
		f.AddIf(slices.Contains(c.Currencies[:i], cur), ".currencies: %s is listed twice", cur)
		f.AddIf(err == nil && len(l.Currencies) > 0 && !slices.Contains(l.Currencies, cur), ".currencies: the profile does not have %s", cur)
	}
	if len(c.Currencies) > 0 {
		l.Currencies = c.Currencies
	}
}

// widenSteps takes the account's steps, each of which must be a multiple of the profile's.
func (c Contract) widenSteps(f *Faults, l *refund.LimitTerms) {
	steps := maps.Clone(l.Step)
	for _, cur := range slices.Sorted(maps.Keys(c.Step)) {
		step, before := c.Step[cur], max(l.Step[cur], 1)
		_, err := refund.ParseCurrency(string(cur))
		f.AddIf(err != nil, ".step: %q is not a currency of ISO 4217", cur)
		f.AddIf(step < 1, ".step.%s: must be at least 1", cur)
		f.AddIf(step >= 1 && step%before != 0, ".step.%s: %d is no multiple of the profile's %d: an account can only be stricter", cur, step, before)
		if steps == nil {
			steps = map[refund.Currency]int64{}
		}
		steps[cur] = step
	}
	l.Step = steps
}
