package refund_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
)

// The constraint of the database.
var idPattern = regexp.MustCompile(`\A[A-Za-z0-9._:~@=+-]{1,64}\z`)

func TestValidIDEqualsTheConstraint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9._:~@=+-]{0,70}`),
			rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
		).Draw(t, "id")
		if got, want := refund.ValidID(s), idPattern.MatchString(s); got != want {
			t.Fatalf("ValidID(%q) = %v, the constraint says %v", s, got, want)
		}
	})
	for b := range 256 {
		s := string([]byte{byte(b)})
		same(t, "ValidID of "+s, refund.ValidID(s), idPattern.MatchString(s))
	}
	same(t, "64 characters", refund.ValidID(strings.Repeat("a", 64)), true)
	same(t, "65 characters", refund.ValidID(strings.Repeat("a", 65)), false)
	same(t, "trailing newline", refund.ValidID("a\n"), false)
}

func TestValidTenantCodeEqualsTheConstraint(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`\A[a-z0-9][a-z0-9-]{0,62}\z`)
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_-]{0,66}`), rapid.StringMatching(`[a-z0-9-]{0,66}`), rapid.String()).Draw(t, "code")
		if got, want := refund.ValidTenantCode(s), pattern.MatchString(s); got != want {
			t.Fatalf("ValidTenantCode(%q) = %v, the constraint says %v", s, got, want)
		}
	})
}

func TestValidEventID(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, source, id string
		ok               bool
	}{
		{"plain", "rest", "key-1", true},
		{"no source", "", "1", true},
		{"other scripts", "заказы", "注文-1", true},
		{"exactly 1024 bytes", strings.Repeat("s", 1000), strings.Repeat("i", 24), true},
		{"1025 bytes", strings.Repeat("s", 1000), strings.Repeat("i", 25), false},
		{"1024 bytes of 4-byte characters", strings.Repeat("😀", 255), "😀", true},
		{"fewer than 1024 characters, but too wide for an index row", strings.Repeat("😀", 700), "1", false},
		{"no id", "rest", "", false},
		{"not UTF-8 in id", "rest", "a\xff", false},
		{"not UTF-8 in source", "\xc0\xaf", "a", false},
		{"surrogate half", "rest", "\xed\xa0\x80", false},
		{"NUL", "rest", "a\x00b", false},
		{"newline", "rest", "a\nb", false},
		{"DEL", "rest", "\x7f", false},
		{"C1 control", "\u0085", "a", false},
	} {
		err := refund.ValidEventID(tc.source, tc.id)
		if (err == nil) != tc.ok || (err != nil && !errors.Is(err, refund.ErrEventID)) {
			t.Errorf("%s: got %v, want acceptable = %v", tc.name, err, tc.ok)
		}
	}
}

func drawRID(t *rapid.T, label string) (r refund.RID) {
	copy(r[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	return r
}

func TestRIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRID(t, "rid")
		back, err := refund.ParseRID(r.String())
		if err != nil || back != r {
			t.Fatalf("%s came back as %s (%v)", r, back, err)
		}
		doc, err := json.Marshal(map[string]refund.RID{"rid": r})
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]refund.RID
		if err := json.Unmarshal(doc, &m); err != nil || m["rid"] != r {
			t.Fatalf("%s through JSON came back as %s (%v)", r, m["rid"], err)
		}
		o := drawRID(t, "other")
		if got, want := r.Compare(o), strings.Compare(r.String(), o.String()); got != want {
			t.Fatalf("Compare(%s, %s) = %d; the order of the texts, which is PostgreSQL's, gives %d", r, o, got, want)
		}
	})
}

func TestRIDForms(t *testing.T) {
	t.Parallel()
	const text = "018f6f4e-7c00-7abc-8def-0123456789ab"
	r, err := refund.ParseRID(text)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "String", r.String(), text)
	same(t, "first byte", r[0], 0x01)
	same(t, "last byte", r[15], 0xab)
	same(t, "IsZero", r.IsZero(), false)
	same(t, "IsZero of nothing", refund.RID{}.IsZero(), true)
	for _, bad := range []string{"", "0", strings.ToUpper(text), "{" + text + "}", strings.ReplaceAll(text, "-", ""), text + "0", text[:35],
		"018f6f4e+7c00-7abc-8def-0123456789ab", "018f6f4e-7c00-7abc-8def-0123456789ag", "018f6f4-e7c00-7abc-8def-0123456789ab", "urn:uuid:" + text} {
		keep := r
		if err := keep.UnmarshalText([]byte(bad)); !errors.Is(err, refund.ErrRID) || keep != r {
			t.Errorf("%q: got %v and %s; want ErrRID and an unchanged id", bad, err, keep)
		}
	}
}
