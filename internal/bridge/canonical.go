package bridge

import (
	"maps"
	"slices"
	"strings"
)

// canonicalPrefix is the prefix of attributes in binary mode of HTTP and NATS, whose bindings encode the values (see decodeHeader).
const canonicalPrefix = "ce-"

// nativePrefixes are the prefixes of bindings that do not encode values: Kafka, AMQP 1.0, and AMQP where a colon is not allowed.
var nativePrefixes = []string{"ce_", "cloudevents:", "cloudevents_"}

// Canonical adds the attributes of an event under the names that all brokers share: "ce-…" in lower case, and "content-type". Their
// values are encoded as in headers of HTTP. Every Source applies it to the headers that it returns, so that parked messages can be decoded
// without knowledge of their broker. Native names and values are kept. An attribute that comes under two names with different values gets both values and is not decoded.
func Canonical(native map[string][]string) map[string][]string {
	out := make(map[string][]string, len(native))
	for _, name := range slices.Sorted(maps.Keys(native)) {
		values := native[name]
		canonical, encoded := canonicalName(name)
		if canonical == "" || !strings.EqualFold(canonical, name) {
			out[name] = append(out[name], values...)
		}
		if canonical == "" {
			continue
		}
		if !encoded {
			values = encodeHeaders(values)
		}
		if have, seen := out[canonical]; !seen || !slices.Equal(have, values) {
			out[canonical] = append(have, values...)
		}
	}
	return out
}

// canonicalName is the canonical name of the header of an attribute, "" for other headers. encoded = its values have the canonical form.
func canonicalName(name string) (canonical string, encoded bool) {
	lower := strings.ToLower(name)
	if attribute, found := strings.CutPrefix(lower, canonicalPrefix); lower == "content-type" || found && attribute != "" {
		return lower, true
	}
	for _, prefix := range nativePrefixes {
		if attribute, found := strings.CutPrefix(lower, prefix); found && attribute != "" {
			return canonicalPrefix + attribute, false
		}
	}
	return "", false
}

func encodeHeaders(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = encodeHeader(v)
	}
	return out
}
