package httpapi

import (
	"strconv"
	"strings"
)

// etag is the weak entity tag of a refund's version.
func etag(version int) string { return `W/"` + strconv.Itoa(version) + `"` }

// matches compares If-None-Match with an entity tag, weakly (RFC 9110 section
// 8.8.3.2): W/ is left out of account. "*" matches whatever exists.
func matches(ifNoneMatch *string, tag string) bool {
	if ifNoneMatch == nil {
		return false
	}
	want := strings.TrimPrefix(tag, "W/")
	for part := range strings.SplitSeq(*ifNoneMatch, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || strings.TrimPrefix(part, "W/") == want {
			return true
		}
	}
	return false
}
