package refund_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// If the bytes of a profile change, every account that uses it gets a new contract version at the next start.
func TestGoldenProfiles(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		refund.ProfileKeyedQueryable: "afeafa82c7cc10c78a7843318486af2e6dae36b711f2114b1ed997a446df9e74",
		refund.ProfileListAndMatch:   "7ea076d22b164804e2060fedc3da4ff5ab235de03a28a196a5ae5c54015ba464",
		refund.ProfileKeyReplayOnly:  "f03d668894f244d5edf7324070c787fce09a1e38de2504e0af6d73fc5fa373d7",
		refund.ProfileKeyAfter2xx:    "4b825aee69f824f7247a13ebd8c33785223cb3dd487004231b23fcbfb267947d",
		refund.ProfileNoticeOnly:     "ea3fb6ea8b42700a0918778ec28efaf2f2c8ac2756b029de8226173374b6d319",
		refund.ProfileBlind:          "eef6bef663aa7dee1cd51a234e59fb3c9c890a55a2884419bbfbcb83f63fb889",
	}
	for _, name := range refund.Profiles() {
		c, _ := refund.Profile(name)
		text, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		same(t, name, hex.EncodeToString(sum[:]), want[name])
	}
}

// full is a contract with every optional term.
func full() refund.Contract {
	c, _ := refund.Profile(refund.ProfileKeyedQueryable)
	c.Key.Scope, c.Key.Compares = refund.ScopeTrade, []string{"amount", "reason"}
	c.List = c.Query
	c.List.Effects = refund.QueryActs
	c.Codes.Attention, c.Codes.PassesLater = []string{"ABNORMAL"}, []string{"just_done"}
	c.Codes.Resubmit = map[string]refund.Resubmit{"rate_limited": refund.ResubmitSame, "invalid_request": refund.ResubmitNever, "ABNORMAL": refund.ResubmitNew}
	c.Codes.LateFailure, c.LateFailureHorizon = true, refund.Duration(time.Hour)
	c.Limits.Step = map[refund.Currency]int64{"ISK": 100, "KWD": 10}
	c.Limits.Exponent = map[refund.Currency]int{"ISK": 2, "MGA": 0}
	c.Limits.DuplicateWindow, c.Limits.PerSecond, c.Limits.PerSecondErrors = refund.Duration(time.Hour), 10, 6
	return c
}

// A stored contract is read back with every term.
func TestContractsComeBackWhole(t *testing.T) {
	t.Parallel()
	c := full()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var back refund.Contract
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, c) {
		t.Errorf("%v\n got %+v\nwant %+v", err, back, c)
	}
	if again, _ := back.Encode(); string(again) != string(text) {
		t.Errorf("encoded again it is %s, was %s", again, text)
	}
}

