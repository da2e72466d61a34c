package httpapi

import (
	"strconv"
	"strings"
	"time"
)

// MaxWait is the longest wait that a caller can ask for.
const MaxWait = 60 * time.Second

// preferredWait reads wait=N (seconds) from a Prefer header and caps it at MaxWait. Of
// several waits the first counts. Other preferences and invalid values are ignored, as
// RFC 7240 demands.
func preferredWait(prefer *string) (time.Duration, bool) {
	if prefer == nil {
		return 0, false
	}
	for part := range strings.SplitSeq(*prefer, ",") {
		token, _, _ := strings.Cut(part, ";")
		name, value, found := strings.Cut(token, "=")
		if !found || !strings.EqualFold(strings.TrimSpace(name), "wait") {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return 0, false
		}
		return min(time.Duration(n)*time.Second, MaxWait), true
	}
	return 0, false
}

// preferredReturn reads return=minimal or return=representation from a Prefer header. Of several the first counts.
func preferredReturn(prefer string) (value string, asked bool) {
	for part := range strings.SplitSeq(prefer, ",") {
		token, _, _ := strings.Cut(part, ";")
		name, value, _ := strings.Cut(token, "=")
		value = strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))
		if strings.EqualFold(strings.TrimSpace(name), "return") && (value == "minimal" || value == "representation") {
			return value, true
		}
	}
	return "", false
}

// applied is the value of Preference-Applied; nil = no wait was asked for.
func applied(wait time.Duration, asked bool) *string {
	if !asked {
		return nil
	}
	s := "wait=" + strconv.Itoa(int(wait/time.Second))
	return &s
}
