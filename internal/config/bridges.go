package config

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/refundry/refundry/internal/refund"
)

// Bridge is one subscription of a message broker. Its name is the consumer's name: part of the identity of every event that
// it brings, never to be changed.
type Bridge struct {
	Broker       string             `yaml:"broker"`       // nats
	URL          string             `yaml:"url"`          // nats:// or tls://, several separated by commas
	Stream       string             `yaml:"stream"`       // JetStream stream
	Subjects     []string           `yaml:"subjects"`     // of it
	CreateStream bool               `yaml:"createStream"` // make the stream when it is not there
	Tenants      []string           `yaml:"tenants"`      // codes of the tenants that it may speak for
	Accounts     []string           `yaml:"accounts"`     // channel accounts whose results it may report
	Rate         float64            `yaml:"rate"`         // messages a second; 0 = no limit
	Batch        int                `yaml:"batch"`        // messages of a group, at most 1000; 0 = 128
	TLS          *BridgeTLS         `yaml:"tls"`
	Credentials  *BridgeCredentials `yaml:"credentials"`
}

// BridgeTLS names files of certificates.
type BridgeTLS struct {
	CA   string `yaml:"ca"`   // absent = the system's
	Cert string `yaml:"cert"` // of the client
	Key  string `yaml:"key"`
}

// BridgeCredentials says who the bridge is. One kind only.
type BridgeCredentials struct {
	File     string  `yaml:"file"` // a .creds file
	NKey     string  `yaml:"nkey"` // a file with an nkey's seed
	Token    *Secret `yaml:"token"`
	User     string  `yaml:"user"`
	Password *Secret `yaml:"password"`
}

// brokers that exist.
var brokers = map[string]bool{"nats": true}

func (b Bridge) faults(name string, accounts map[string]Account) []string {
	var out []string
	note := func(bad bool, text string, args ...any) {
		if bad {
			out = append(out, fmt.Sprintf(text, args...))
		}
	}
	note(!accountName.MatchString(name), ": a name is a-z, 0-9 and -, at most 63 characters")
	note(name == refund.ConsumerREST || name == refund.ConsumerEvents, ": the name is reserved")
	note(!brokers[b.Broker], ".broker: %q is not one of: nats", b.Broker)
	for _, one := range strings.Split(b.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		note(err != nil || (u.Scheme != "nats" && u.Scheme != "tls") || u.Host == "" || u.User != nil, ".url: must be nats:// or tls:// without a user")
	}
	note(b.Stream == "" || strings.ContainsAny(b.Stream, " .*>/\\\t"), ".stream: must be the name of a stream")
	note(len(b.Subjects) == 0, ".subjects: at least one subject")
	for _, s := range b.Subjects {
		note(s == "" || strings.ContainsAny(s, " \t"), ".subjects: %q is not a subject", s)
	}
	note(len(b.Tenants) == 0, ".tenants: at least one tenant")
	for _, t := range b.Tenants {
		note(!refund.ValidTenantCode(t), ".tenants: %q is not a tenant code", t)
	}
	for _, a := range b.Accounts {
		_, known := accounts[a]
		note(!known, ".accounts: %q is not an account of this file", a)
	}
	note(b.Rate < 0, ".rate: must not be negative")
	note(b.Batch < 0 || b.Batch > 1000, ".batch: must lie between 0 and 1000")
	if t := b.TLS; t != nil {
		note((t.Cert == "") != (t.Key == ""), ".tls: cert and key come together")
	}
	return append(out, b.Credentials.faults()...)
}

func (c *BridgeCredentials) faults() []string {
	if c == nil {
		return nil
	}
	var out []string
	kinds := 0
	for _, set := range []bool{c.File != "", c.NKey != "", c.Token != nil, c.User != "" || c.Password != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		out = append(out, ".credentials: one of file, nkey, token, user and password")
	}
	if (c.User == "") != (c.Password == nil) {
		out = append(out, ".credentials: user and password come together")
	}
	for name, s := range map[string]*Secret{"token": c.Token, "password": c.Password} {
		if s != nil && (s.Env == "") == (s.File == "") {
			out = append(out, ".credentials."+name+": name either env or file")
		}
	}
	return out
}