func TestContradictoryTermsAreRefused(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*refund.Contract){
		"unknown scope":                func(c *refund.Contract) { c.Key.Scope = "world" },
		"scope without a key":          func(c *refund.Contract) { c.Key.Dedupes, c.Key.Compares = false, nil },
		"compares with no key":         func(c *refund.Contract) { c.Key.Dedupes, c.Key.Scope = false, "" },
		"unknown parameter":            func(c *refund.Contract) { c.Key.Compares = []string{"mood"} },
		"parameter listed twice":       func(c *refund.Contract) { c.Key.Compares = []string{"amount", "amount"} },
		"unknown effects":              func(c *refund.Contract) { c.Query.Effects = "sometimes" },
		"effects without a query":      func(c *refund.Contract) { c.List.Exists = false },
		"attention and refused":        func(c *refund.Contract) { c.Codes.Attention = c.Codes.Refused },
		"refused and echo":             func(c *refund.Contract) { c.Codes.Echo = c.Codes.Refused },
		"passes later and retryable":   func(c *refund.Contract) { c.Codes.PassesLater = []string{"rate_limited"} },
		"passes later, listed twice":   func(c *refund.Contract) { c.Codes.PassesLater = []string{"a", "a"} },
		"empty code":                   func(c *refund.Contract) { c.Codes.Attention = []string{""} },
		"passes later, answer kept":    func(c *refund.Contract) { c.Key.KeepsAnswer, c.Codes.LowBalance, c.Codes.Resubmit = true, nil, nil },
		"unknown way to resubmit":      func(c *refund.Contract) { c.Codes.Resubmit["x"] = "maybe" },
		"resubmit of an empty code":    func(c *refund.Contract) { c.Codes.Resubmit[""] = refund.ResubmitNew },
		"same number, answer kept":     func(c *refund.Contract) { c.Key.KeepsAnswer, c.Codes.LowBalance, c.Codes.PassesLater = true, nil, nil },
		"same number after a refusal":  func(c *refund.Contract) { c.Codes.Resubmit["invalid_request"] = refund.ResubmitSame },
		"never, but retryable":         func(c *refund.Contract) { c.Codes.Resubmit["rate_limited"] = refund.ResubmitNever },
		"new number, but passes later": func(c *refund.Contract) { c.Codes.Resubmit["just_done"] = refund.ResubmitNew },
		"never, but a new number passes": func(c *refund.Contract) {
			c.Codes.NewNumber, c.Codes.Resubmit["n"] = []string{"n"}, refund.ResubmitNever
		},
		"same, but only a new one passes": func(c *refund.Contract) {
			c.Codes.NewNumber, c.Codes.Resubmit["n"] = []string{"n"}, refund.ResubmitSame
		},
		"step of zero":                    func(c *refund.Contract) { c.Limits.Step["KWD"] = 0 },
		"step of an unknown currency":     func(c *refund.Contract) { c.Limits.Step["ZZZ"] = 1 },
		"negative exponent":               func(c *refund.Contract) { c.Limits.Exponent["MGA"] = -1 },
		"exponent too large":              func(c *refund.Contract) { c.Limits.Exponent["MGA"] = 5 },
		"exponent of an unknown currency": func(c *refund.Contract) { c.Limits.Exponent["zzz"] = 1 },
		"negative duplicate window":       func(c *refund.Contract) { c.Limits.DuplicateWindow = -1 },
		"negative errors per second":      func(c *refund.Contract) { c.Limits.PerSecondErrors = -1 },
		"more errors than calls":          func(c *refund.Contract) { c.Limits.PerSecondErrors = 11 },
		"negative late failures":          func(c *refund.Contract) { c.LateFailureHorizon = -1 },
		"late failures without the term":  func(c *refund.Contract) { c.Codes.LateFailure = false },
	} {
		c := full()
		spoil(&c)
		if c.Validate() == nil {
			t.Errorf("%s: the contract was accepted", name)
		}
	}
}

func TestAmountsInSteps(t *testing.T) {
	t.Parallel()
	c := full()
	for _, x := range []struct {
		amount int64
		cur    refund.Currency
		want   bool
	}{
		{1050, "ISK", true},  // sent as 105000
		{1005, "KWD", false}, // the last of three decimals must be 0
		{1010, "KWD", true},
		{1050, "MGA", false}, // the channel has no decimals
		{1100, "MGA", true},
		{1, "USD", true},
		{refund.MaxAmount, "ISK", false}, // above the largest number of the channel
	} {
		if got := c.Expresses(x.amount, x.cur); got != x.want {
			t.Errorf("%d %s: expressible %v, want %v", x.amount, x.cur, got, x.want)
		}
	}
}

// A query with side effects is never sent automatically: the next way of recovery is used.
func TestQueryWithSideEffectsIsNotUsed(t *testing.T) {
	t.Parallel()
	c, _ := refund.Profile(refund.ProfileKeyedQueryable)
	c.Query.Effects = refund.QueryActs
	if got := c.Recovery(); got != refund.RecoverByNotice {
		t.Errorf("recovery is by %s, want notice", got)
	}
	if c.Validate() != nil || c.Query.Automatic() {
		t.Errorf("%v, automatic %v", c.Validate(), c.Query.Automatic())
	}
}
