package config

import (
	"strings"
	"testing"
)

const goodBridge = good + `
bridges:
  orders: {broker: nats, url: nats://127.0.0.1:4222, stream: REFUNDRY, subjects: ["refundry.in.>"], tenants: [demo], accounts: []}
`

func TestParseBridges(t *testing.T) {
	f, err := Parse([]byte(goodBridge))
	if err != nil {
		t.Fatal(err)
	}
	if b := f.Bridges["orders"]; b.Broker != "nats" || b.Stream != "REFUNDRY" || len(b.Subjects) != 1 || b.Subjects[0] != "refundry.in.>" {
		t.Errorf("bridge %+v, want what the file says", b)
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
		"unknown key":           {"accounts: []", "accounts: [], prefetch: 3", "prefetch"},
		"negative rate":         {"accounts: []", "accounts: [], rate: -1", "bridges.orders.rate"},
		"certificate, no key":   {"accounts: []", "accounts: [], tls: {cert: a}", "bridges.orders.tls"},
		"two credentials":       {"accounts: []", "accounts: [], credentials: {file: a, nkey: b}", "bridges.orders.credentials"},
		"user without password": {"accounts: []", "accounts: [], credentials: {user: a}", "user and password come together"},
		"token nowhere":         {"accounts: []", "accounts: [], credentials: {token: {}}", "credentials.token"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(goodBridge, c.from, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}
