package config

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// Kinds are the kinds that a file can use, which check the parts that this package cannot read.
type Kinds struct {
	Channels map[string]ChannelKind
	Brokers  map[string]Kind
	// Times checks the times together with their defaults. nil = no check.
	Times func(Times) Faults
}

// Kind checks the settings of one kind of account or bridge.
type Kind interface {
	// Check returns all faults of the settings, as Faults. nil = they are valid.
	Check(settings yaml.Node) error
}

// BoundKind is a Kind of broker that may check which tenant a message belongs to.
type BoundKind interface {
	Kind
	// BoundsTenants reports whether valid settings say where the broker shows the tenant and the type of a message.
	BoundsTenants(settings yaml.Node) bool
}

// ChannelKind is a Kind with ready-made contracts.
type ChannelKind interface {
	Kind
	// Profiles returns the names of the contracts.
	Profiles() []string
	// Contract returns the contract of a profile; false when there is none.
	Contract(profile string) (refund.Contract, bool)
}

// names returns the names of the kinds, sorted, for an error text.
func names[K any](kinds map[string]K) string {
	return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}
