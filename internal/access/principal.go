package access

import "github.com/refundry/refundry/internal/refund"

// Principal is the authenticated sender of a request.
type Principal struct {
	Tenant refund.Tenant
	Actor  string // "actor:<name>", the form of the journal
	Scopes []string
}
