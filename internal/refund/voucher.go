package refund

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a voucher, in bytes. The database has the same bound.
const (
	maxVoucher      = 4096
	maxVoucherName  = 64
	maxVoucherValue = 512
)

// VoucherText returns a voucher in its stored form: a flat JSON object, names sorted, at most 4096 bytes in PostgreSQL's
// spelling; "" for none. A success must be recorded whatever its voucher is, so text is shortened or left out, never
// refused. Names and values without content are left out.
func VoucherText(v map[string]string) string {
	kept := map[string]string{}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(v)) {
		key, value := voucherWord(name, maxVoucherName), voucherWord(v[name], maxVoucherValue)
		if key == "" || value == "" {
			continue
		}
		before, twice := kept[key]
		kept[key] = value
		next, err := json.Marshal(kept)
		if err == nil && len(next)+2*len(kept) <= maxVoucher { // PostgreSQL adds a space after each colon and comma
			text = string(next)
			continue
		}
		if delete(kept, key); twice {
			kept[key] = before
		}
	}
	return text
}

func voucherWord(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
