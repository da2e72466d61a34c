package channel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/refundry/refundry/internal/refund"
)

// Account is one account at a channel: who speaks to it, and what it promises.
type Account struct {
	Client   refund.Channel
	Contract refund.Contract
}

// Registry finds the client and the contract of an account. It does not change
// after NewRegistry.
type Registry struct{ accounts map[string]Account }

var _ refund.Channels = (*Registry)(nil)

// NewRegistry checks every account and keeps a copy of the map. It refuses an
// account without a client, a contract that cannot be used, and a code with two
// meanings.
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

// For returns what is known of an account; false when it is not configured.
func (r *Registry) For(account string) (refund.Channel, refund.Contract, bool) {
	a, ok := r.accounts[account]
	return a.Client, a.Contract, ok
}

// Names lists the accounts in order.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.accounts)) }
