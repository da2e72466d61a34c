package bridge

import (
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// idleBridge is a bridge that has not been started.
func idleBridge(t *testing.T, allowed ...string) *Bridge {
	t.Helper()
	store := newFakeStore()
	b, err := New(Config{Name: "orders", Open: newFakeBroker().open, Door: &fakeDoor{}, ParkedMessages: store, Deliveries: store, Tenants: fakeTenants{},
		Allowed: allowed})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What the broker checked bounds what an event may claim, also with one tenant.
func TestAnEventClaimsOnlyWhatItsPlaceAllows(t *testing.T) {
	t.Parallel()
	garbage := func(tenant string) []byte { return []byte(`{"tenantid":"` + tenant + `"}`) }
	for name, c := range map[string]struct {
		allowed []string
		bound   Bound
		body    []byte
		reason  string
		code    string // of the tenant that decides or keeps it
	}{
		"own tenant and type":           {[]string{"demo", "rival"}, Bound{true, "demo", "refund.requested"}, nil, "", "demo"},
		"another tenant":                {[]string{"demo", "rival"}, Bound{true, "rival", "refund.requested"}, nil, ParkOtherTenant, ""},
		"another tenant, one allowed":   {[]string{"demo"}, Bound{true, "rival", "refund.requested"}, nil, ParkOtherTenant, ""},
		"another type":                  {[]string{"demo", "rival"}, Bound{true, "demo", "payment.captured"}, nil, ParkOtherTenant, ""},
		"a place that names none":       {[]string{"demo"}, Bound{Checked: true}, nil, ParkOtherTenant, ""},
		"nothing checked, one tenant":   {[]string{"demo"}, Bound{}, nil, "", "demo"},
		"nothing checked, two tenants":  {[]string{"demo", "rival"}, Bound{}, nil, ParkOtherTenant, ""},
		"unreadable in another's name":  {[]string{"demo", "rival"}, Bound{true, "rival", "refund.requested"}, garbage("demo"), ParkOtherTenant, ""},
		"unreadable in the own name":    {[]string{"demo", "rival"}, Bound{true, "rival", "refund.requested"}, garbage("rival"), ParkUndecodable, "rival"},
		"unreadable, place not allowed": {[]string{"demo"}, Bound{true, "rival", "x"}, []byte("{"), ParkUndecodable, ""},
		"unreadable, nothing checked":   {[]string{"demo"}, Bound{}, []byte("{"), ParkUndecodable, "demo"},
	} {
		b := idleBridge(t, c.allowed...)
		m := validMessage("rf-1")
		m.bound = c.bound
		if c.body != nil {
			m.body = c.body
		}
		it := b.decode(&fakeDelivery{fakeMessage: m})
		if it.parkReason != c.reason || it.code != c.code {
			t.Errorf("%s: reason %q, tenant %q, want %q, %q", name, it.parkReason, it.code, c.reason, c.code)
		}
	}
}

// A later try of a parked message obeys the bound that is stored with it, and no sender writes it.
func TestAParkedMessageKeepsItsBound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent  map[string][]string
		bound Bound
		taken bool
	}{
		"own tenant":                 {nil, Bound{true, "demo", "refund.requested"}, true},
		"another type":               {nil, Bound{true, "demo", "payment.captured"}, false},
		"nothing checked":            {nil, Bound{}, true},
		"the sender's bound":         {map[string][]string{boundHeader: {"demo", "refund.requested"}}, Bound{true, "rival", "refund.requested"}, false},
		"the sender's bound, unread": {map[string][]string{boundHeader: {"rival", "x"}}, Bound{}, true},
	} {
		b := idleBridge(t, "demo")
		m := validMessage("rf-1")
		m.header, m.bound = c.sent, c.bound
		it := b.decode(&fakeDelivery{fakeMessage: m})
		_, _, err := unpark(intake.ParkedMessage{Tenant: refund.Tenant{Code: "demo"}, Park: *it.in.Park})
		if (err == nil) != c.taken {
			t.Errorf("%s: %v, taken: want %t", name, err, c.taken)
		}
		if err != nil && !strings.Contains(err.Error(), "may not publish") {
			t.Errorf("%s: %v, want what is wrong", name, err)
		}
	}
}
