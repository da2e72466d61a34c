package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const good = `
accounts:
  demo:
    channel: plain
    endpoint: http://127.0.0.1:8089
    tenants: [demo]
    contract: {profile: keyed-queryable}
    secret: {env: DEMO_SECRET}
times: {lease: 8s}
`

func TestParse(t *testing.T) {
	f, err := Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Times.Defaults(); got.Lease.Seconds() != 8 || got.SendWindow.Seconds() != 3 {
		t.Errorf("times: %+v, want the lease as said and the rest by default", got)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown key":       {"tenants:", "tenant:", "tenant"},
		"unknown channel":   {"plain", "stripe9", "accounts.demo.channel"},
		"no scheme":         {"http://127.0.0.1:8089", "127.0.0.1:8089", "accounts.demo.endpoint"},
		"user in the URL":   {"http://127", "http://u:p@127", "accounts.demo.endpoint"},
		"unknown profile":   {"keyed-queryable", "keyed", "keyed-queryable"},
		"negative wait":     {"{profile: keyed-queryable}", "{profile: blind, waits: {unknown: -1s}}", "accounts.demo.contract"},
		"negative rate":     {"{profile: keyed-queryable}", "{profile: blind, perSecond: -1}", "accounts.demo.contract"},
		"no notice secret":  {"secret: {env: DEMO_SECRET}", "noticeSecrets: [{}]", "noticeSecrets[0]"},
		"bad tenant":        {"[demo]", "[Demo]", "Demo"},
		"no tenant":         {"[demo]", "[]", "at least one"},
		"two secrets":       {"{env: DEMO_SECRET}", "{env: A, file: b}", "either env or file"},
		"lease too short":   {"lease: 8s", "lease: 1s", "times.lease"},
		"lease not a time":  {"lease: 8s", "lease: soon", "soon"},
		"lease too long":    {"lease: 8s", "lease: 5m", "times.lease"},
		"second document":   {"times:", "---\ntimes:", "one YAML document"},
		"bad account name":  {"  demo:", "  Demo!:", "a name is"},
		"duplicate account": {"times: {lease: 8s}", "  demo: {channel: plain}", "demo"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(good, c.from, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestParseTellsEverythingAtOnce(t *testing.T) {
	_, err := Parse([]byte("accounts:\n  a: {channel: x, endpoint: y}\ntimes: {lease: 1s}\n"))
	for _, want := range []string{"a.channel", "a.endpoint", "a.tenants", "a.contract.profile", "times.lease"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not speak of %s: %v", want, err)
		}
	}
}

func TestSecretIsReadFromItsPlaceAndNeverTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HUSH", "quiet")
	for want, s := range map[string]*Secret{"hush": {File: path}, "quiet": {Env: "HUSH"}, "": nil} {
		if got, err := s.Read(); err != nil || got != want {
			t.Errorf("%v: %q %v, want %q", s, got, err, want)
		}
	}
	for _, s := range []*Secret{{Env: "NOT_THERE_AT_ALL"}, {File: path + "x"}} {
		if _, err := s.Read(); err == nil {
			t.Errorf("%v: a missing secret must be an error", s)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	got := Unknown([]string{"REFUNDRY_DATABASE_ULR=x", "REFUNDRY_PORT=1", "HOME=/"}, map[string]bool{"REFUNDRY_PORT": true})
	if len(got) != 1 || got[0] != "REFUNDRY_DATABASE_ULR" {
		t.Errorf("unknown variables %v, want the misspelt one", got)
	}
}

// What an account says otherwise replaces the profile's terms, and only that.
func TestContractTerms(t *testing.T) {
	c := Contract{Profile: "notice-only", PerSecond: 7, Spacing: time.Second, Waits: Waits{Unknown: time.Minute}}
	got, err := c.Terms()
	if err != nil {
		t.Fatal(err)
	}
	if got.Limits.PerSecond != 7 || got.Limits.Spacing.D() != time.Second || got.Waits.Unknown.D() != time.Minute || got.Waits.Accepted.D() != 7*24*time.Hour {
		t.Errorf("%+v", got)
	}
	if _, err := (Contract{Profile: "other"}).Terms(); err == nil {
		t.Error("an unknown profile was taken")
	}
}
