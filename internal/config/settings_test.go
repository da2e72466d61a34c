package config_test

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/channel/plain"
	"github.com/refundry/refundry/internal/config"
)

// TestSettingsThroughAnchors reads settings that accounts share by an anchor, and finds a misspelled name in the shared
// part.
func TestSettingsThroughAnchors(t *testing.T) {
	const shared = `
accounts:
  a: &a
    channel: plain
    endpoint: http://127.0.0.1:8089
    tenants: [demo]
    contract: {profile: blind}
    secret: &s {env: A}
    noticeSecrets: [*s]
  b: {<<: *a, endpoint: "http://127.0.0.1:8090"}
`
	f, err := config.Parse([]byte(shared), kinds)
	if err != nil {
		t.Fatal(err)
	}
	var s plain.Settings
	if faults := config.Decode(f.Accounts["b"].Settings.Node(), &s); len(faults) > 0 {
		t.Fatal(faults)
	}
	if s.Endpoint != "http://127.0.0.1:8090" || s.Secret == nil || s.Secret.Env != "A" || len(s.NoticeSecrets) != 1 || s.NoticeSecrets[0].Env != "A" {
		t.Errorf("settings %+v, want those of a with an endpoint of their own", s)
	}
	_, err = config.Parse([]byte(strings.Replace(shared, "{env: A}", "{env: A, fil: b}", 1)), kinds)
	for _, want := range []string{"accounts.a.secret.fil:", "accounts.a.noticeSecrets[0].fil:", "accounts.b.secret.fil:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %s", err, want)
		}
	}
}

// TestSettingsOf encodes settings and decodes them again.
func TestSettingsOf(t *testing.T) {
	want := plain.Settings{Endpoint: "http://127.0.0.1:1", NoticeSecrets: []config.Secret{{File: "x"}}}
	settings, err := config.RawSettingsOf(want)
	if err != nil {
		t.Fatal(err)
	}
	var got plain.Settings
	faults := config.Decode(settings.Node(), &got)
	if len(faults) > 0 || got.Endpoint != want.Endpoint || got.Secret != nil || got.NoticeSecrets[0] != want.NoticeSecrets[0] {
		t.Errorf("%+v came back as %+v, %v", want, got, faults)
	}
}
