package httpapi

import (
	"strconv"
	"strings"
)

// etag is the weak entity tag of a refund's version.
func etag(version int) string { return `W/"` + strconv.Itoa(version) + `"` }

// matches reports whether If-None-Match contains an entity tag. The comparison is
// weak (RFC 9110 section 8.8.3.2): it ignores W/. "*" matches every tag.
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
