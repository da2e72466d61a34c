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
	if _, err := hex.Decode(row.Hash[:], []byte("155d9222557a3f54a396af8045cea96e89d224236830244e07c4362af753064f")); err != nil {
		t.Fatal(err)
	}
	a := NewAnchorHash([32]byte{})
	a.Add(row)
	sum := a.Sum(42)
	if got := hex.EncodeToString(sum[:]); got != "7e4b7d6360c0260d3db3a9cd8ffcb47cd61847d6646fa7f5cf8a227fff488729" || a.Rows() != 1 {
		t.Errorf("anchor %s of %d rows", got, a.Rows())
	}
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	const signature = "9d10cc264f482b0296f17491b1be8a8bd4ed2284524452fe4eeac1aa6a01e2f83636806a71551a004d73289ec1c1b12c03027aeafc4c85172136462e94ab2b0a"
	if got := hex.EncodeToString(ed25519.Sign(key, AnchorStatement(installation, 42, 1, sum))); got != signature {
		t.Errorf("signature %s", got)
	}
	epoch := sha256.Sum256(AnchorEpochStatement(installation, 2, 42))
	if got := hex.EncodeToString(epoch[:]); got != "fe1c6a7219dc9189e2f2894d0f8745cdbdc3601d9c9f3ccda8e94de9dbd2b14c" {
		t.Errorf("epoch statement %s", got)
	}
}
