package bridge

import (
	"github.com/refundry/refundry/internal/refund/intake"
)

// Bound is what the broker checked of a message when it took it: the tenant and the type of events for which the sender may publish. They
// come from the place of the message (a subject, a topic, a virtual host), never from the message. An event that claims another tenant or
// type is parked as ParkOtherTenant.
type Bound struct {
	Checked bool   // false = the places of this subscription tell nothing
	Tenant  string // code; "" = the place names none, and no event is accepted from it
	Type    string // of the event
}

// forbids reports whether an event must not claim this tenant and type. "" = the event claims none.
func (b Bound) forbids(tenant string, typ intake.EventType) bool {
	return b.Checked && (tenant != "" && tenant != b.Tenant || typ != "" && string(typ) != b.Type)
}

// boundHeader stores the tenant and the type of a Bound with a parked message. A later try obeys it.
const boundHeader = "refundry-bound"

// keep stores the bound in the headers of a message. Without one it removes what the sender has written there.
func (b Bound) keep(header map[string][]string) {
	delete(header, boundHeader)
	if b.Checked {
		header[boundHeader] = []string{b.Tenant, b.Type}
	}
}

// boundOf reads what keep has stored.
func boundOf(header map[string][]string) Bound {
	if values := header[boundHeader]; len(values) == 2 {
		return Bound{Checked: true, Tenant: values[0], Type: values[1]}
	}
	return Bound{}
}

// owner is the tenant under which a message that was not decoded is parked, "" = none. Where the broker has checked a tenant, the message
// does not choose.
func (b *Bridge) owner(bound Bound, claimed string) string {
	switch {
	case bound.Checked && b.allowed[bound.Tenant]:
		return bound.Tenant
	case bound.Checked:
		return ""
	case claimed == "" && len(b.cfg.Allowed) == 1:
		return b.cfg.Allowed[0]
	case b.allowed[claimed]:
		return claimed
	}
	return ""
}
