package refund

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
)

// Domain words keep preimages of different meaning apart. They are part of the
// bytes (docs/bytes.md) and never change.
const (
	domainRefund  = "refundry/d1/refund"
	domainCapture = "refundry/d1/capture"
	domainReport  = "refundry/d1/report"
	domainNumber  = "refundry/n1"
	domainJournal = "refundry/j1"
	domainFact    = "refundry/f1"
)

const (
	digestVersion1 = 0x01
	digestPrefix1  = "d1:"
)

// ErrDigest reports a text or byte string that is not a digest of a known version.
var ErrDigest = errors.New("refund: not a digest of a known version")

// LP appends every field to dst as its length in bytes (uint32, big-endian)
// followed by its bytes, and returns the longer slice. Because each length
// comes first, different lists of fields never give the same bytes: "ab","c"
// and "a","bc" differ, and so do a list and the same list with "" added.
func LP(dst []byte, fields ...string) []byte {
	for _, f := range fields {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(f)))
		dst = append(dst, f...)
	}
	return dst
}

func sumLP(fields ...string) [32]byte {
	size := 0
	for _, f := range fields {
		size += 4 + len(f)
	}
	return sha256.Sum256(LP(make([]byte, 0, size), fields...))
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Digest is what makes two requests "the same": a version byte followed by 32
// bytes of SHA-256 over the business parameters. It is always computed here
// from validated values and never taken from outside. The zero value is no
// digest.
type Digest [33]byte

// String returns "d1:" and 64 lower-case hex digits; "" for the zero value.
func (d Digest) String() string {
	if d[0] != digestVersion1 {
		return ""
	}
	return digestPrefix1 + hex.EncodeToString(d[1:])
}

// Bytes returns a copy in the stored form: version byte, then the hash.
func (d Digest) Bytes() []byte { return append([]byte(nil), d[:]...) }

// IsZero reports whether no digest has been computed.
func (d Digest) IsZero() bool { return d == Digest{} }

// ParseDigest reads the form that String writes, and only that. Errors:
// ErrDigest.
func ParseDigest(s string) (Digest, error) {
	if len(s) != len(digestPrefix1)+64 || s[:len(digestPrefix1)] != digestPrefix1 {
		return Digest{}, ErrDigest
	}
	text := s[len(digestPrefix1):]
	if !isLowerHex(text) {
		return Digest{}, ErrDigest
	}
	d := Digest{digestVersion1}
	if _, err := hex.Decode(d[1:], []byte(text)); err != nil {
		return Digest{}, ErrDigest
	}
	return d, nil
}

// DigestFromBytes reads the stored form: 33 bytes, the first a known version.
// Errors: ErrDigest.
func DigestFromBytes(b []byte) (Digest, error) {
	if len(b) != len(Digest{}) || b[0] != digestVersion1 {
		return Digest{}, ErrDigest
	}
	return Digest(b), nil
}

func digest1(fields ...string) Digest {
	h := sumLP(fields...)
	d := Digest{digestVersion1}
	copy(d[1:], h[:])
	return d
}

// RefundDigest identifies the parameters of a refund request. The amount is in
// minor units. Reason, metadata, key order, times and traces are not in it.
func RefundDigest(orderID, paymentID string, amount int64, currency Currency) Digest {
	return digest1(domainRefund, orderID, paymentID, decimal(amount), string(currency))
}

// CaptureDigest identifies the parameters of one captured amount of a payment.
func CaptureDigest(paymentID, captureID string, amount int64, currency Currency) Digest {
	return digest1(domainCapture, paymentID, captureID, decimal(amount), string(currency))
}

// ReportDigest identifies a fact that an event reports about a channel refund.
// numberOrID is our dispatch number if the event carries one, else the
// channel's refund id.
func ReportDigest(account, numberOrID, outcome string, amount int64, currency Currency) Digest {
	return digest1(domainReport, account, numberOrID, outcome, decimal(amount), string(currency))
}

// AdvisoryKey gives the 64-bit key of PostgreSQL's advisory locks that serialises work on one identity: the first 8 bytes of
// the hash, big-endian. kind separates locks of different meaning, cell (the schema) separates cells of one database. A
// collision only makes two unrelated requests wait for each other.
func AdvisoryKey(cell, kind string, tenant TenantID, id string) int64 {
	h := sumLP(cell, kind, decimal(int64(tenant)), id)
	return int64(binary.BigEndian.Uint64(h[:8]))
}
