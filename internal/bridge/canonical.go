package bridge

import (
	"maps"
	"slices"
	"strings"
)

// nativePrefixes are how brokers' bindings of CloudEvents mark attributes in binary mode: Kafka, AMQP 1.0, and AMQP where a
// colon is not allowed. "ce-" is ours, HTTP's and NATS's.
var nativePrefixes = []string{"ce-", "ce_", "cloudevents:", "cloudevents_"}

// Canonical gives the attributes of an event one name for all brokers: "ce-…" in lower case, and "content-type". Every
// Source applies it before it hands headers out, so that parked messages are read again without knowing their broker.
// What had another name keeps it beside. An attribute that comes under two names with different values has both of them
// then, and so none that is read.
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

// canonicalName is the name of an attribute's header, "" for any other header.
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
