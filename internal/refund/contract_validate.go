package refund

import (
	"errors"
	"fmt"
	"slices"
)

// comparedParameters are the values that IdempotencyTerms.Compares may have.
var comparedParameters = []string{"amount", "currency", "payment", "reason", "noticeUrl"}

// maxExponent is the highest number of decimals of any currency.
const maxExponent = 4

// Validate returns an error for a contract that cannot be used: terms that are missing, impossible or contradictory.
func (c Contract) Validate() error {
	switch {
	case c.Key.NumberLength < NumberLength:
		return fmt.Errorf("refund: contract %s: the channel takes numbers of %[3]d characters, %[2]d are needed", c.Profile, NumberLength, c.Key.NumberLength)
	case c.questionTerms().Exists && c.questionTerms().Readings < 1:
		return fmt.Errorf("refund: contract %s: readings must be at least 1", c.Profile)
	case c.Waits.Pending <= 0 || c.Waits.Unknown <= 0 || c.Waits.Accepted <= 0:
		return fmt.Errorf("refund: contract %s: every wait needs a deadline", c.Profile)
	case c.Horizon <= 0:
		return fmt.Errorf("refund: contract %s: inFlightHorizon must be above 0", c.Profile)
	case c.Key.ReplaysState && !c.Key.Dedupes:
		return fmt.Errorf("refund: contract %s: a key that does not deduplicate cannot be replayed", c.Profile)
	case c.Key.ReplaysState && (c.Key.KeepsAnswer || c.Key.After2xx):
		return fmt.Errorf("refund: contract %s: replaysState, keepsAnswer and after2xx exclude each other", c.Profile)
	case c.Key.Lifetime > 0 && c.Key.Lifetime.D() <= c.Horizon.D()+ClockMargin:
		return fmt.Errorf("refund: contract %s: keys that live for %s expire before a first request could leave", c.Profile, c.Key.Lifetime.D())
	case c.Limits.PerSecond < 0 || c.Limits.MaxRefunds < 0:
		return fmt.Errorf("refund: contract %s: limits must not be negative", c.Profile)
	}
	if err := c.validTerms(); err != nil {
		return fmt.Errorf("refund: contract %s: %w", c.Profile, err)
	}
	return nil
}

// validTerms returns an error for optional terms that contradict themselves or are not known.
func (c Contract) validTerms() error {
	for _, check := range []func() error{c.validKey, c.validCodes, c.validResubmit, c.validLimits} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Contract) validKey() error {
	k := c.Key
	if !slices.Contains([]KeyScope{"", ScopeMerchant, ScopeTrade, ScopeCompany}, k.Scope) {
		return fmt.Errorf("key.scope %q is not merchant, trade or company", k.Scope)
	}
	if !k.Dedupes && (k.Scope != "" || len(k.Compares) > 0) {
		return errors.New("key.scope and key.compares need key.dedupes")
	}
	for i, word := range k.Compares {
		if !slices.Contains(comparedParameters, word) || slices.Contains(k.Compares[:i], word) {
			return fmt.Errorf("key.compares: %q is not known, or is listed twice", word)
		}
	}
	for _, q := range []QueryTerms{c.Query, c.List} {
		if q.Effects != "" && (q.Effects != QueryActs || !q.Exists) {
			return fmt.Errorf("effects %q is not acts, or the query does not exist", q.Effects)
		}
	}
	return nil
}

func (c Contract) validCodes() error {
	seen := map[string]string{}
	lists := c.Codes.codeLists()
	for _, name := range []string{"refused", "newNumber", "echo", "retryable", "attention", "passesLater"} {
		for _, code := range lists[name] {
			if before, twice := seen[code]; twice || code == "" {
				return fmt.Errorf("code %q is listed in codes.%s and codes.%s", code, before, name)
			}
			seen[code] = name
		}
	}
	for _, code := range c.Codes.Credentials {
		if !slices.Contains(c.Codes.Retryable, code) {
			return fmt.Errorf("code %q of codes.credentials is not in codes.retryable", code)
		}
	}
	for _, code := range c.Codes.LowBalance {
		switch spends := slices.Contains(c.Codes.NewNumber, code); {
		case c.Key.KeepsAnswer && !spends:
			return fmt.Errorf("the channel keeps the first answer, so %q would be repeated for ever: list it under newNumber, too", code)
		case !c.Key.KeepsAnswer && spends:
			return fmt.Errorf("code %q of codes.lowBalance takes a new number, although the channel does not keep the first answer: list it under retryable", code)
		}
	}
	switch {
	case c.Key.KeepsAnswer && len(c.Codes.PassesLater) > 0:
		return fmt.Errorf("the channel keeps the first answer, so %q would be repeated for ever: it cannot pass later", c.Codes.PassesLater[0])
	case !slices.Contains([]ReferenceOrigin{"", ReferencesOfMerchant, ReferencesOfChannel}, c.References):
		return fmt.Errorf("references %q is not merchant or channel", c.References)
	case c.LateFailureHorizon < 0 || c.LateFailureHorizon > 0 && !c.Codes.LateFailure:
		return errors.New("lateFailureHorizon needs codes.lateFailure and must not be negative")
	}
	return nil
}

// validResubmit compares the rules for people with the lists that have the same codes.
func (c Contract) validResubmit() error {
	for code, how := range c.Codes.Resubmit {
		bad := ""
		switch {
		case code == "" || !slices.Contains([]Resubmit{ResubmitSame, ResubmitNew, ResubmitNever}, how):
			bad = "is not same, new or never"
		case how == ResubmitSame && c.Key.KeepsAnswer:
			bad = "contradicts key.keepsAnswer"
		case how == ResubmitSame && (slices.Contains(c.Codes.Refused, code) || slices.Contains(c.Codes.NewNumber, code)):
			bad = "contradicts codes.refused or codes.newNumber"
		case how != ResubmitSame && (slices.Contains(c.Codes.Retryable, code) || slices.Contains(c.Codes.PassesLater, code)):
			bad = "contradicts codes.retryable or codes.passesLater"
		case how == ResubmitNever && slices.Contains(c.Codes.NewNumber, code):
			bad = "contradicts codes.newNumber"
		}
		if bad != "" {
			return fmt.Errorf("codes.resubmit: %q of code %q %s", how, code, bad)
		}
	}
	return nil
}

func (c Contract) validLimits() error {
	l := c.Limits
	for cur, step := range l.Step {
		if !cur.known() || step < 1 {
			return fmt.Errorf("limits.step: %d of %q is below 1, or the currency is not known", step, cur)
		}
	}
	for cur, exponent := range l.Exponent {
		if !cur.known() || exponent < 0 || exponent > maxExponent {
			return fmt.Errorf("limits.exponent: %d of %q is not 0 to %d, or the currency is not known", exponent, cur, maxExponent)
		}
	}
	switch {
	case l.DuplicateWindow < 0 || l.PerSecondErrors < 0:
		return errors.New("limits must not be negative")
	case l.PerSecond > 0 && l.PerSecondErrors > l.PerSecond:
		return fmt.Errorf("limits.perSecondErrors %d is above limits.perSecond %d", l.PerSecondErrors, l.PerSecond)
	}
	return nil
}
