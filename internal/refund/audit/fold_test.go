package audit

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// journalOf returns a stored journal: linked, numbered, in order.
func journalOf(rid refund.RID, entries ...refund.Entry) []StoredEntry {
	var out []StoredEntry
	var head [32]byte
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, e := range entries {
		s := StoredEntry{Entry: e, Seq: i + 1, Pos: int64(10 * i), At: at.Add(time.Duration(i) * time.Second), Digest: e.Digest()}
		head = refund.JournalHash(head, rid, int32(s.Seq), s.At, s.Digest) // #nosec G115 -- small
		s.Hash = head
		out = append(out, s)
	}
	return out
}

func findings(rid refund.RID, r refund.Refund, rows []StoredEntry) map[string]bool {
	out := map[string]bool{}
	f := NewAuditor(func(f Finding) { out[f.Promise+" "+f.Check] = true }).Fold(rid)
	for _, e := range rows {
		f.Add(e)
	}
	f.Close(r, "demo")
	return out
}

func TestFoldReadsWhatWasWritten(t *testing.T) {
	t.Parallel()
	rid := refund.RID{15: 9}
	born := refund.Entry{Kind: "requested", To: refund.StatePending, Source: "rest", Actor: "actor:a",
		Data: `{"amount":100,"currency":"USD","orderId":"o","paymentId":"p","refundId":"rf","tenant":"demo"}`}
	claim := refund.Entry{Kind: "claim_send", From: refund.StatePending, To: refund.StateProcessing, Generation: 1, Source: "worker",
		Actor: "system:worker", Data: "{}"}
	done := refund.Entry{Kind: "succeeded", From: refund.StateProcessing, To: refund.StateSuccess, Generation: 1, Source: "answer",
		Actor: "system:worker", Data: "{}"}
	rows := journalOf(rid, born, claim, done)
	r := refund.Refund{Params: refund.Params{RefundID: "rf", OrderID: "o", PaymentID: "p", Amount: 100, Currency: "USD"}, State: refund.StateSuccess,
		Generation: 1, JournalSeq: 3, JournalHead: rows[2].Hash,
		Digest: refund.RefundDigest("o", "p", 100, "USD")}
	if got := findings(rid, r, rows); len(got) != 0 {
		t.Fatalf("a valid journal: %v", got)
	}
	for want, change := range map[string]func(*refund.Refund, []StoredEntry) []StoredEntry{
		"P7 journal-gap":    func(_ *refund.Refund, e []StoredEntry) []StoredEntry { return append(e[:1], e[2]) },
		"P7 journal-digest": func(_ *refund.Refund, e []StoredEntry) []StoredEntry { e[1].Actor = "actor:b"; return e },
		"P7 journal-chain": func(_ *refund.Refund, e []StoredEntry) []StoredEntry {
			e[1].At = e[1].At.Add(time.Microsecond)
			return e
		},
		"P7 journal-position": func(_ *refund.Refund, e []StoredEntry) []StoredEntry { e[0].Pos = 11; return e },
		"P7 journal-transition": func(_ *refund.Refund, _ []StoredEntry) []StoredEntry {
			return journalOf(rid, born, refund.Entry{Kind: "x", From: refund.StatePending, To: refund.StateReversed, Data: "{}"})
		},
		"P7 journal-generation": func(_ *refund.Refund, _ []StoredEntry) []StoredEntry {
			c := claim
			c.Generation = 2
			return journalOf(rid, born, c, done)
		},
		"P7 journal-birth": func(_ *refund.Refund, _ []StoredEntry) []StoredEntry {
			b := born
			b.Data = `{"refundId":"rf","tenant":"other"}`
			return journalOf(rid, b)
		},
		"P7 state-fold":        func(r *refund.Refund, e []StoredEntry) []StoredEntry { r.State = refund.StateFailed; return e },
		"P7 generation-fold":   func(r *refund.Refund, e []StoredEntry) []StoredEntry { r.Generation = 2; return e },
		"P7 journal-head-hash": func(r *refund.Refund, e []StoredEntry) []StoredEntry { r.JournalHead[0]++; return e },
		"P7 journal-head-seq":  func(_ *refund.Refund, e []StoredEntry) []StoredEntry { return e[:2] },
		"P6 refund-digest":     func(r *refund.Refund, e []StoredEntry) []StoredEntry { r.Amount = 101; return e },
	} {
		changed := r
		if got := findings(rid, changed, nil); len(got) == 0 {
			t.Error("no journal at all")
		}
		rows := change(&changed, journalOf(rid, born, claim, done))
		if got := findings(rid, changed, rows); !got[want] {
			t.Errorf("%s was not found: %v", want, got)
		}
	}
}
