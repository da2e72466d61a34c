package config

import (
	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
)

// The policies for an event without a time of its own and without one from the broker.
const (
	UndatedRefuse = "refuse"
	UndatedAllow  = "allow"
)

// Bridge is one subscription at a message broker. Its name is part of the identity of every event that it delivers, so it
// must never change.
type Bridge struct {
	Broker   string      `yaml:"broker"`  // a kind of broker
	Tenants  []string    `yaml:"tenants"` // codes of the tenants whose events it accepts
	Rate     float64     `yaml:"rate"`    // messages per second; 0 = no limit
	Batch    int         `yaml:"batch"`   // messages per group, at most 1000; 0 = the default of the bridge
	Undated  string      `yaml:"undated"` // events without a time: refuse (the default) parks them, allow accepts them
	Settings RawSettings `yaml:",inline"` // of the kind of broker
}

func (b Bridge) faults(name string, kinds map[string]Kind) Faults {
	var out Faults
	out.AddIf(!accountName.MatchString(name), ": a name is a-z, 0-9 and -, at most 63 characters")
	out.AddIf(name == intake.ConsumerREST || name == intake.ConsumerEvents, ": the name is reserved")
	out.AddIf(len(b.Tenants) == 0, ".tenants: at least one tenant is required")
	for _, t := range b.Tenants {
		out.AddIf(!refund.ValidTenantCode(t), ".tenants: %q is not a tenant code", t)
	}
	out.AddIf(b.Rate < 0, ".rate: must not be negative")
	out.AddIf(b.Undated != "" && b.Undated != UndatedRefuse && b.Undated != UndatedAllow,
		".undated: %q is not %s or %s", b.Undated, UndatedRefuse, UndatedAllow)
	out.AddIf(b.Batch < 0 || b.Batch > 1000, ".batch: must be between 0 and 1000")
	kind, known := kinds[b.Broker]
	if !known {
		out.AddIf(true, ".broker: %q is not one of: %s", b.Broker, names(kinds))
		return out
	}
	faults := faultsOf(kind.Check(b.Settings.Node()))
	bound, can := kind.(BoundKind)
	out.AddIf(len(faults) == 0 && len(b.Tenants) > 1 && !(can && bound.BoundsTenants(b.Settings.Node())),
		".tenants: with several tenants the settings must say where the broker shows the tenant and the type of a message (nats: subjectForm)")
	return append(out, faults...)
}
