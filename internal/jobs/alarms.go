package jobs

import (
	"context"
	"slices"
	"sync"

	"github.com/refundry/refundry/internal/refund"
)

// accountAlarms has the accounts whose credentials the channel refuses, as this process sees it.
type accountAlarms struct {
	mu   sync.Mutex
	open map[string]bool
}

// set opens or closes the alarm of an account and reports whether that changed it.
func (a *accountAlarms) set(account string, open bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := a.open[account] != open
	if a.open == nil {
		a.open = map[string]bool{}
	}
	a.open[account] = open
	return changed
}

// watchCredentials opens the alarm of an account with the first answer that refuses its credentials, and closes it with the first
// one that needed them.
func (r *Runner) watchCredentials(ctx context.Context, account string, got callResult, c refund.Contract) {
	f := got.facts[0]
	denied := got.denied || slices.Contains(c.Codes.Credentials, f.Code)
	if !denied && !provesCredentials(f.Kind) {
		return
	}
	if !r.alarms.set(account, denied) {
		return
	}
	if denied {
		r.log.ErrorContext(ctx, "the channel refuses the account's credentials", "account", account, "code", f.Code, "rule", f.Rule)
	} else {
		r.log.InfoContext(ctx, "the channel takes the account's credentials again", "account", account)
	}
	if r.cfg.Observer != nil {
		r.cfg.Observer.CredentialsDenied(account, denied)
	}
}

// provesCredentials reports whether a channel gives an answer of this kind only to somebody whom it knows. A channel may limit
// its rate before it looks at the credentials.
func provesCredentials(k refund.FactKind) bool {
	switch k {
	case refund.Succeeded, refund.Acknowledged, refund.FailedFinal, refund.Reversed, refund.NotFound, refund.RefusedClean, refund.RefusedEcho,
		refund.RefusedNewNumber:
		return true
	default:
		return false
	}
}
