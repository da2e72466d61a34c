package verify

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// The example of docs/bytes.md, computed outside of Go.
func TestADocumentIsSignedAsBytesDocumentsIt(t *testing.T) {
	t.Parallel()
	e := Evidence{Format: EvidenceFormat, ExportedAt: time.Date(2026, 3, 1, 12, 34, 56, 789_012_000, time.UTC), Tenant: "demo", RefundID: "rf_1001",
		Installation: "018f6f4e-7c00-7000-8000-000000000001", Signature: hexBytes("of an earlier signing"),
		Tables: map[string][]json.RawMessage{"journal": {},
			"refunds": {json.RawMessage(`{"refund_id": "rf_1001", "amount": 1250, "exposed": false, "case_id": null, "reason": "zu früh <b>"}`)}}}
	signed, err := e.Sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	const want = "4219bf60e166bb1c49007d8eeb53790cdd073cd49dd19263463ce435c7d1002f3ae7ed5ad47beb117cd534ca68044892e3216a1bd7feb66d6ec87c226e75db0a"
	if got := hex.EncodeToString(signed.Signature); err != nil || got != want {
		t.Errorf("signature %s (%v), want %s", got, err, want)
	}
}

func TestADocumentWithoutAStatement(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `{`, `[1,]`, `{"a":1,"a":1}`, `{"x":{"a":1,"\u0061":2}}`, `{} {}`, `{}x`, strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)} {
		if _, err := evidenceStatement([]byte(raw)); err == nil {
			t.Errorf("%.20q has a statement", raw)
		}
	}
}
