package nats

import (
	"slices"
	"strings"

	"github.com/refundry/refundry/internal/bridge"
)

// The tokens of a subject's form that stand for the tenant, which is one token, and for the type of the event, which is all tokens to
// the end. Of the other tokens, * stands for any one and everything else for itself.
const (
	tenantToken = "{tenant}"
	typeToken   = "{type}"
)

// validForm reports whether a form has both tokens, the type last.
func validForm(form string) bool {
	tokens := strings.Split(form, ".")
	last := len(tokens) - 1
	return tokens[last] == typeToken && slices.Index(tokens, typeToken) == last && !slices.Contains(tokens, "") && !strings.ContainsAny(form, " \t>") &&
		strings.Count(form, tenantToken) == 1 && slices.Contains(tokens, tenantToken)
}

// boundOf reads a subject by a form. A subject that does not have the form names no tenant. form "" = nothing was checked.
func boundOf(form, subject string) bridge.Bound {
	if form == "" {
		return bridge.Bound{}
	}
	out := bridge.Bound{Checked: true}
	shape, tokens := strings.Split(form, "."), strings.Split(subject, ".")
	if len(tokens) < len(shape) {
		return out
	}
	tenant := ""
	for i, s := range shape {
		switch {
		case s == typeToken:
			out.Tenant, out.Type = tenant, strings.Join(tokens[i:], ".")
		case s == tenantToken:
			tenant = tokens[i]
		case s != "*" && s != tokens[i]:
			return out
		}
	}
	return out
}
