package channel

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refundtest"
)

type noChannel struct{ refund.Channel }

func good(t *testing.T) refund.Contract {
	t.Helper()
	return refundtest.Contract()
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	accounts := map[string]Account{"b": {noChannel{}, good(t)}, "a": {noChannel{}, good(t)}}
	r, err := NewRegistry(accounts)
	if err != nil {
		t.Fatal(err)
	}
	delete(accounts, "a")
	if client, contract, ok := r.For("a"); !ok || client == nil || contract.Profile != refundtest.Profile {
		t.Errorf("account a: %v %v %v", client, contract.Profile, ok)
	}
	if _, _, ok := r.For("c"); ok {
		t.Error("an account that is not configured was returned")
	}
	if names := strings.Join(r.Names(), ","); names != "a,b" {
		t.Errorf("names %s", names)
	}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	with := func(change func(*refund.Contract)) Account {
		c := good(t)
		change(&c)
		return Account{noChannel{}, c}
	}
	for name, account := range map[string]Account{
		"no client":        {nil, good(t)},
		"invalid contract": {noChannel{}, refund.Contract{}},
		"two meanings":     with(func(c *refund.Contract) { c.Codes.Echo = append(c.Codes.Echo, "rate_limited") }),
		"listed twice":     with(func(c *refund.Contract) { c.Codes.Refused = []string{"x", "x"} }),
		"empty code":       with(func(c *refund.Contract) { c.Codes.Refused = []string{""} }),
		"low balance is not retryable": with(func(c *refund.Contract) {
			c.Codes.LowBalance = []string{"not_refundable_window"}
		}),
	} {
		if _, err := NewRegistry(map[string]Account{"a": account}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestByCode(t *testing.T) {
	t.Parallel()
	terms := refund.CodeTerms{
		Refused: []string{"r"}, NewNumber: []string{"n"}, Echo: []string{"e"}, Retryable: []string{"t", "l"}, LowBalance: []string{"l"},
	}
	for code, want := range map[string]refund.FactKind{
		"r": refund.RefusedClean, "n": refund.RefusedNewNumber, "e": refund.RefusedEcho, "t": refund.Retryable, "l": refund.Retryable,
		"": refund.Unknown, "R": refund.Unknown, "r ": refund.Unknown, "other": refund.Unknown,
	} {
		if got, rule := ByCode(terms, code); got != want || rule == "" {
			t.Errorf("code %q: %s by %q, want %s", code, got, rule, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0": 0, "-5": 0, "x": 0, "1.5": 0, "2147483647": 24 * time.Hour, "99999999999": 0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"Sun, 01 Mar 2099 12:00:00 GMT": 24 * time.Hour,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestEvidenceIsAlwaysAnObject(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nothing": "", "object": `{"a":1}`, "array": `[1]`, "null": `null`, "page": "<html>", "not UTF-8": "\xff\xfe", "NUL": "a\x00b",
		"long": strings.Repeat("x", 1<<20), "long JSON": `"` + strings.Repeat("x", 1<<20) + `"`,
	} {
		raw := Evidence(Reply{Status: 200, Body: []byte(body), Sent: true, SentAt: time.Now()}, errors.New("odd \xff"))
		var object map[string]any
		if err := json.Unmarshal(raw, &object); err != nil || object["status"] != 200.0 {
			t.Errorf("%s: %v", name, err)
		}
		if len(raw) > 32<<10 {
			t.Errorf("%s: %d bytes", name, len(raw))
		}
	}
}
