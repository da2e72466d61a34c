package refund

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxJSONDepth bounds nesting in journal data. Ours needs three levels; the bound makes a map that contains itself an error.
const maxJSONDepth = 16

// ErrCanonicalJSON says that a value has no canonical form.
var ErrCanonicalJSON = errors.New("refund: no canonical JSON form")

// CanonicalJSON writes journal data in its one spelling: keys sorted by bytes,
// no spaces, ASCII only, integers only. It takes nil, booleans, strings and
// integers (named types of these too), slices, and maps with string keys. A
// float, a json.Number, a struct, a pointer, invalid UTF-8 or deeper nesting
// than 16 is ErrCanonicalJSON with the key's path, never a guess. Integers up
// to the full 64 bits are written exactly: what a channel reported must be
// recordable however wrong.
//
// Strings escape " and \ with a backslash, use \b \f \n \r \t, and write every
// other character outside space…~ as \u and four lower-case hex digits, in
// surrogate pairs above U+FFFF.
func CanonicalJSON(v map[string]any) (string, error) {
	if v == nil {
		v = map[string]any{}
	}
	b, err := appendJSON(nil, reflect.ValueOf(v), 0)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCanonicalJSON, err)
	}
	return string(b), nil
}

var jsonNumber = reflect.TypeFor[json.Number]()

func appendJSON(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return append(b, "null"...), nil
	}
	if depth > maxJSONDepth {
		return nil, errors.New("nested too deep")
	}
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(b, v.Uint(), 10), nil
	case reflect.String:
		if v.Type() == jsonNumber {
			break // 1.0 and 1e3 are possible: a value could have two spellings
		}
		return AppendJSONString(b, v.String())
	case reflect.Slice:
		return appendJSONSlice(b, v, depth)
	case reflect.Map:
		return appendJSONMap(b, v, depth)
	}
	return nil, fmt.Errorf("a %s cannot be written", v.Type())
}

func appendJSONSlice(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil, errors.New("bytes must be written as text by the caller")
	}
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	var err error
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, v.Index(i), depth+1); err != nil {
			return nil, fmt.Errorf("/%d: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

func appendJSONMap(b []byte, v reflect.Value, depth int) ([]byte, error) {
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("a %s cannot be written", v.Type())
	}
	if v.IsNil() {
		return append(b, "null"...), nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
	b = append(b, '{')
	var err error
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = AppendJSONString(b, k.String()); err != nil {
			return nil, err
		}
		b = append(b, ':')
		if b, err = appendJSON(b, v.MapIndex(k), depth+1); err != nil {
			return nil, fmt.Errorf("/%s: %w", k.String(), err)
		}
	}
	return append(b, '}'), nil
}

// AppendJSONString appends a text as CanonicalJSON writes it. Text that is not valid UTF-8 is an error.
func AppendJSONString(b []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("text is not valid UTF-8")
	}
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c >= ' ' && c <= '~':
			b = append(b, byte(c))
		case c < ' ' && strings.IndexByte("\b\f\n\r\t", byte(c)) >= 0: // #nosec G115 -- below a space
			b = append(b, '\\', "bfnrt"[strings.IndexByte("\b\f\n\r\t", byte(c))]) // #nosec G115 -- below a space
		case c > 0xFFFF:
			hi, lo := utf16.EncodeRune(c)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(b, '"'), nil
}
