package channel

import (
	"net/http"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// Kind is everything that an installation needs of one kind of channel. Each channel's folder exports one.
type Kind struct {
	// Name stands in the configuration and beside every stored contract: never to be changed.
	Name string
	// Contracts returns the ready-made contracts, each under its Profile, from the strongest evidence to none. The caller may
	// change what it gets. Version is left at 0: whoever stores contracts numbers them.
	Contracts func() []refund.Contract
	// Settings reads the settings of one account. The error lists every fault, see config.Faults.
	Settings func(yaml.Node) (Settings, error)
	// Open makes the client of one account. It reads the secrets and sends nothing.
	Open func(Settings, Deps) (refund.Channel, error)
}

// Settings are the valid settings of one account. They hold no secret, only where the secrets are.
type Settings interface {
	// Readable reads every secret once. The error lists those that cannot be read and never holds the content of one.
	Readable() error
	// Summary shows the settings to a person on one line, without secrets.
	Summary() string
}

// Deps are what a client needs beside its settings.
type Deps struct {
	Account  string          // the account's name
	Contract refund.Contract // of the account
	HTTP     *http.Client    // on the channel transport, see Transport.Client
}

// Check implements config.Kind.
func (k Kind) Check(settings yaml.Node) error {
	_, err := k.Settings(settings)
	return err
}

// Profiles lists the names of the ready-made contracts, from the strongest evidence to none.
func (k Kind) Profiles() []string {
	all := k.Contracts()
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.Profile
	}
	return out
}

// Contract returns the ready-made contract of a profile; false = there is none of this name.
func (k Kind) Contract(profile string) (refund.Contract, bool) {
	for _, c := range k.Contracts() {
		if c.Profile == profile {
			return c, true
		}
	}
	return refund.Contract{}, false
}
