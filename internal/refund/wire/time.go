package wire

import (
	"strings"
	"time"
)

// Time reads a date-time of RFC 3339: t and z may be lower case, and second 60 is a leap second, which is read as the first moment of
// the next minute. A leap second ends the last day of a month in UTC; at any other time second 60 is refused.
//
// time.Parse alone takes neither, and it takes an hour of one digit, a comma before the fraction, and offsets up to 24:60.
func Time(text string) (time.Time, bool) {
	const toMinute, toSecond = len("2006-01-02T15:04:"), len("2006-01-02T15:04:05")
	if len(text) < toSecond+len("Z") || strings.Contains(text, ",") {
		return time.Time{}, false
	}
	text = strings.ToUpper(text)
	leap := text[toMinute:toSecond] == "60"
	if leap {
		text = text[:toMinute] + "59" + text[toSecond:]
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || text[len("2006-01-02T15")] != ':' {
		return time.Time{}, false
	}
	if zone, isUTC := text[len(text)-len("07:00"):], strings.HasSuffix(text, "Z"); !isUTC && (zone[:2] > "23" || zone[3:] > "59") {
		return time.Time{}, false
	}
	if !leap {
		return t, true
	}
	next := t.Truncate(time.Second).Add(time.Second)
	if utc := next.UTC(); utc.Day() != 1 || utc.Hour() != 0 || utc.Minute() != 0 {
		return time.Time{}, false
	}
	return next, true
}
