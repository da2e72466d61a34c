package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"github.com/refundry/refundry/internal/refund"
)

const (
	domainAnchor      = "refundry/a1"
	domainAnchorSign  = "refundry/a1/signature"
	domainAnchorEpoch = "refundry/a1/epoch"
)

// AnchorRow is the part of a journal row that an anchor covers. Its hash covers the other columns.
type AnchorRow struct {
	Pos  int64
	Key  refund.RefundRef
	Seq  int
	Hash [32]byte
}

// AnchorHash hashes a range of the journal, ordered by position, together with the previous anchor (docs/bytes.md).
type AnchorHash struct {
	h    hash.Hash
	rows int64
}

// NewAnchorHash starts a range. prev is the hash of the previous anchor, zeros for the first one.
func NewAnchorHash(prev [32]byte) *AnchorHash {
	a := &AnchorHash{h: sha256.New()}
	a.h.Write(refund.LP(nil, domainAnchor))
	a.h.Write(prev[:])
	return a
}

// Add adds the next row.
func (a *AnchorHash) Add(r AnchorRow) {
	b := make([]byte, 0, 8+8+16+4+32)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Pos))        // #nosec G115 -- the same 64 bits
	b = binary.BigEndian.AppendUint64(b, uint64(r.Key.Tenant)) // #nosec G115
	b = append(b, r.Key.RID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Seq)) // #nosec G115 -- the column is an int4
	a.h.Write(append(b, r.Hash[:]...))
	a.rows++
}

// Rows returns the number of added rows.
func (a *AnchorHash) Rows() int64 { return a.rows }

// Sum ends the range at a position at or above those of all its rows.
func (a *AnchorHash) Sum(uptoPos int64) (sum [32]byte) {
	b := binary.BigEndian.AppendUint64(nil, uint64(uptoPos))    // #nosec G115 -- the same 64 bits
	a.h.Write(binary.BigEndian.AppendUint64(b, uint64(a.rows))) // #nosec G115
	copy(sum[:], a.h.Sum(nil))
	return sum
}

// AnchorStatement returns the bytes to be signed for an anchor: installation, position, number of rows, hash.
func AnchorStatement(installation string, uptoPos, rows int64, hash [32]byte) []byte {
	return refund.LP(nil, domainAnchorSign, installation, strconv.FormatInt(uptoPos, 10), strconv.FormatInt(rows, 10), hex.EncodeToString(hash[:]))
}

// AnchorEpochStatement returns the bytes to be signed when an epoch begins: the anchors up to this position still hold.
func AnchorEpochStatement(installation string, epoch int, keptUpTo int64) []byte {
	return refund.LP(nil, domainAnchorEpoch, installation, strconv.Itoa(epoch), strconv.FormatInt(keptUpTo, 10))
}
