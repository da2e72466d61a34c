package audit

import (
	"testing"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// A send after an ambiguous send needs an absence that was read between the two: after the first could leave, and answered before
// the second was claimed. An earlier or a later absence excuses nothing.
func TestNoAbsenceOutsideTwoSendsExcusesTheSecond(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	c := refund.Contract{Query: refund.QueryTerms{Exists: true, Readings: 1}} // a repeat may be executed again
	first := refund.Attempt{No: 1, DispatchNo: 1, Kind: refund.AttemptSend, StartedAt: at(0), NotAfter: at(3), AnsweredAt: at(3), Answer: refund.Unknown}
	second := refund.Attempt{No: 3, DispatchNo: 1, Kind: refund.AttemptSend, StartedAt: at(20), NotAfter: at(23)}
	for name, x := range map[string]struct {
		asked, answered int
		answer          refund.FactKind
		number          int
		found           bool
	}{
		"between the sends":                        {10, 11, refund.NotFound, 1, false},
		"as soon as the first could not leave":     {3, 4, refund.NotFound, 1, false},
		"while the first could still leave":        {2, 4, refund.NotFound, 1, true},
		"answered as the second was claimed":       {10, 20, refund.NotFound, 1, false},
		"answered after the second was claimed":    {10, 21, refund.NotFound, 1, true},
		"asked after the second":                   {30, 31, refund.NotFound, 1, true},
		"about another number":                     {10, 11, refund.NotFound, 2, true},
		"the question's answer says nothing of it": {10, 11, refund.Unknown, 1, true},
	} {
		question := refund.Attempt{No: 2, DispatchNo: x.number, Kind: refund.AttemptQuery, StartedAt: at(x.asked), AnsweredAt: at(x.answered), Answer: x.answer}
		r := refund.Record{Dispatches: []refund.Dispatch{{Ordinal: 1}}, Attempts: []refund.Attempt{first, question, second}}
		found := false
		f := NewAuditor(func(f Finding) { found = found || f.Check == "repeat-without-proof" }).Fold(refund.RID{15: 1})
		f.checkRepeats(&r, func(string, int) (refund.Contract, bool) { return c, true })
		if found != x.found {
			t.Errorf("an absence %s: found %v, want %v", name, found, x.found)
		}
	}
}
