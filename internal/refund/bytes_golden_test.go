package refund_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/access"
	"github.com/refundry/refundry/internal/refund"
)

// golden is testdata/golden.json. Its values were computed outside of Go (hashlib, hmac and json of Python's standard
// library), the journal hashes also by PostgreSQL 15 with the expression in JournalHash's comment. They are promises: if a
// value changes after a release, stored rows can no longer be verified.
type golden struct {
	LP []struct {
		Fields []string
		Hex    string
	} `json:"lp"`
	RefundDigest []struct {
		OrderID, PaymentID string
		Amount             int64
		Currency           refund.Currency
		Digest             string
	} `json:"refund_digest"`
	CaptureDigest []struct {
		PaymentID, CaptureID string
		Amount               int64
		Currency             refund.Currency
		Digest               string
	} `json:"capture_digest"`
	ReportDigest []struct {
		Account, NumberOrID, Outcome string
		Amount                       int64
		Currency                     refund.Currency
		Digest                       string
	} `json:"report_digest"`
	DispatchNumber []struct {
		Installation, Tenant, RefundID string
		Ordinal                        int
		Number                         string
	} `json:"dispatch_number"`
	FactKey []struct {
		Subject, Outcome, ChannelRefundID string
		Amount                            int64
		Currency                          refund.Currency
		Key                               string
	} `json:"fact_key"`
	JournalDigest []struct {
		Kind, From, To, Source, Actor, FactKey, Data, Digest string
		Generation                                           int
	} `json:"journal_digest"`
	JournalHash []struct {
		Prev, Rid, Digest, Hash string
		Seq                     int32
		At                      time.Time
	} `json:"journal_hash"`
	AdvisoryKey []struct {
		Cell, Kind, ID string
		Tenant         refund.TenantID
		Key            int64
	} `json:"advisory_key"`
	PersonalMAC   []struct{ Salt, Text, MAC string }               `json:"personal_mac"`
	APIKey        []struct{ Key, Mode, Prefix, SecretHash string } `json:"api_key"`
	CanonicalJSON []struct {
		Value json.RawMessage
		Text  string
	} `json:"canonical_json"`
}

func readGolden(t *testing.T) golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func goldenHash(t *testing.T, s string) (h [32]byte) {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != 32 {
		t.Fatalf("golden file: %q is not 32 bytes of hex", s)
	}
	return [32]byte(b)
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, the fixed value is %v", what, got, want)
	}
}

func TestGoldenDigests(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	for _, v := range g.LP {
		same(t, "LP", hex.EncodeToString(refund.LP(nil, v.Fields...)), v.Hex)
	}
	for _, v := range g.RefundDigest {
		same(t, "RefundDigest", refund.RefundDigest(v.OrderID, v.PaymentID, v.Amount, v.Currency).String(), v.Digest)
	}
	for _, v := range g.CaptureDigest {
		same(t, "CaptureDigest", refund.CaptureDigest(v.PaymentID, v.CaptureID, v.Amount, v.Currency).String(), v.Digest)
	}
	for _, v := range g.ReportDigest {
		same(t, "ReportDigest", refund.ReportDigest(v.Account, v.NumberOrID, v.Outcome, v.Amount, v.Currency).String(), v.Digest)
	}
	for _, v := range g.AdvisoryKey {
		same(t, "AdvisoryKey", refund.AdvisoryKey(v.Cell, v.Kind, v.Tenant, v.ID), v.Key)
	}
	if len(g.LP)*len(g.RefundDigest)*len(g.CaptureDigest)*len(g.ReportDigest)*len(g.AdvisoryKey) == 0 {
		t.Error("the golden file lacks a section, so its values are not checked")
	}
}

// The three values below are in docs/bytes.md as text. They are repeated here so that a new golden file cannot change them.
func TestGoldenValuesOfTheBytesPage(t *testing.T) {
	t.Parallel()
	same(t, "refund digest", refund.RefundDigest("ord_77", "pay_77", 1250, "USD").String(),
		"d1:9af3f84b0fe265130db4361b8a984eec03f986745cddfbb10db3890d088d2a96")
	same(t, "capture digest", refund.CaptureDigest("pay_77", "cap_1", 10000, "USD").String(),
		"d1:a008a8677a6bfd5a0915d4d66e2b28e84c4981aa99fd53304c07bafaea788d65")
	same(t, "dispatch number", refund.DispatchNumber("018f6f4e-7c00-7000-8000-000000000001", "demo", "rf_1001", 1),
		"R1WRJJ225AGH0QN3CFPVXJ8ACCK2SAKBRM")
}

func TestGoldenNumbers(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	if len(g.DispatchNumber) == 0 {
		t.Fatal("the golden file lacks dispatch numbers")
	}
	for _, v := range g.DispatchNumber {
		same(t, "DispatchNumber", refund.DispatchNumber(v.Installation, v.Tenant, v.RefundID, v.Ordinal), v.Number)
	}
}

func TestGoldenJournal(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	for _, v := range g.FactKey {
		same(t, "FactKey", refund.FactKey(v.Subject, v.Outcome, v.ChannelRefundID, v.Amount, v.Currency), goldenHash(t, v.Key))
	}
	for _, v := range g.JournalDigest {
		key, err := hex.DecodeString(v.FactKey)
		if err != nil {
			t.Fatal(err)
		}
		e := refund.Entry{Kind: v.Kind, From: refund.State(v.From), To: refund.State(v.To), Generation: v.Generation, Source: v.Source, Actor: v.Actor,
			FactKey: key, Data: v.Data}
		same(t, "Digest", e.Digest(), goldenHash(t, v.Digest))
	}
	var prev [32]byte
	for _, v := range g.JournalHash {
		rid, err := refund.ParseRID(v.Rid)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "prev", prev, goldenHash(t, v.Prev))
		prev = refund.JournalHash(prev, rid, v.Seq, v.At, goldenHash(t, v.Digest))
		same(t, "JournalHash", prev, goldenHash(t, v.Hash))
	}
	for _, v := range g.PersonalMAC {
		same(t, "PersonalMAC", refund.PersonalMAC(goldenHash(t, v.Salt), v.Text), v.MAC)
	}
	if len(g.FactKey)*len(g.JournalDigest)*len(g.JournalHash)*len(g.PersonalMAC) == 0 {
		t.Error("the golden file lacks a section")
	}
}

func TestGoldenCanonicalJSON(t *testing.T) {
	t.Parallel()
	for _, v := range readGolden(t).CanonicalJSON {
		got, err := refund.CanonicalJSON(jsonValue(t, v.Value))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "CanonicalJSON", got, v.Text)
	}
}

// jsonValue reads a JSON object with its numbers as int64.
func jsonValue(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return exactInts(t, m).(map[string]any)
}

func exactInts(t *testing.T, v any) any {
	switch x := v.(type) {
	case json.Number:
		n, err := x.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	case map[string]any:
		for k, e := range x {
			x[k] = exactInts(t, e)
		}
	case []any:
		for i, e := range x {
			x[i] = exactInts(t, e)
		}
	}
	return v
}

func TestGoldenAPIKey(t *testing.T) {
	t.Parallel()
	for _, v := range readGolden(t).APIKey {
		k, err := access.ParseAPIKey(v.Key)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Mode", k.Mode, v.Mode)
		same(t, "Prefix", k.Prefix, v.Prefix)
		same(t, "Reveal", k.Reveal(), v.Key)
		same(t, "SecretHash", k.SecretHash(), goldenHash(t, v.SecretHash))
	}
}
