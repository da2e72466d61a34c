package refund_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/refundry/refundry/internal/refund"
)

func fieldLists() *rapid.Generator[[]string] {
	// A small alphabet makes collisions likely if they are possible; the zero bytes imitate length prefixes inside of fields.
	field := rapid.OneOf(rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 0, 1, 2}), 0, 6, -1), rapid.String())
	return rapid.SliceOfN(field, 0, 5)
}

// LP is injective: the test's own reader gets the fields back from the bytes alone.
func TestLPCanBeReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := fieldLists().Draw(t, "fields")
		rest := refund.LP(nil, fields...)
		var got []string
		for len(rest) > 0 {
			n := binary.BigEndian.Uint32(rest)
			got = append(got, string(rest[4:4+n]))
			rest = rest[4+n:]
		}
		if !slices.Equal(got, fields) {
			t.Fatalf("%q was read back as %q", fields, got)
		}
	})
}

func TestLPNeverCollides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := fieldLists().Draw(t, "a"), fieldLists().Draw(t, "b")
		if bytes.Equal(refund.LP(nil, a...), refund.LP(nil, b...)) != slices.Equal(a, b) {
			t.Fatalf("%q and %q: equal bytes must mean equal fields", a, b)
		}
	})
}

func TestLPAppends(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := fieldLists().Draw(t, "a"), fieldLists().Draw(t, "b")
		if !bytes.Equal(refund.LP(refund.LP(nil, a...), b...), refund.LP(nil, append(slices.Clone(a), b...)...)) {
			t.Fatalf("%q then %q is not the two lists in one", a, b)
		}
	})
}

// Any changed parameter changes the digest, also when characters only move from one field to the next.
func TestRefundDigestTellsParametersApart(t *testing.T) {
	t.Parallel()
	type params struct {
		order, payment string
		amount         int64
		currency       refund.Currency
	}
	draw := func(t *rapid.T, label string) params {
		id := rapid.StringMatching(`[ab1]{1,3}`)
		return params{id.Draw(t, label+" order"), id.Draw(t, label+" payment"),
			rapid.Int64Range(1, 12).Draw(t, label+" amount"), oneOfEachExponent().Draw(t, label+" currency")}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		same := refund.RefundDigest(a.order, a.payment, a.amount, a.currency) == refund.RefundDigest(b.order, b.payment, b.amount, b.currency)
		if same != (a == b) {
			t.Fatalf("%v and %v: equal digests must mean equal parameters", a, b)
		}
	})
}

// The same fields under another domain word are another digest.
func TestDigestDomainsAreApart(t *testing.T) {
	t.Parallel()
	if refund.RefundDigest("a", "b", 1, "USD") == refund.CaptureDigest("a", "b", 1, "USD") {
		t.Error("a refund and a capture with equal fields share a digest")
	}
}

func TestDigestForms(t *testing.T) {
	t.Parallel()
	d := refund.RefundDigest("ord_77", "pay_77", 1250, "USD")
	fromText, err := refund.ParseDigest(d.String())
	if err != nil || fromText != d {
		t.Errorf("text came back as %s (%v)", fromText, err)
	}
	fromBytes, err := refund.DigestFromBytes(d.Bytes())
	if err != nil || fromBytes != d {
		t.Errorf("bytes came back as %s (%v)", fromBytes, err)
	}
	same(t, "version byte", d.Bytes()[0], 0x01)
	d.Bytes()[1] ^= 0xff // a copy: the digest must not change
	same(t, "digest after its copy was changed", d, fromText)
	same(t, "zero value", refund.Digest{}.String(), "")
	same(t, "IsZero", refund.Digest{}.IsZero() && !d.IsZero(), true)

	text := d.String()
	for _, bad := range []string{"", "d1:", text[3:], "d2:" + text[3:], text[:66], text + "0", "D1:" + text[3:], "d1:" + strings.ToUpper(text[3:]),
		text[:66] + "g"} {
		if _, err := refund.ParseDigest(bad); !errors.Is(err, refund.ErrDigest) {
			t.Errorf("ParseDigest(%q): %v, want ErrDigest", bad, err)
		}
	}
	for _, bad := range [][]byte{nil, d.Bytes()[1:], append(d.Bytes(), 0), append([]byte{2}, d.Bytes()[1:]...), make([]byte, 33)} {
		if _, err := refund.DigestFromBytes(bad); !errors.Is(err, refund.ErrDigest) {
			t.Errorf("DigestFromBytes(%x): %v, want ErrDigest", bad, err)
		}
	}
}
