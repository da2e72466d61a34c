package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

// The values were computed outside of Go, as docs/bytes.md describes.
func TestAnchorBytes(t *testing.T) {
	t.Parallel()
	const installation = "018f6f4e-7c00-7000-8000-000000000001"
	rid, err := refund.ParseRID("018f6f4e-7c00-7abc-8def-0123456789ab")
	if err != nil {
		t.Fatal(err)
	}
	row := AnchorRow{Pos: 42, Key: refund.RefundRef{Tenant: 1, RID: rid}, Seq: 1}
	if _, err := hex.Decode(row.Hash[:], []byte("1b55087b6f6cae800261265e74e236e1c0358acf2909a6b101443e89052c5781")); err != nil {
		t.Fatal(err)
	}
	a := NewAnchorHash([32]byte{})
	a.Add(row)
	sum := a.Sum(42)
	if got := hex.EncodeToString(sum[:]); got != "848e93101fb1a0039cbd43bfc2f780509740b8a43b7ecda579deaaa26bd8ff82" || a.Rows() != 1 {
		t.Errorf("anchor %s of %d rows", got, a.Rows())
	}
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	const signature = "eb37094f4116175a607061f0ee7f0ae148cfcfe7b72b051575bb5fff1c083b9531af6fea8ab5182aa6b7b5c50c2b488a23960510dbe0fdf439f8d4c2aa0f5a09"
	if got := hex.EncodeToString(ed25519.Sign(key, AnchorStatement(installation, 42, 1, sum))); got != signature {
		t.Errorf("signature %s", got)
	}
	epoch := sha256.Sum256(AnchorEpochStatement(installation, 2, 42))
	if got := hex.EncodeToString(epoch[:]); got != "fe1c6a7219dc9189e2f2894d0f8745cdbdc3601d9c9f3ccda8e94de9dbd2b14c" {
		t.Errorf("epoch statement %s", got)
	}
}
