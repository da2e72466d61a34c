package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

func (f *flow) export(t *testing.T, id string) []byte {
	t.Helper()
	v, err := OpenVerifier(t.Context(), VerifyConfig{URL: f.url})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	e, err := v.Export(t.Context(), f.tenant.Code, id)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Whatever became of a refund, its document passes the checks by itself.
func TestExportedEvidenceIsSound(t *testing.T) {
	t.Parallel()
	f := verifyWorld(t)
	f.anchorer(t).once(t)
	for _, id := range []string{"success_0", "unknown_0", "failed_0", "processing_0", "pending_0", "reversed_0", "accepted_0", "late_0", "renumbered_0", "first", "second"} {
		r, err := CheckEvidence(f.export(t, id), 5)
		if err != nil || !r.OK || r.Rows == 0 {
			t.Errorf("%s: %v %+v", id, err, r)
		}
	}
	var e Evidence
	if err := json.Unmarshal(f.export(t, "reversed_0"), &e); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"refunds": 1, "payments": 1, "journal": 4, "dispatches": 1, "attempts": 1, "effects": 1, "postings": 2, "receipts": 1, "contracts": 1, "cases": 0} {
		if got := len(e.Tables[table]); got != want {
			t.Errorf("%d rows of %s, want %d", got, table, want)
		}
	}
	if len(e.Tables["journal_anchors"]) == 0 || len(e.Tables) != len(evidenceTables) {
		t.Errorf("%d tables, anchors %d", len(e.Tables), len(e.Tables["journal_anchors"]))
	}
	v, err := OpenVerifier(t.Context(), VerifyConfig{URL: f.url})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Export(t.Context(), "demo", "nobody"); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("a refund that does not exist: %v", err)
	}
}

// A document that was changed on its way is told by the promise that the change breaks.
func TestExportedEvidenceShowsChanges(t *testing.T) {
	t.Parallel()
	f := verifyWorld(t)
	raw := string(f.export(t, "reversed_0"))
	for _, c := range []struct{ promise, check, from, to string }{
		{"P7", "journal-digest", `"actor":"actor:test"`, `"actor":"actor:mallory"`},
		{"P7", "state-fold", `"state":"REVERSED"`, `"state":"SUCCESS"`},
		{"P6", "refund-digest", `"order_id":"ord_1","account":"demo","channel_reference":"demo:pay_reversed_0","currency":"USD","exponent":2,"amount":100,`, `"order_id":"ord_1","account":"demo","channel_reference":"demo:pay_reversed_0","currency":"USD","exponent":2,"amount":900,`},
		{"P9", "posting-missing", `"kind":"REVERSAL"`, `"kind":"REFUND"`},
		{"P10", "send-without-claim", `"kind":"SEND","generation":1`, `"kind":"SEND","generation":7`},
		{"P1", "dispatch-number", `"number":"R1`, `"number":"R2`},
	} {
		changed := strings.Replace(raw, c.from, c.to, 1)
		if changed == raw {
			t.Errorf("%s: nothing to change:\n%s", c.check, raw)
			continue
		}
		r, err := CheckEvidence([]byte(changed), 20)
		found := false
		for _, p := range r.Promises {
			for _, s := range p.Samples {
				found = found || (p.ID == c.promise && s.Check == c.check)
			}
		}
		if err != nil || r.OK || !found {
			t.Errorf("%s was not found: %v %+v", c.check, err, r)
		}
	}
	for _, bad := range []string{``, `{}`, `[]`, `{"format":"refundry/evidence/2"}`, `{"format":"refundry/evidence/1","tables":{}}`, strings.Replace(raw, `"refundId":"reversed_0"`, `"refundId":"other"`, 1)} {
		if _, err := CheckEvidence([]byte(bad), 1); !errors.Is(err, ErrEvidence) {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
}
