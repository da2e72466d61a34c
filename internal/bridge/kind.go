package bridge

import (
	"log/slog"

	"go.yaml.in/yaml/v3"
)

// Kind describes one kind of broker. The folder of each broker exports one.
type Kind struct {
	// Name is used in the configuration and in recorded deliveries. It must never change.
	Name string
	// DecodeSettings decodes the settings of one subscription. The error lists all faults, see config.Faults.
	DecodeSettings func(yaml.Node) (Settings, error)
	// Open reads the secrets and returns the Opener of the subscription. It does not connect.
	Open func(Settings, Deps) (Opener, error)
}

// Settings are the valid settings of one subscription. They contain the places of secrets, not the secrets.
type Settings interface {
	// CheckSecrets reads every secret and every file once. The error lists those that cannot be read, without any content.
	CheckSecrets() error
	// Bounds reports whether every message has a checked Bound. A bridge for several tenants needs it.
	Bounds() bool
	// Summary describes the settings on one line, without secrets.
	Summary() string
}

// Deps are the dependencies of a subscription.
type Deps struct {
	Consumer string // the name of the bridge, under which the broker stores the position of the subscription
	Logger   *slog.Logger
}

// Check implements config.Kind.
func (k Kind) Check(settings yaml.Node) error {
	_, err := k.DecodeSettings(settings)
	return err
}

// BoundsTenants implements config.BoundKind.
func (k Kind) BoundsTenants(settings yaml.Node) bool {
	s, err := k.DecodeSettings(settings)
	return err == nil && s.Bounds()
}
