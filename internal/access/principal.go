package access

import "github.com/refundry/refundry/internal/refund"

// Principal is who sends a request.
type Principal struct {
	Tenant refund.Tenant
	Actor  string // "actor:<name>", as the journal wants it
	Scopes []string
}
