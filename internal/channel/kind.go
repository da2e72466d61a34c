package channel

import (
	"net/http"

	"go.yaml.in/yaml/v3"

	"github.com/refundry/refundry/internal/refund"
)

// Kind describes one kind of channel to an installation. The folder of each channel exports one.
type Kind struct {
	// Name is used in the configuration and stored with every contract. It must never change.
	Name string
	// Contracts returns the ready-made contracts, one for each Profile, from the strongest evidence to none. The slice is the
	// caller's own. Version is 0; the store numbers the contracts.
	Contracts func() []refund.Contract
	// DecodeSettings decodes the settings of one account. The error lists every fault, see config.Faults.
	DecodeSettings func(yaml.Node) (Settings, error)
	// Open returns the client of one account. It reads the secrets and sends nothing.
	Open func(Settings, Deps) (refund.Channel, error)
}

// Settings are the valid settings of one account. They have no secret, only the places of secrets.
type Settings interface {
	// CheckSecrets reads every secret once and keeps none. The error lists those that cannot be read, without their content.
	CheckSecrets() error
	// Summary describes the settings on one line, without secrets.
	Summary() string
}

// Deps are what a client needs besides its settings.
type Deps struct {
	Account  string          // the account's name
	Contract refund.Contract // contract of the account
	HTTP     *http.Client    // on the channel transport, see Transport.Client
}

// Check implements config.Kind.
func (k Kind) Check(settings yaml.Node) error {
	_, err := k.DecodeSettings(settings)
	return err
}

// Profiles returns the names of the ready-made contracts, from the strongest evidence to none.
func (k Kind) Profiles() []string {
	all := k.Contracts()
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = c.Profile
	}
	return out
}

// Contract returns the ready-made contract of a profile; false when there is none.
func (k Kind) Contract(profile string) (refund.Contract, bool) {
	for _, c := range k.Contracts() {
		if c.Profile == profile {
			return c, true
		}
	}
	return refund.Contract{}, false
}
