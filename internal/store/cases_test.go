package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/refund"
)

func TestCasesAreListedAndShown(t *testing.T) {
	t.Parallel()
	c := newDecisions(t, nil)
	keys := c.refunds(t, "rf", 5)
	for _, k := range keys {
		c.stuck(t, k)
	}
	var seen []string
	q := refund.CaseFilter{Limit: 2}
	for {
		rows, err := c.reader().ListCases(t.Context(), c.tenant.ID, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			break
		}
		for _, row := range rows {
			seen = append(seen, row.RefundID)
		}
		q.After = rows[len(rows)-1].CaseRef
	}
	if got := strings.Join(seen, " "); got != "rf_0 rf_1 rf_2 rf_3 rf_4" {
		t.Errorf("open cases %q, want the oldest first and each once", got)
	}
	d := c.propose(t, keys[0], refund.ActionConfirmNotDone)
	v, err := c.reader().FindCase(t.Context(), c.tenant.ID, d.CaseID)
	if err != nil || !v.Proposed || v.State != refund.StateUnknown || len(v.Choices) != 6 || !v.Choices[0].Allowed ||
		v.Choices[2].Why != refund.ObstacleCannotAsk || len(v.Evidence) == 0 {
		t.Errorf("%+v %v", v, err)
	}
	if got, ok := v.Proposal(); !ok || got.ID != d.ID || got.Maker != "ann" {
		t.Errorf("proposal %+v", got)
	}
	if _, err := c.judge(t, d, true, "bob"); err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]struct {
		q    refund.CaseFilter
		want int
	}{
		"open":            {refund.CaseFilter{}, 4},
		"closed":          {refund.CaseFilter{Closed: true}, 1},
		"by refund":       {refund.CaseFilter{RefundID: "rf_3"}, 1},
		"by payment":      {refund.CaseFilter{PaymentID: "pay_rf_3"}, 1},
		"by reason":       {refund.CaseFilter{Reason: refund.CaseNoStep}, 4},
		"by other reason": {refund.CaseFilter{Reason: refund.CaseExcess}, 0},
	} {
		w.q.Limit = 10
		if rows, err := c.reader().ListCases(t.Context(), c.tenant.ID, w.q); err != nil || len(rows) != w.want {
			t.Errorf("%s: %d rows %v, want %d", name, len(rows), err, w.want)
		}
	}
	v, err = c.reader().FindCase(t.Context(), c.tenant.ID, d.CaseID)
	if err != nil || v.ClosedHow != "decision:confirm-not-done" || v.Choices[0].Why != refund.ObstacleNoCase {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := c.reader().FindCase(t.Context(), c.tenant.ID+1, d.CaseID); !errors.Is(err, refund.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
}
