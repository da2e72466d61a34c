package config_test

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/config"
)

func TestAnAccountOfSeveralTenantsTellsTheirReferencesApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tenants, references, fault string }{
		"one tenant":                       {"[a]", "", ""},
		"one tenant, named twice":          {"[a, a]", "", ""},
		"one tenant with a prefix":         {"[a]", "{prefixes: {a: 'a-'}}", ""},
		"a prefix each":                    {"[a, b]", "{prefixes: {a: 'a-', b: 'b-'}}", ""},
		"the channel's ids, one tenant":    {"[a]", "{from: channel}", ""},
		"several tenants without prefixes": {"[a, b]", "", `references.prefixes: tenant "a" has none`},
		"a tenant without a prefix":        {"[a, b]", "{prefixes: {a: 'a-'}}", `references.prefixes: tenant "b" has none`},
		"an empty prefix":                  {"[a, b]", "{prefixes: {a: '', b: 'b-'}}", `references.prefixes: tenant "a" has none`},
		"one prefix begins the other":      {"[a, b]", "{prefixes: {a: 'sh', b: 'shop-'}}", "begin alike"},
		"equal but for letter case":        {"[a, b]", "{prefixes: {a: 'Shop-', b: 'shop-'}}", "begin alike"},
		"a prefix of a stranger":           {"[a]", "{prefixes: {a: 'a-', c: 'c-'}}", "references.prefixes.c: is not one of the account's tenants"},
		"a prefix with a blank":            {"[a]", "{prefixes: {a: 'a b'}}", "references.prefixes.a: must be"},
		"the channel's ids, two tenants":   {"[a, b]", "{from: channel}", "the account has exactly one tenant"},
		"prefixes of the channel's ids":    {"[a]", "{from: channel, prefixes: {a: 'a-'}}", "the channel's own ids have no prefixes"},
		"an unknown origin":                {"[a]", "{from: somewhere}", `references "somewhere" is not merchant or channel`},
		"an unknown setting":               {"[a]", "{prefix: x}", "prefix"},
	} {
		text := "accounts:\n  demo: {channel: plain, endpoint: 'http://127.0.0.1:1', contract: {profile: keyed-queryable}, tenants: " + c.tenants
		if c.references != "" {
			text += ", references: " + c.references
		}
		_, err := config.Parse([]byte(text+"}\n"), kinds)
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v, want %s", name, err, c.fault)
		}
	}
}
