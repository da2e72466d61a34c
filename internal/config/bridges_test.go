package config_test

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/bridge/nats"
	"github.com/refundry/refundry/internal/config"
)

const goodBridge = good + `
bridges:
  orders: {broker: nats, url: nats://127.0.0.1:4222, stream: REFUNDRY, subjects: ["refundry.in.>"], tenants: [demo], batch: 10}
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
		"unknown broker":                        {"broker: nats", "broker: carrier-pigeon", "bridges.orders.broker"},
		"reserved name":                         {"orders:", "events:", "bridges.events: the name is reserved"},
		"user in the URL":                       {"nats://127", "nats://u:p@127", "bridges.orders.url"},
		"other scheme":                          {"nats://127", "http://127", "bridges.orders.url"},
		"no stream":                             {"stream: REFUNDRY", `stream: ""`, "bridges.orders.stream"},
		"no subject":                            {`["refundry.in.>"]`, "[]", "bridges.orders.subjects"},
		"no tenant":                             {"tenants: [demo], batch", "tenants: [], batch", "bridges.orders.tenants"},
		"accounts: a bridge reports no results": {"batch: 10", "batch: 10, accounts: [demo]", "bridges.orders.accounts: there is no such setting"},
		"unknown key":                           {"batch: 10", "batch: 10, prefetch: 3", "bridges.orders.prefetch"},
		"unknown key, deeper":                   {"batch: 10", "batch: 10, tls: {ca: a, keys: b}", "bridges.orders.tls.keys"},
		"a text, not a switch":                  {"batch: 10", "batch: 10, createStream: perhaps", "bridges.orders: line 12"},
		"negative rate":                         {"batch: 10", "batch: 10, rate: -1", "bridges.orders.rate"},
		"undated, unclear":                      {"batch: 10", "batch: 10, undated: maybe", "bridges.orders.undated"},
		"certificate, no key":                   {"batch: 10", "batch: 10, tls: {cert: a}", "bridges.orders.tls"},
		"two credentials":                       {"batch: 10", "batch: 10, credentials: {file: a, nkey: b}", "bridges.orders.credentials"},
		"user without password":                 {"batch: 10", "batch: 10, credentials: {user: a}", "user and password come together"},
		"token nowhere":                         {"batch: 10", "batch: 10, credentials: {token: {}}", "credentials.token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte(strings.Replace(goodBridge, c.from, c.to, 1)), kinds)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}
