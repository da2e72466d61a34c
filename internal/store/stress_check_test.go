package store

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refundry/refundry/internal/refund"
	"github.com/refundry/refundry/internal/refund/intake"
	"github.com/refundry/refundry/internal/store/pg"
)

// storedReceipt is the durable decision about an event.
type storedReceipt struct {
	outcome, code string
	rid           refund.RID
	digest        string
}

// judge compares every answer with the stored rows. Identities are bound for ever, so they must agree.
func (w *stressStore) judge(t *testing.T) {
	t.Helper()
	receipts, refunds := w.storedReceipts(t), w.storedRefunds(t)
	accepted := map[intake.RefundKey]int{}
	verdicts, poisoned := map[string]int{}, 0
	for _, a := range w.told {
		if a.err != nil {
			poisoned++
			if !a.poison || !errors.Is(a.err, refund.ErrBadData) {
				t.Errorf("poison=%v got %v: poison and nothing else is bad data", a.poison, a.err)
			}
			continue
		}
		if a.poison && a.out.Verdict != intake.Refused && a.out.Verdict != intake.Waiting { // said before the database had to take it
			t.Errorf("poison was %s", a.out.Verdict)
		}
		verdicts[verdictText(a.out)]++
		ref := intake.RefundKey{Tenant: a.in.Tenant.ID, RefundID: a.in.Refund.RefundID}
		if a.out.Verdict == intake.Taken {
			accepted[ref]++
		}
		if why := wrongAnswer(a, receipts, refunds[ref], w.known.Load()); why != "" {
			t.Errorf("%s %s of %s (event %+v): %s", a.out.Verdict, a.out.Code, a.in.Refund.RefundID, a.in.Event, why)
		}
	}
	for ref := range refunds {
		if accepted[ref] != 1 {
			t.Errorf("%v was accepted %d times", ref, accepted[ref])
		}
	}
	t.Logf("%d answers: %v; %d poisoned; %d refunds", len(w.told), verdicts, poisoned, len(refunds))
	if poisoned == 0 {
		t.Error("no poison at all")
	}
	for _, must := range []string{"TAKEN", "REPLAYED", "CONFLICT idempotency-key-reused", "CONFLICT refund-parameters-conflict",
		"REFUSED amount-exceeds-refundable", "WAITING payment-unknown"} {
		if verdicts[must] == 0 {
			t.Errorf("no %s at all: the test does not reach it", must)
		}
	}
}

// wrongAnswer describes how an answer differs from the rows; "" = they agree.
func wrongAnswer(a stressAnswer, receipts map[intake.EventRef]storedReceipt, stored refund.Refund, late bool) string {
	bound, isBound := receipts[intake.EventRef{Tenant: a.in.Tenant.ID, EventID: a.in.Event}]
	same := isBound && bound.digest == a.in.Digest().String()
	switch a.out.Verdict {
	case intake.Taken, intake.Replayed:
		switch {
		case a.out.Refund == nil || stored.RID != a.out.Refund.RID || stored.Params != a.in.Refund.Params || a.out.Refund.Params != a.in.Refund.Params:
			return "it is not the refund that was asked for"
		case !same || bound.rid != stored.RID:
			return "its event is bound to something else"
		case a.out.Verdict == intake.Taken && (bound.outcome != "TAKEN" || a.in.RID != stored.RID):
			return "it was not accepted for this caller"
		}
	case intake.Conflict:
		if a.out.Code == refund.CodeKeyReused && (!isBound || same && bound.rid == stored.RID && stored.Params == a.in.Refund.Params) {
			return "its event is bound to the very same thing"
		}
		if a.out.Code == refund.CodeRefundConflict && (stored.RID.IsZero() || stored.Params == a.in.Refund.Params || !same || bound.outcome != "CONFLICT") {
			return "the stored refund has the same parameters"
		}
	case intake.Refused:
		if !same || bound.outcome != "REFUSED" || bound.code != string(a.out.Code) {
			return "its refusal is not bound"
		}
	case intake.Waiting:
		if a.in.Refund.PaymentID != "pay_late" || !late {
			return "its payment was known"
		}
	case intake.Busy:
		return "nobody held its rows for that long"
	}
	return ""
}

func (w *stressStore) storedReceipts(t *testing.T) map[intake.EventRef]storedReceipt {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), `SELECT tenant_id, consumer, source, event_id, outcome, coalesce(code, ''), coalesce(rid, '00000000-0000-0000-0000-000000000000'), digest FROM receipts`)
	if err != nil {
		t.Fatal(err)
	}
	out := map[intake.EventRef]storedReceipt{}
	var (
		e      intake.EventRef
		tenant int64
		r      storedReceipt
		rid    [16]byte
		digest []byte
	)
	if _, err := pgx.ForEachRow(rows, []any{&tenant, &e.Consumer, &e.Source, &e.ID, &r.outcome, &r.code, &rid, &digest}, func() error {
		d, err := refund.DigestFromBytes(digest)
		e.Tenant, r.rid, r.digest = refund.TenantID(tenant), rid, d.String()
		out[e] = r
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func (w *stressStore) storedRefunds(t *testing.T) map[intake.RefundKey]refund.Refund {
	t.Helper()
	rows, err := w.pool.Query(t.Context(), `SELECT `+pg.RefundColumns+` FROM refunds r`+pg.RefundSides)
	if err != nil {
		t.Fatal(err)
	}
	v := intake.View{Refunds: map[intake.RefundKey]refund.Refund{}}
	if err := readRefunds(rows, v); err != nil {
		t.Fatal(err)
	}
	return v.Refunds
}
