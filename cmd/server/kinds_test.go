package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/bridge"
	"github.com/refundry/refundry/internal/channel"
	"github.com/refundry/refundry/internal/config"
)

// TestKinds checks every kind of channel and broker: a name of its own, and valid contracts.
func TestKinds(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)
	seen := map[string]bool{}
	for _, k := range channelKinds() {
		if !name.MatchString(k.Name) || seen[k.Name] || k.DecodeSettings == nil || k.Open == nil {
			t.Errorf("channel %q: a kind has a name of its own, settings and a client", k.Name)
		}
		seen[k.Name] = true
		if len(k.Profiles()) == 0 {
			t.Errorf("channel %s has no ready-made contract", k.Name)
		}
		for _, profile := range k.Profiles() {
			if c, ok := k.Contract(profile); !ok || profile == "" || c.Version != 0 || c.Validate() != nil {
				t.Errorf("channel %s, profile %q: version %d, %v: want a valid contract without a version", k.Name, profile, c.Version, c.Validate())
			}
		}
	}
	for _, k := range channelKinds() {
		if _, err := k.Open(nil, channel.Deps{}); err == nil {
			t.Errorf("channel %s opens with settings that are not its own", k.Name)
		}
	}
	seen = map[string]bool{}
	for _, k := range brokerKinds() {
		if _, err := k.Open(nil, bridge.Deps{}); err == nil {
			t.Errorf("broker %s opens with settings that are not its own", k.Name)
		}
		if !name.MatchString(k.Name) || seen[k.Name] || k.DecodeSettings == nil || k.Open == nil {
			t.Errorf("broker %q: a kind has a name of its own, settings and a source", k.Name)
		}
		seen[k.Name] = true
	}
}

// TestConfigCheck checks a file whose secrets can be read, and one with unreadable secrets, which are reported without
// their content.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "hush-hush-hush-hush\n")
	file := `
accounts:
  demo:
    {channel: plain, endpoint: "http://127.0.0.1:8089", tenants: [shop], contract: {profile: keyed-queryable},
     secret: {file: SECRET}, noticeSecrets: [{file: NOTICE}]}
bridges:
  orders:
    {broker: nats, url: "nats://127.0.0.1:4222", stream: REFUNDRY, subjects: ["refundry.in.>"], tenants: [shop],
     credentials: {token: {file: SECRET}}, tls: {ca: NOTICE}}
`
	good := strings.NewReplacer("SECRET", secret, "NOTICE", secret).Replace(file)
	out, err := run("config", "check", write("good.yaml", good))
	if err != nil || strings.Contains(out, "hush") {
		t.Fatalf("a good file: %v\n%s", err, out)
	}
	for _, want := range []string{"demo", "plain", "http://127.0.0.1:8089", "keyed-queryable", "orders", "nats://127.0.0.1:4222", "REFUNDRY"} {
		if !strings.Contains(out, want) {
			t.Errorf("config check does not show %s:\n%s", want, out)
		}
	}
	if out, err = run("config", "check", "--json", write("good.json.yaml", good)); err != nil || !strings.Contains(out, `"orders"`) {
		t.Errorf("config check --json: %v\n%s", err, out)
	}
	bad := strings.NewReplacer("SECRET", secret+"-not-there", "NOTICE", write("short", "hush\n")).Replace(file)
	_, err = run("config", "check", write("bad.yaml", bad))
	for _, want := range []string{"accounts.demo.secret: ", "accounts.demo.noticeSecrets[0]: has at least", "bridges.orders.credentials.token: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("config check says %v, want also %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "hush") {
		t.Errorf("config check prints a secret: %v", err)
	}
	both := strings.NewReplacer("endpoint:", "endpiont:", "stream:", "steam:").Replace(good)
	_, err = run("config", "check", write("both.yaml", both))
	for _, want := range []string{"accounts.demo.endpiont: there is no such setting", "accounts.demo.endpoint: ",
		"bridges.orders.steam: ", "bridges.orders.stream: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("config check says %v, want also %s", err, want)
		}
	}
}

// TestDemoConfigIsValid applies the checks of a file to the configuration of dev, which is not read from a file.
func TestDemoConfigIsValid(t *testing.T) {
	t.Parallel()
	f, err := demoConfig("http://127.0.0.1:1", "nats://127.0.0.1:2", filepath.Join(t.TempDir(), "secret"), 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range f.Accounts {
		kind, _ := channelKind(a.Channel)
		if err := config.At(name, kind.Check(a.Settings.Node())); err != nil {
			t.Error(err)
		}
	}
	for name, b := range f.Bridges {
		kind, _ := brokerKind(b.Broker)
		if err := config.At(name, kind.Check(b.Settings.Node())); err != nil {
			t.Error(err)
		}
	}
	if len(f.Accounts) != 6 || len(f.Bridges) != 1 {
		t.Errorf("%d accounts and %d bridges, want one account for each profile and one bridge", len(f.Accounts), len(f.Bridges))
	}
}
