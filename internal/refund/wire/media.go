package wire

import (
	"strings"
)

// MediaType reads the value of a Content-Type: the type in lower case and the charset in lower case, "" = none is named. Other
// parameters, and those that cannot be read, are left out: they change nothing in the meaning of JSON. ok is false if the text does
// not begin with a type and a subtype.
func MediaType(text string) (mediaType, charset string, ok bool) {
	mediaType, rest, _ := strings.Cut(text, ";")
	mediaType = strings.ToLower(strings.Trim(mediaType, " \t"))
	main, sub, _ := strings.Cut(mediaType, "/")
	if !isToken(main) || !isToken(sub) {
		return "", "", false
	}
	for parameter := range strings.SplitSeq(rest, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.Trim(name, " \t"), "charset") {
			return mediaType, strings.ToLower(strings.Trim(value, " \t\"'")), true
		}
	}
	return mediaType, "", true
}

// IsJSON reports whether a media type that MediaType returned is JSON: application/json, text/json, or a type that ends in +json.
func IsJSON(mediaType string) bool {
	return mediaType == "application/json" || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json")
}

// IsUTF8 reports whether a charset that MediaType returned is one whose texts are UTF-8. JSON itself is always UTF-8 (RFC 8259), and
// the reader of a document refuses other bytes.
func IsUTF8(charset string) bool {
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return true
	}
	return false
}

// isToken reports whether a text is a token of RFC 9110.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
