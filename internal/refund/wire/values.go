package wire

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/refundry/refundry/api/strictjson"
	"github.com/refundry/refundry/internal/refund"
)

// Bounds of the contract, in characters unless a unit is given.
const (
	maxReason       = 500
	maxMetadata     = 50 // members
	maxMetadataName = 64
	maxMetadataText = 512
	maxReference    = 255 // bytes
)

func (r *reader) text(v strictjson.Value) (string, bool) {
	text, ok := v.Text()
	if !ok {
		r.wrongKind(v, "string")
	}
	return text, ok
}

func (r *reader) id(v strictjson.Value) string {
	text, ok := r.text(v)
	if ok && !refund.ValidID(text) {
		r.wrong("must match ^[A-Za-z0-9._:~@=+-]{1,64}$")
	}
	return text
}

// segment reads an id that becomes a segment of paths. Clients and proxies remove the segments . and .. (RFC 3986 section 5.2.4), so
// nobody could read what has such an id.
func (r *reader) segment(v strictjson.Value) string {
	text := r.id(v)
	if refund.IsDotSegment(text) {
		r.wrong("must not be . or ..")
	}
	return text
}

func (r *reader) currency(v strictjson.Value) refund.Currency {
	text, ok := r.text(v)
	if !ok {
		return ""
	}
	c, err := refund.ParseCurrency(text)
	if err != nil {
		r.wrong("must be an ISO 4217 currency")
	}
	return c
}

func (r *reader) amount(v strictjson.Value) int64 { return r.integer(v, 1) }

func (r *reader) count(v strictjson.Value) int64 { return r.integer(v, 0) }

// integer reads a whole number from least to the largest amount.
func (r *reader) integer(v strictjson.Value, least int64) int64 {
	digits, ok := v.Integer()
	if !ok {
		r.wrongKind(v, "integer")
		return 0
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n < least || n > refund.MaxAmount {
		r.wrong(fmt.Sprintf("must be from %d to %d", least, int64(refund.MaxAmount)))
		return 0
	}
	return n
}

func (r *reader) reason(v strictjson.Value) string {
	text, ok := r.text(v)
	if n := utf8.RuneCountInString(text); ok && (n == 0 || n > maxReason) {
		r.wrong(fmt.Sprintf("must have 1 to %d characters", maxReason))
	}
	return text
}

// reference reads the channel's name of a payment.
func (r *reader) reference(v strictjson.Value) string {
	text, ok := r.text(v)
	if !ok {
		return ""
	}
	fits := len(text) >= 1 && len(text) <= maxReference
	for i := range len(text) {
		fits = fits && text[i] >= 0x21 && text[i] <= 0x7e
	}
	if !fits {
		r.wrong(fmt.Sprintf("must be 1 to %d visible ASCII characters", maxReference))
	}
	return text
}

// paidAt reads when a payment was paid, in the precision in which it is stored.
func (r *reader) paidAt(v strictjson.Value) time.Time {
	text, ok := r.text(v)
	if !ok {
		return time.Time{}
	}
	t, ok := Time(text)
	if !ok {
		r.wrong("must be a time of RFC 3339")
		return time.Time{}
	}
	t = refund.NormalPaidAt(t)
	if !refund.ValidPaidAt(t, r.now) {
		r.wrong("must not be before 2000 or in the future")
	}
	return t
}

// metadata reads texts by name. Faults of the object come first, then those of its texts in the order of the document.
func (r *reader) metadata(v strictjson.Value) map[string]string {
	before := r.faults
	r.faults = nil
	texts, longName := map[string]string{}, false
	n := 0
	ok := v.Object(func(name string, v strictjson.Value) {
		n++
		if size := utf8.RuneCountInString(name); size == 0 || size > maxMetadataName {
			longName = true
		}
		r.path = append(r.path, clip(name))
		text, isText := r.text(v)
		if isText && utf8.RuneCountInString(text) > maxMetadataText {
			r.wrong(fmt.Sprintf("must have at most %d characters", maxMetadataText))
		}
		r.path = r.path[:len(r.path)-1]
		if n <= maxMetadata {
			texts[name] = text
		}
	})
	faults := r.faults
	r.faults = before
	if !ok {
		r.wrongKind(v, "object")
		return nil
	}
	if n > maxMetadata {
		r.wrong(fmt.Sprintf("must have at most %d members", maxMetadata))
	}
	if longName {
		r.wrong(fmt.Sprintf("must have names of 1 to %d characters", maxMetadataName))
	}
	r.note(faults...)
	return texts
}
