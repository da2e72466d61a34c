package access

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// APIKeyRecord is a stored API key with its tenant and actor.
type APIKeyRecord struct {
	SecretHash    [32]byte // SHA-256 of the secret
	Tenant        refund.Tenant
	Mode          string // of the tenant: live or test
	ActorName     string
	ActorDisabled bool
	Scopes        []string
	ExpiresAt     time.Time // zero = never
	RevokedAt     time.Time // zero = not revoked
}
