package bridge

import (
	"log/slog"

	"go.yaml.in/yaml/v3"
)

// Kind is everything that an installation needs of one kind of broker. Each broker's folder exports one.
type Kind struct {
	// Name stands in the configuration and in the trace of deliveries: never to be changed.
	Name string
	// Settings reads the settings of one subscription. The error lists every fault, see config.Faults.
	Settings func(yaml.Node) (Settings, error)
	// Open reads the secrets and returns what opens the subscription. It dials nothing.
	Open func(Settings, Deps) (Opener, error)
}

// Settings are the valid settings of one subscription. They hold no secret, only where the secrets are.
type Settings interface {
	// Readable reads every secret and every file once. The error lists those that cannot be read and never holds the content of one.
	Readable() error
	// Summary shows the settings to a person on one line, without secrets.
	Summary() string
}

// Deps are what a subscription needs beside its settings.
type Deps struct {
	Consumer string // the bridge's name; the subscription keeps its position at the broker under it
	Logger   *slog.Logger
}

// Check implements config.Kind.
func (k Kind) Check(settings yaml.Node) error {
	_, err := k.Settings(settings)
	return err
}
