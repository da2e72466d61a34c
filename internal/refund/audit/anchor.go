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

// AnchorRow is what an anchor covers of one journal row. Its hash stands for everything else that the row says.
type AnchorRow struct {
	Pos  int64
	Key  refund.RefundRef
	Seq  int
	Hash [32]byte
}

// AnchorHash sums up a range of the journal, in order of position, and the anchor before it (docs/bytes.md).
type AnchorHash struct {
	h    hash.Hash
	rows int64
}

// NewAnchorHash begins a range. prev is the hash of the anchor before, zeros for the first one.
func NewAnchorHash(prev [32]byte) *AnchorHash {
	a := &AnchorHash{h: sha256.New()}
	a.h.Write(refund.LP(nil, domainAnchor))
	a.h.Write(prev[:])
	return a
}

// Add takes the next row.
func (a *AnchorHash) Add(r AnchorRow) {
	b := make([]byte, 0, 8+8+16+4+32)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Pos))        // #nosec G115 -- the same 64 bits
	b = binary.BigEndian.AppendUint64(b, uint64(r.Key.Tenant)) // #nosec G115
	b = append(b, r.Key.RID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Seq)) // #nosec G115 -- the column is an int4
	a.h.Write(append(b, r.Hash[:]...))
	a.rows++
}

// Rows is how many rows were added.
func (a *AnchorHash) Rows() int64 { return a.rows }

// Sum ends the range at a position that no row of it lies behind.
func (a *AnchorHash) Sum(uptoPos int64) (sum [32]byte) {
	b := binary.BigEndian.AppendUint64(nil, uint64(uptoPos))    // #nosec G115 -- the same 64 bits
	a.h.Write(binary.BigEndian.AppendUint64(b, uint64(a.rows))) // #nosec G115
	copy(sum[:], a.h.Sum(nil))
	return sum
}

// AnchorStatement is what a leader signs: this installation's journal up to this position is this.
func AnchorStatement(installation string, uptoPos, rows int64, hash [32]byte) []byte {
	return refund.LP(nil, domainAnchorSign, installation, strconv.FormatInt(uptoPos, 10), strconv.FormatInt(rows, 10), hex.EncodeToString(hash[:]))
}

// AnchorEpochStatement is what is signed when an epoch begins: of the anchors so far, those up to this position still hold.
func AnchorEpochStatement(installation string, epoch int, keptUpTo int64) []byte {
	return refund.LP(nil, domainAnchorEpoch, installation, strconv.Itoa(epoch), strconv.FormatInt(keptUpTo, 10))
}
