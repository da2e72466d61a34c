package bridge

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeAttributes decodes the attributes of binary mode as they stand in headers. contentType stands there by itself.
func decodeAttributes(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		if name != contentType {
			value = decodeHeader(value)
		}
		out[name] = value
	}
	return out
}

// contentType is the attribute that the HTTP binding maps to the header Content-Type, without encoding.
const contentType = "datacontenttype"

// decodeHeader reads the value of one attribute from a header (CloudEvents 1.0.2, HTTP binding, section 3.1.3.2, to which the NATS
// binding refers): a double-quoted string is unescaped, then one round of percent-decoding follows. A percent sign without two hex
// digits stays: producers of older versions did not encode it.
func decodeHeader(value string) string {
	value = unquote(value)
	if !strings.Contains(value, "%") {
		return value
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '%' && i+2 < len(value) {
			if octet, err := strconv.ParseUint(value[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(octet))
				i += 2
				continue
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// unquote unescapes a double-quoted string. A text that is not one whole double-quoted string is returned as it is.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' {
		return s
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"' && i == len(s)-1:
			return b.String()
		case s[i] == '"':
			return s
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return s
}

// encodeHeader is the reverse of decodeHeader, for brokers whose bindings do not encode attributes.
func encodeHeader(value string) string {
	const digits = "0123456789ABCDEF"
	if !utf8.ValidString(value) {
		return value // it is no text, and no decoder takes it
	}
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c <= ' ' || c > '~' || c == '"' || c == '%' {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(value[i])
	}
	return b.String()
}
