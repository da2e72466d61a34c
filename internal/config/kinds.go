package config

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// Kinds are what a file may name, and who checks what this package cannot read.
type Kinds struct {
	Channels map[string]ChannelKind
	Brokers  map[string]Kind
	// Times checks the times together with the defaults of whoever uses them. nil = nobody checks.
	Times func(Times) Faults
}

// Kind checks the settings of one kind of account or bridge.
type Kind interface {
	// Check returns every fault of the settings at once, as Faults. nil = they can be used.
	Check(settings yaml.Node) error
}

// ChannelKind is a Kind with ready-made contracts.
type ChannelKind interface {
	Kind
	// Profiles lists the names of the contracts.
	Profiles() []string
	// Contract returns the contract of a profile; false = there is none of this name.
	Contract(profile string) (refund.Contract, bool)
}

// names lists the names of kinds for a sentence.
func names[K any](kinds map[string]K) string {
	return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}
