package channel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/refundry/refundry/internal/refund"
)

// Account is one account at a channel: its client and its contract.
type Account struct {
	Client   refund.Channel
	Contract refund.Contract
}

// Registry has the client and the contract of every account. It does not change after NewRegistry.
type Registry struct{ accounts map[string]Account }

var _ refund.Channels = (*Registry)(nil)

// NewRegistry checks every account and copies the map. It returns an error for an account without a client, an invalid
// contract, and a code with two meanings.
func NewRegistry(accounts map[string]Account) (*Registry, error) {
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		if a.Client == nil {
			return nil, fmt.Errorf("channel: account %s has no client", name)
		}
		if err := a.Contract.Validate(); err != nil {
			return nil, fmt.Errorf("channel: account %s: %w", name, err)
		}
		if err := checkCodes(a.Contract.Codes); err != nil {
			return nil, fmt.Errorf("channel: account %s: %w", name, err)
		}
	}
	return &Registry{accounts: maps.Clone(accounts)}, nil
}

// For returns the client and the contract of an account; false when it is not configured.
func (r *Registry) For(account string) (refund.Channel, refund.Contract, bool) {
	a, ok := r.accounts[account]
	return a.Client, a.Contract, ok
}

// Names returns the names of the accounts, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.accounts)) }
