package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/refundry/refundry/internal/refund"
)

// References says how the payment references of an account's tenants are told apart. A reference names a payment at the
// channel, so a tenant that could use another's reference could refund the other's payments, and block it.
type References struct {
	// From is "merchant" (the merchant chooses the references) or "channel" (they are the channel's own ids). Empty = as in the
	// profile. An account with the channel's own ids has exactly one tenant.
	From refund.ReferenceOrigin `yaml:"from"`
	// Prefixes has the beginning of each tenant's references, by tenant code. An account with several tenants needs one for
	// each; no prefix may be the beginning of another one.
	Prefixes map[string]string `yaml:"prefixes"`
}

const longestPrefix = 64

// Terms returns the account's contract: that of its profile, with the terms that the account tightens or changes. Errors: an
// unknown profile, terms that are not valid.
func (a Account) Terms(kind ChannelKind) (refund.Contract, error) {
	t, err := a.Contract.Terms(kind)
	if err != nil {
		return t, err
	}
	if a.References.From != "" {
		t.References = a.References.From
	}
	return t, t.Validate()
}

// referenceFaults adds the faults of References. ofProfile is the origin of references in the account's profile.
func (a Account) referenceFaults(ofProfile refund.ReferenceOrigin, out *Faults) {
	tenants := slices.Compact(slices.Sorted(slices.Values(a.Tenants)))
	from, prefixes := a.References.From, a.References.Prefixes
	if from == "" {
		from = ofProfile
	}
	if ofProfile == refund.ReferencesOfChannel && from != ofProfile {
		out.AddIf(true, ".references.from: the references of this profile are the channel's own ids")
		from = ofProfile
	}
	if from == refund.ReferencesOfChannel {
		out.AddIf(len(tenants) > 1, ".tenants: payment references are the channel's own ids, which tell no tenants apart: the account has exactly one tenant")
		out.AddIf(len(prefixes) > 0, ".references.prefixes: the channel's own ids have no prefixes")
		return
	}
	for _, code := range tenants {
		out.AddIf(len(tenants) > 1 && prefixes[code] == "", ".references.prefixes: tenant %q has none; tenants that share an account need a prefix each", code)
	}
	codes := slices.Sorted(maps.Keys(prefixes))
	for i, code := range codes {
		prefix := prefixes[code]
		out.AddIf(!slices.Contains(tenants, code), ".references.prefixes.%s: is not one of the account's tenants", code)
		out.AddIf(!validPrefix(prefix), ".references.prefixes.%s: must be 1 to %d visible ASCII characters", code, longestPrefix)
		for _, other := range codes[:i] {
			out.AddIf(overlap(prefix, prefixes[other]), ".references.prefixes.%s: %q and %q of %s begin alike", code, prefix, prefixes[other], other)
		}
	}
}

func validPrefix(prefix string) bool {
	return len(prefix) >= 1 && len(prefix) <= longestPrefix && !strings.ContainsFunc(prefix, func(r rune) bool { return r < 0x21 || r > 0x7e })
}

// overlap reports whether one reference could begin with both prefixes. Letter case does not count: some channels ignore it.
func overlap(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
