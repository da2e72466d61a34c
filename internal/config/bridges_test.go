package config_test

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/bridge/nats"
	"github.com/refundry/refundry/internal/config"
)

const goodBridge = good + `
bridges:
  orders: {broker: nats, url: nats://127.0.0.1:4222, stream: REFUNDRY, subjects: ["refundry.in.>"], tenants: [demo], accounts: []}
`

func TestParseBridges(t *testing.T) {
	f, err := config.Parse([]byte(goodBridge), kinds)
	if err != nil {
		t.Fatal(err)
	}
	b := f.Bridges["orders"]
	var s nats.Settings
	if faults := config.Decode(b.Settings.Node(), &s); len(faults) > 0 {
		t.Fatal(faults)
	}
	if b.Broker != "nats" || s.Stream != "REFUNDRY" || len(s.Subjects) != 1 || s.Subjects[0] != "refundry.in.>" {
		t.Errorf("bridge %+v, settings %+v, want those of the file", b, s)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"unknown broker":        {"broker: nats", "broker: carrier-pigeon", "bridges.orders.broker"},
		"reserved name":         {"orders:", "events:", "bridges.events: the name is reserved"},
		"user in the URL":       {"nats://127", "nats://u:p@127", "bridges.orders.url"},
		"other scheme":          {"nats://127", "http://127", "bridges.orders.url"},
		"no stream":             {"stream: REFUNDRY", `stream: ""`, "bridges.orders.stream"},
		"no subject":            {`["refundry.in.>"]`, "[]", "bridges.orders.subjects"},
		"no tenant":             {"tenants: [demo], accounts", "tenants: [], accounts", "bridges.orders.tenants"},
		"unknown account":       {"accounts: []", "accounts: [other]", "bridges.orders.accounts"},
		"unknown key":           {"accounts: []", "accounts: [], prefetch: 3", "bridges.orders.prefetch"},
		"unknown key, deeper":   {"accounts: []", "accounts: [], tls: {ca: a, keys: b}", "bridges.orders.tls.keys"},
		"a text, not a switch":  {"accounts: []", "accounts: [], createStream: perhaps", "bridges.orders: line 12"},
		"negative rate":         {"accounts: []", "accounts: [], rate: -1", "bridges.orders.rate"},
		"undated, unclear":      {"accounts: []", "accounts: [], undated: maybe", "bridges.orders.undated"},
		"certificate, no key":   {"accounts: []", "accounts: [], tls: {cert: a}", "bridges.orders.tls"},
		"two credentials":       {"accounts: []", "accounts: [], credentials: {file: a, nkey: b}", "bridges.orders.credentials"},
		"user without password": {"accounts: []", "accounts: [], credentials: {user: a}", "user and password come together"},
		"token nowhere":         {"accounts: []", "accounts: [], credentials: {token: {}}", "credentials.token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte(strings.Replace(goodBridge, c.from, c.to, 1)), kinds)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}
