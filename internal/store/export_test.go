package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/store/verify"
)

func (f *testWorkflow) export(t *testing.T, id string) []byte {
	t.Helper()
	v, err := verify.Open(t.Context(), verify.Config{URL: f.url})
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
	f := newVerifyFixture(t)
	f.anchorer(t).once(t)
	for _, id := range []string{"success_0", "unknown_0", "failed_0", "processing_0", "pending_0", "reversed_0", "accepted_0", "late_0", "renumbered_0",
		"decided_0", "doubled_0", "first", "second"} {
		r, err := verify.CheckEvidence(f.export(t, id), 5, nil)
		if err != nil || !r.OK || r.Rows == 0 {
			t.Errorf("%s: %v %+v", id, err, r)
		}
	}
	var e verify.Evidence
	if err := json.Unmarshal(f.export(t, "reversed_0"), &e); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"refunds": 1, "payments": 1, "journal": 4, "dispatches": 1, "attempts": 1, "effects": 1, "postings": 2,
		"receipts": 1, "contracts": 1, "cases": 0} {
		if got := len(e.Tables[table]); got != want {
			t.Errorf("%d rows of %s, want %d", got, table, want)
		}
	}
	if len(e.Tables["journal_anchors"]) == 0 || len(e.Tables) != len(verify.EvidenceTables()) {
		t.Errorf("%d tables, anchors %d", len(e.Tables), len(e.Tables["journal_anchors"]))
	}
	v, err := verify.Open(t.Context(), verify.Config{URL: f.url})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if _, err := v.Export(t.Context(), "demo", "nobody"); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("a refund that does not exist: %v", err)
	}
}

// A document that was changed after the export breaks the promise that covers the change.
func TestExportedEvidenceShowsChanges(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	raw := string(f.export(t, "reversed_0"))
	for _, c := range []struct{ promise, check, from, to string }{
		{"P7", "journal-digest", `"actor":"actor:test"`, `"actor":"actor:mallory"`},
		{"P7", "state-fold", `"state":"REVERSED"`, `"state":"SUCCESS"`},
		{"P6", "refund-digest", `"order_id":"ord_1","account":"demo","channel_reference":"demo:pay_reversed_0","currency":"USD","exponent":2,"amount":100,`,
			`"order_id":"ord_1","account":"demo","channel_reference":"demo:pay_reversed_0","currency":"USD","exponent":2,"amount":900,`},
		{"P9", "posting-missing", `"kind":"REVERSAL"`, `"kind":"REFUND"`},
		{"P10", "send-without-claim", `"kind":"SEND","generation":1`, `"kind":"SEND","generation":7`},
		{"P1", "dispatch-number", `"number":"R1`, `"number":"R2`},
	} {
		changed := strings.Replace(raw, c.from, c.to, 1)
		if changed == raw {
			t.Errorf("%s: nothing to change:\n%s", c.check, raw)
			continue
		}
		r, err := verify.CheckEvidence([]byte(changed), 20, nil)
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
	for _, bad := range []string{raw + raw, raw + "x", strings.Replace(raw, `"actors":`, `"players":`, 1), ``, `{}`, `[]`, `{"format":"refundry/evidence/3"}`,
		`{"format":"refundry/evidence/1","tables":{}}`, `{"format":"refundry/evidence/2","tables":{}}`, strings.Replace(raw, `"refundId":"reversed_0"`,
			`"refundId":"other"`, 1)} {
		if _, err := verify.CheckEvidence([]byte(bad), 1, nil); !errors.Is(err, verify.ErrEvidence) || strings.Contains(err.Error(), "%!") {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
}

// The document itself shows missing decisions, answers and owners.
func TestExportedEvidenceShowsWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	f := newVerifyFixture(t)
	for _, c := range []struct {
		id, promise, check string
		change             func(e *verify.Evidence)
	}{
		{"decided_0", "P8", "decision-missing", without("decisions")},
		{"decided_0", "P8", "decision-missing", without("decisions", "cases")},
		{"decided_0", "P8", "case-missing", without("cases")},
		{"decided_0", "P8", "decision-differs", without("actors")},
		{"decided_0", "P8", "decision-differs", changed("actors", `"ann"`, `"cid"`)},
		{"decided_0", "P8", "decision-differs", changed("decisions", `"accept-as-is"`, `"resend"`)},
		{"decided_0", "P8", "decision-unproven", changed("decisions", `"APPROVED"`, `"REJECTED"`)},
		{"decided_0", "P8", "decision-untold", changed("decisions", `"decision_id":"`, `"decision_id":"00000000-0000-7000-8000-00000000dead","was":"`)},
		{"late_0", "P8", "case-missing", without("cases")},
		{"late_0", "P4", "case-of-refund", without("cases")},
		{"failed_0", "P8", "answer-differs", changed("attempts", `"REFUSED"`, `"NOT_SENT"`)},
		{"unknown_0", "P8", "answer-differs", changed("attempts", `"answer":"UNKNOWN"`, `"answer":null`)},
		{"unknown_0", "P10", "attempt-missing", without("attempts")},
		{"success_0", "P8", "success-unbooked", without("effects", "postings")},
		{"success_0", "P5", "refund-without-receipt", without("receipts")},
		{"doubled_0", "P1", "effects-per-refund", changed("effects", `"at":"20`, `"at":"21`)},
		{"success_0", "P12", "row-elsewhere", changed("postings", `"tenant_id":`, `"tenant_id":9`)},
		{"success_0", "P12", "row-elsewhere", changed("receipts", `"rid":"`, `"rid":"00000000-0000-7000-8000-00000000dead","was":"`)},
		{"reversed_0", "P9", "posting-accounts", func(e *verify.Evidence) {
			changed("postings", `"debit"`, `"kredit"`)(e)
			changed("postings", `"credit"`, `"debit"`)(e)
			changed("postings", `"kredit"`, `"credit"`)(e)
		}},
		{"failed_0", "", "", func(e *verify.Evidence) { // too old to have a receipt
			without("receipts")(e)
			e.ExportedAt = e.ExportedAt.AddDate(0, 0, 400)
		}},
	} {
		var e verify.Evidence
		if err := json.Unmarshal(f.export(t, c.id), &e); err != nil {
			t.Fatal(err)
		}
		c.change(&e)
		r, err := verify.CheckEvidence(rawOf(t, e), 20, nil)
		found := c.promise == ""
		for _, p := range r.Promises {
			for _, s := range p.Samples {
				found = found || (p.ID == c.promise && s.Check == c.check)
			}
		}
		if err != nil || r.OK != (c.promise == "") || !found {
			t.Errorf("%s of %s was not found: %v %+v", c.check, c.id, err, r)
		}
	}
}

func rawOf(t *testing.T, e any) []byte {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// without empties tables of a document.
func without(tables ...string) func(*verify.Evidence) {
	return func(e *verify.Evidence) {
		for _, name := range tables {
			e.Tables[name] = []json.RawMessage{}
		}
	}
}

// changed replaces a text once in every row of a table.
func changed(table, from, to string) func(*verify.Evidence) {
	return func(e *verify.Evidence) {
		for i, row := range e.Tables[table] {
			e.Tables[table][i] = json.RawMessage(strings.Replace(string(row), from, to, 1))
		}
	}
}
