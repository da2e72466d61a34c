package bridge

import (
	"maps"
	"slices"
	"strings"
)

// nativePrefixes are the prefixes of attributes in binary mode: of HTTP and NATS, Kafka, AMQP 1.0, and AMQP where a colon is not
// allowed.
var nativePrefixes = []string{"ce-", "ce_", "cloudevents:", "cloudevents_"}

// Canonical adds the attributes of an event under the names that all brokers share: "ce-…" in lower case, and "content-type". Every
// Source applies it to the headers that it returns, so that parked messages can be decoded without knowledge of their broker. Native
// names are kept. An attribute that comes under two names with different values gets both values and is not decoded.
func Canonical(native map[string][]string) map[string][]string {
	out := make(map[string][]string, len(native))
	for _, name := range slices.Sorted(maps.Keys(native)) {
		values := native[name]
		canonical := canonicalName(name)
		if canonical == "" || !strings.EqualFold(canonical, name) {
			out[name] = append(out[name], values...)
		}
		if canonical == "" {
			continue
		}
		if have, seen := out[canonical]; !seen || !slices.Equal(have, values) {
			out[canonical] = append(have, values...)
		}
	}
	return out
}

// canonicalName is the canonical name of the header of an attribute, "" for other headers.
func canonicalName(name string) string {
	lower := strings.ToLower(name)
	if lower == "content-type" {
		return lower
	}
	for _, prefix := range nativePrefixes {
		if attribute, found := strings.CutPrefix(lower, prefix); found && attribute != "" {
			return "ce-" + attribute
		}
	}
	return ""
}
