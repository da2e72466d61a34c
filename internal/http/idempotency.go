package httpapi

import (
	"net/http"
	"strings"
)

const maxKeyLength = 255

// IdempotencyKey reads the header Idempotency-Key. The quoted string of RFC 8941 and
// the bare form are the same key: a client library that begins to quote must not turn
// repeats into new requests. A key is 1 to 255 visible ASCII characters. Errors: *Problem idempotency-key-missing,
// idempotency-key-invalid.
func IdempotencyKey(h http.Header) (string, error) {
	values := h.Values("Idempotency-Key")
	if len(values) == 0 {
		e := atHeader("Idempotency-Key", "is required")
		return "", &Problem{Code: codeKeyMissing, Errors: []fieldError{e}}
	}
	if len(values) > 1 {
		return "", badKey("must be sent once")
	}
	key := strings.Trim(values[0], " \t")
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = unquote(key); !ok {
			return "", badKey("is not a well-formed quoted string")
		}
	}
	if len(key) == 0 || len(key) > maxKeyLength {
		return "", badKey("must have 1 to 255 characters")
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return "", badKey("must hold visible ASCII characters only")
		}
	}
	return key, nil
}

func badKey(detail string) *Problem {
	return &Problem{Code: codeKeyInvalid, Errors: []fieldError{atHeader("Idempotency-Key", detail)}}
}

// unquote reads a String of RFC 8941 section 3.3.3: the only escapes are \" and \\.
// Parameters after the string are refused.
func unquote(s string) (string, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return b.String(), i == len(s)-1
		case '\\':
			i++
			if i == len(s) || (s[i] != '"' && s[i] != '\\') {
				return "", false
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
