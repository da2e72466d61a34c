package channel

import "github.com/refundry/refundry/internal/refund"

// Notifier returns the client of an account if it can parse notices and the contract has notices.
func (r *Registry) Notifier(account string) (refund.Notifier, bool) {
	a, ok := r.accounts[account]
	if !ok || !a.Contract.Notices {
		return nil, false
	}
	n, ok := a.Client.(refund.Notifier)
	return n, ok
}
