package bodies

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// histogram counts verdicts with their codes, and places of problems.
type histogram map[string]int

func (h histogram) count(r Request, got Reading) {
	family, _, _ := strings.Cut(r.Kind, ":")
	h[family+" "+strings.TrimSpace(got.Verdict+" "+got.Code)]++
	var places []string
	for _, p := range got.Places {
		places = append(places, wellKnown(p))
	}
	for _, p := range slices.Compact(slices.Sorted(slices.Values(places))) {
		h["    "+cmp.Or(got.Code, got.Verdict)+" at "+p]++
	}
}

// wellKnown writes a place with * for every name that is not the contract's.
func wellKnown(place string) string {
	if !strings.HasPrefix(place, "/") {
		return cmp.Or(place, "the whole")
	}
	steps := strings.Split(place, "/")
	for i, s := range steps {
		if i > 0 && !isName(s) {
			steps[i] = "*"
		}
	}
	if len(steps) > 4 {
		steps = append(steps[:4], "…")
	}
	return strings.Join(steps, "/")
}

func isName(s string) bool {
	if s == "data" || s == "data_base64" {
		return true
	}
	for _, fields := range [][]field{refundFields, paymentFields, captureFields} {
		if slices.ContainsFunc(fields, func(f field) bool { return f.name == s }) {
			return true
		}
	}
	for _, list := range [][]attribute{requiredAttributes, optionalAttributes} {
		if slices.ContainsFunc(list, func(a attribute) bool { return a.name == s }) {
			return true
		}
	}
	return false
}

func (h histogram) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&b, "\n%7d %s", h[name], name)
	}
	return b.String()
}
