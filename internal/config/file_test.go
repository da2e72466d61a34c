package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/bridge/nats"
	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/config"
	"github.com/refundry/refundry/internal/jobs"
)

// kinds are the real ones, since the kind of a channel checks the settings of its accounts.
var kinds = config.Kinds{
	Channels: map[string]config.ChannelKind{plain.Kind.Name: plain.Kind},
	Brokers:  map[string]config.Kind{nats.Kind.Name: nats.Kind},
	Times:    func(t config.Times) config.Faults { return timesOf(t).Faults() },
}

func timesOf(t config.Times) jobs.Times {
	return jobs.Times{Lease: t.Lease, Margin: t.Margin, SendWindow: t.SendWindow, Call: t.Call, Enter: t.Enter}
}

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
	f, err := config.Parse([]byte(good), kinds)
	if err != nil {
		t.Fatal(err)
	}
	if got := timesOf(f.Times).WithDefaults(); got.Lease.Seconds() != 8 || got.SendWindow.Seconds() != 3 {
		t.Errorf("times: %+v, want the configured lease and other times by default", got)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown key":              {"tenants:", "tenant:", "accounts.demo.tenant:"},
		"unknown channel":          {"plain", "stripe9", "accounts.demo.channel"},
		"no scheme":                {"http://127.0.0.1:8089", "127.0.0.1:8089", "accounts.demo.endpoint"},
		"user in the URL":          {"http://127", "http://u:p@127", "accounts.demo.endpoint"},
		"unknown profile":          {"keyed-queryable", "keyed", "keyed-queryable"},
		"negative wait":            {"{profile: keyed-queryable}", "{profile: blind, waits: {unknown: -1s}}", "accounts.demo.contract"},
		"negative rate":            {"{profile: keyed-queryable}", "{profile: blind, perSecond: -1}", "accounts.demo.contract"},
		"no notice secret":         {"secret: {env: DEMO_SECRET}", "noticeSecrets: [{}]", "noticeSecrets[0]"},
		"bad tenant":               {"[demo]", "[Demo]", "Demo"},
		"no tenant":                {"[demo]", "[]", "at least one"},
		"two secrets":              {"{env: DEMO_SECRET}", "{env: A, file: b}", "either env or file"},
		"lease too short":          {"lease: 8s", "lease: 1s", "times.lease"},
		"lease not a time":         {"lease: 8s", "lease: soon", "soon"},
		"call and enter too short": {"lease: 8s", "call: 1s, enter: 1s", "times.sendWindow"},
		"enter negative":           {"lease: 8s", "enter: -1s", "times.enter"},
		"lease too long":           {"lease: 8s", "lease: 5m", "times.lease"},
		"second document":          {"times:", "---\ntimes:", "one YAML document"},
		"bad account name":         {"  demo:", "  Demo!:", "a name is"},
		"duplicate account":        {"times: {lease: 8s}", "  demo: {channel: plain}", "demo"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte(strings.Replace(good, c.from, c.to, 1)), kinds)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestParseReportsAllFaultsAtOnce(t *testing.T) {
	const text = "accounts:\n  a: {channel: plain, endpoint: y, secret: {env: A, fil: b}}\n  b: {channel: x, endpoint: y}\ntimes: {lease: 1s}\n"
	_, err := config.Parse([]byte(text), kinds)
	for _, want := range []string{"a.endpoint", "a.secret.fil", "a.tenants", "a.contract.profile", "b.channel", "b.tenants", "times.lease"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not have %s: %v", want, err)
		}
	}
}

func TestSecretIsReadAndNeverPrinted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("hush\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HUSH", "quiet")
	for want, s := range map[string]*config.Secret{"hush": {File: path}, "quiet": {Env: "HUSH"}, "": nil} {
		if got, err := s.Read(); err != nil || got != want {
			t.Errorf("%v: %q %v, want %q", s, got, err, want)
		}
	}
	for _, s := range []*config.Secret{{Env: "NOT_THERE_AT_ALL"}, {File: path + "x"}} {
		if _, err := s.Read(); err == nil {
			t.Errorf("%v: a missing secret must be an error", s)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	got := config.Unknown([]string{"REFUNDRY_DATABASE_ULR=x", "REFUNDRY_PORT=1", "HOME=/"}, map[string]bool{"REFUNDRY_PORT": true})
	if len(got) != 1 || got[0] != "REFUNDRY_DATABASE_ULR" {
		t.Errorf("unknown variables %v, want the misspelled one", got)
	}
}
