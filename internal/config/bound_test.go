package config_test

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/config"
)

// With several tenants the broker must show whose message one is.
func TestABridgeForSeveralTenantsNeedsPlacesThatTellThem(t *testing.T) {
	t.Parallel()
	const file = `
bridges:
  orders: {broker: nats, url: "nats://127.0.0.1:4222", stream: S, subjects: ["x.in.>"], tenants: [TENANTS], FORM}
`
	for name, c := range map[string]struct {
		tenants, form string
		valid         bool
	}{
		"one tenant":              {"shop", "batch: 1", true},
		"two tenants":             {"shop, rival", "batch: 1", false},
		"two tenants with a form": {"shop, rival", `subjectForm: "x.in.{tenant}.{type}"`, true},
	} {
		_, err := config.Parse([]byte(strings.NewReplacer("TENANTS", c.tenants, "FORM", c.form).Replace(file)), kinds)
		if (err == nil) != c.valid || err != nil && !strings.Contains(err.Error(), "bridges.orders.tenants: ") {
			t.Errorf("%s: %v, valid: want %t", name, err, c.valid)
		}
	}
}
