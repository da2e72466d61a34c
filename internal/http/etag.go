package httpapi

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/refundry/refundry/internal/http/oapi"
)

// etag is the weak entity tag of a refund as an answer shows it: its version and a hash of the whole body. Some members change
// without a new version, such as pendingReason, nextActionAt and updatedAt.
func etag(body oapi.Refund) string {
	h := fnv.New64a()
	_, _ = h.Write(encodeJSON(body))
	return `W/"` + strconv.FormatInt(body.Version, 10) + "-" + strconv.FormatUint(h.Sum64(), 36) + `"`
}

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
