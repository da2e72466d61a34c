package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
)

// KeyStore finds API keys by their prefix. Errors of Lookup: refund.ErrNotFound
// for an unknown prefix, refund.ErrUnavailable.
type KeyStore interface {
	Lookup(ctx context.Context, prefix string) (access.APIKeyRecord, error)
}

// principalOf returns the sender of the request of ctx. It is set for every
// operation that needs a key.
func principalOf(ctx context.Context) access.Principal {
	p, _ := ctx.Value(keyPrincipal).(access.Principal)
	return p
}

// authenticator checks API keys.
type authenticator struct {
	keys  *keyCache
	clock func() time.Time
}

// check returns the sender of r. An unknown key and a wrong secret take the same
// work and get the same answer. Errors: *Problem unauthorized, or the error of the
// key store.
func (a *authenticator) check(r *http.Request) (access.Principal, error) {
	token, ok := bearer(r.Header)
	if !ok {
		return access.Principal{}, &Problem{Code: codeUnauthorized}
	}
	key, err := access.ParseAPIKey(token)
	if err != nil {
		return access.Principal{}, &Problem{Code: codeUnauthorized}
	}
	rec, err := a.keys.lookup(r.Context(), key.Prefix)
	known := err == nil
	if err != nil && !errors.Is(err, refund.ErrNotFound) {
		return access.Principal{}, err
	}
	got := sha256.Sum256([]byte(key.Secret))
	same := subtle.ConstantTimeCompare(got[:], rec.SecretHash[:]) == 1
	if !known || !same || !usable(rec, key.Mode, a.clock()) {
		return access.Principal{}, &Problem{Code: codeUnauthorized}
	}
	return access.Principal{Tenant: rec.Tenant, Actor: "actor:" + rec.ActorName, Scopes: rec.Scopes}, nil
}

func usable(k access.APIKeyRecord, mode string, now time.Time) bool {
	return k.Mode == mode && !k.ActorDisabled && k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// bearer returns the token of the Authorization header (RFC 6750 section 2.1).
// ok is false unless the header is there exactly once.
func bearer(h http.Header) (token string, ok bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

// admit is the middleware of every operation that needs a key. It puts the
// operation and the sender into the context and refuses a sender without the
// scopes of the operation.
func (s *service) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := s.operations[route{r.Method, chi.RouteContext(r.Context()).RoutePattern()}]
		if op == nil {
			s.problems.write(w, r, errors.New("route without an operation in the contract"))
			return
		}
		who, err := s.auth.check(r)
		if err != nil {
			s.problems.write(w, r, err)
			return
		}
		for _, scope := range op.scopes {
			if !slices.Contains(who.Scopes, scope) {
				s.problems.write(w, r, &Problem{Code: codeScopeMissing, Detail: "This needs the scope " + scope + "."})
				return
			}
		}
		ctx := context.WithValue(r.Context(), keyPrincipal, who)
		next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, keyOperation, op)))
	})
}
