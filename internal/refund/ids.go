package refund

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Limits on identities that others choose. They mirror the constraints of the
// tables, so that a value that passes here is never refused by the database.
const (
	maxIDLength         = 64
	maxTenantCodeLength = 63
	maxEventIDBytes     = 1024
)

// Errors of identities. They never quote the value, which comes from outside.
var (
	ErrRID     = errors.New("refund: not a uuid in its 36-character lower-case form")
	ErrEventID = errors.New("refund: event identity not usable")
)

// TenantID names one tenant inside this installation. Ids are never reused.
// Zero means "not known" and is valid only for parked messages.
type TenantID int64

// RID is the inner key of one refund: a uuid version 7 made by the accepting
// process, so that hot tables append. The outer name is (tenant, refundId).
type RID [16]byte

// String returns the 36-character lower-case form, as PostgreSQL prints a uuid.
func (r RID) String() string {
	b, _ := r.MarshalText()
	return string(b)
}

// IsZero reports whether no id has been given.
func (r RID) IsZero() bool { return r == RID{} }

// Compare orders ids by their bytes, which for version 7 is the order of
// making and is also PostgreSQL's order of uuid. Result as in bytes.Compare.
func (r RID) Compare(o RID) int { return bytes.Compare(r[:], o[:]) }

// MarshalText implements encoding.TextMarshaler with the form of String.
func (r RID) MarshalText() ([]byte, error) {
	b := make([]byte, 36)
	at := 0
	for i, group := range [...]int{4, 2, 2, 2, 6} {
		if i > 0 {
			b[at] = '-'
			at++
		}
		from := (at - i) / 2
		hex.Encode(b[at:], r[from:from+group])
		at += 2 * group
	}
	return b, nil
}

// UnmarshalText implements encoding.TextUnmarshaler. It takes only the form
// that MarshalText writes; anything else is ErrRID and leaves r unchanged.
func (r *RID) UnmarshalText(text []byte) error {
	got, err := ParseRID(string(text))
	if err != nil {
		return err
	}
	*r = got
	return nil
}

// ParseRID reads the 36-character lower-case form and nothing else, so that one id has one spelling. Errors: ErrRID.
func ParseRID(s string) (RID, error) {
	var r RID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return RID{}, ErrRID
	}
	digits := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:36]
	if !isLowerHex(digits) {
		return RID{}, ErrRID
	}
	if _, err := hex.Decode(r[:], []byte(digits)); err != nil {
		return RID{}, ErrRID
	}
	return r, nil
}

func isLowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ValidID reports whether s may be a refundId, orderId, paymentId or
// captureId: 1 to 64 characters of A–Z a–z 0–9 . _ : ~ @ = + and -.
// The set is ASCII only, so no question of case folding or normalisation
// exists: two ids are the same id exactly when their bytes are equal.
func ValidID(s string) bool {
	if len(s) == 0 || len(s) > maxIDLength {
		return false
	}
	for i := range len(s) {
		if !idByte(s[i]) {
			return false
		}
	}
	return true
}

// IsDotSegment reports whether an id is . or .., which clients remove from paths. New refunds and payments must not have such an id.
func IsDotSegment(s string) bool { return s == "." || s == ".." }

func idByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '.', '_', ':', '~', '@', '=', '+', '-':
		return true
	}
	return false
}

// ValidTenantCode reports whether s may be the public name of a tenant: 1 to
// 63 characters of a–z, 0–9 and -, not beginning with -.
func ValidTenantCode(s string) bool {
	if len(s) == 0 || len(s) > maxTenantCodeLength || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// ValidEventID checks the two halves of an event's identity: the id is not
// empty, both are valid UTF-8 without control characters, and together they
// take at most 1024 bytes. The bound counts bytes although the table's
// constraint counts characters: both columns are part of one index key, and
// 1024 four-byte characters would not fit into an index page. Every error is
// ErrEventID with the reason.
func ValidEventID(source, id string) error {
	if id == "" {
		return fmt.Errorf("%w: id is empty", ErrEventID)
	}
	if len(source)+len(id) > maxEventIDBytes {
		return fmt.Errorf("%w: source and id together exceed %d bytes", ErrEventID, maxEventIDBytes)
	}
	if err := plainText(source); err != nil {
		return fmt.Errorf("%w: source %w", ErrEventID, err)
	}
	if err := plainText(id); err != nil {
		return fmt.Errorf("%w: id %w", ErrEventID, err)
	}
	return nil
}

func plainText(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("is not valid UTF-8")
	}
	for _, c := range s {
		if unicode.IsControl(c) {
			return errors.New("holds a control character")
		}
	}
	return nil
}
