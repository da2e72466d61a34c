package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// ambiguousCases have answers that prove less than they seem to.
func ambiguousCases() []oneCase {
	return []oneCase{
		{name: "a clean answer after a timeout does not undo the timeout", run: cleanAnswerAfterATimeout, rules: []harness.Rule{ // C23
			{Fault: "lost-after", RefundID: "c23", Nth: 1},
			{Fault: "notice-lost", RefundID: "c23"},
			{Fault: "rate-limited", RefundID: "c23", Op: "query", Nth: 1},
			{Fault: "lost-before", RefundID: "c23", Op: "query", Nth: 2},
			{Fault: "error-before", RefundID: "c23", Op: "query", Nth: 3},
		}},
		{name: "an echo with nothing behind it fails only on proven absence", run: echoWithNothingBehind, rules: []harness.Rule{ // C24
			{Fault: "echo", RefundID: "c24-empty"},
		}},
		{name: "an answer from before visibility proves nothing", run: absenceBeforeVisibility, rules: []harness.Rule{ // C34
			{Fault: "lost-after", RefundID: "c34", Op: "send", Nth: 1},
			{Fault: "notice-lost", RefundID: "c34"},
			{Fault: "hidden", RefundID: "c34", Op: "query", Nth: 1},
			{Fault: "hidden", RefundID: "c34", Op: "query", Nth: 2},
		}},
	}
}

func cleanAnswerAfterATimeout(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c23", 100, 100))
	s.api.UntilState(ctx, "c23", "UNKNOWN", 30*time.Second)
	s.payment(ctx, t, "pay-c23", 100, 0)
	tl := s.paidOnce(ctx, t, "c23", 1, time.Minute)
	if got, want := tl.Answers("QUERY"), []string{"UNKNOWN", "UNKNOWN", "UNKNOWN", "SUCCEEDED"}; !slices.Equal(got, want) {
		t.Errorf("the queries proved %v, want %v: a refused query proves nothing about the refund", got, want)
	}
	never(t, tl, "FAILED", "PENDING")
	s.payment(ctx, t, "pay-c23", 0, 100)
}

func echoWithNothingBehind(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c24-empty", 100, 100))
	s.api.UntilState(ctx, "c24-empty", "FAILED", time.Minute)
	tl := s.api.Timeline(ctx, "c24-empty")
	readings := 0
	for _, a := range tl.Attempts {
		if a.Kind == "QUERY" && a.Answer != nil && *a.Answer == "NOT_FOUND" && !a.StartedAt.Before(tl.Attempts[0].StartedAt.Add(8*time.Second)) {
			readings++
		}
	}
	if readings < 2 || tl.Calls("SEND") != 1 {
		t.Errorf("FAILED after %d absences that count and %d sends, want 2 and 1: %+v", readings, tl.Calls("SEND"), tl.Attempts)
	}
	if n := len(s.sim.EffectsOf(ctx, "c24-empty")); n != 0 {
		t.Errorf("%d effects of a FAILED refund", n)
	}
	s.payment(ctx, t, "pay-c24-empty", 0, 0)
}

func absenceBeforeVisibility(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c34", 100, 100))
	tl := s.paidOnce(ctx, t, "c34", 1, time.Minute)
	if got, want := tl.Answers("QUERY"), []string{"NOT_FOUND", "NOT_FOUND", "SUCCEEDED"}; !slices.Equal(got, want) {
		t.Errorf("the queries proved %v, want absences that do not count, then SUCCEEDED", got)
	}
	never(t, tl, "FAILED", "PENDING")
	s.payment(ctx, t, "pay-c34", 0, 100)
}
