package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// channelCases have lost answers.
func channelCases() []oneCase {
	return []oneCase{
		{name: "what timed out is found by our own number", run: foundByOurNumber, // C3
			rules: []harness.Rule{{Fault: "lost-after", RefundID: "c3", Nth: 1}, {Fault: "notice-lost", RefundID: "c3"}}},
		{name: "neither key nor query: a case at once and never a repeat", run: neitherKeyNorQuery, // C13
			rules: []harness.Rule{{Fault: "lost-after", Account: "demo-blind", RefundID: "c13"}}},
		{name: "one call is one send, also on a connection that was used before", run: oneCallIsOneSend, // C28
			rules: []harness.Rule{{Fault: "lost-after", Account: "demo-blind", RefundID: "c28"}, {Fault: "lost-before", Account: "demo-blind", RefundID: "c28-before"}}},
	}
}

func foundByOurNumber(ctx context.Context, t *testing.T, s site) {
	r := s.api.Accept(ctx, request("c3", 100, 100))
	if r.ChannelRefundID != nil {
		t.Errorf("the channel's id is %s before any send", *r.ChannelRefundID)
	}
	tl := s.paidOnce(ctx, t, "c3", 1, time.Minute)
	if got := tl.Answers("SEND"); !slices.Equal(got, []string{"UNKNOWN"}) {
		t.Errorf("the send proved %v, want UNKNOWN", got)
	}
	if got := tl.Answers("QUERY"); len(got) == 0 || got[len(got)-1] != "SUCCEEDED" {
		t.Errorf("the queries proved %v, the last one wants SUCCEEDED", got)
	}
	if r := s.api.Refund(ctx, "c3"); r.ChannelRefundID == nil {
		t.Error("the channel's id was not stored")
	}
	if d := tl.Dispatches[0]; !d.CreatedAt.Before(tl.Attempts[0].StartedAt) || d.Number != s.sim.EffectsOf(ctx, "c3")[0].Number {
		t.Errorf("number %s of %s, want that of the channel, from before the first call", d.Number, d.CreatedAt)
	}
	never(t, tl, "FAILED", "PENDING")
}

func neitherKeyNorQuery(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, on("demo-blind", request("c13", 100, 100)))
	r := s.api.Until(ctx, "c13", 30*time.Second, "has a case", func(r harness.Refund) bool { return r.Case != nil })
	if r.State != "UNKNOWN" || !slices.Contains(r.Case.Reasons, "no-automatic-step") {
		t.Errorf("%s, want UNKNOWN with a case of reason no-step", r)
	}
	s.payment(ctx, t, "pay-c13", 100, 0)
	tl := s.api.Timeline(ctx, "c13")
	if tl.Calls("SEND") != 1 || len(tl.Attempts) != 1 {
		t.Errorf("%d calls, want the one send", len(tl.Attempts))
	}
	if len(tl.Attempts[0].Evidence) == 0 {
		t.Error("the attempt has no evidence for a person to look at")
	}
}

// The account does not deduplicate: a second send would be a second effect.
func oneCallIsOneSend(ctx context.Context, t *testing.T, s site) {
	for _, id := range []string{"c28-warm-1", "c28-warm-2", "c28-warm-3"} {
		s.api.Accept(ctx, on("demo-blind", request(id, 100, 100)))
		s.paidOnce(ctx, t, id, 1, 30*time.Second)
	}
	for _, id := range []string{"c28", "c28-before"} {
		s.api.Accept(ctx, on("demo-blind", request(id, 100, 100)))
		s.api.Until(ctx, id, 30*time.Second, "has a case", func(r harness.Refund) bool { return r.Case != nil })
		if n := s.api.Timeline(ctx, id).Calls("SEND"); n != 1 {
			t.Errorf("%s: %d attempts, want 1", id, n)
		}
	}
	if got := s.sim.EffectsOf(ctx, "c28"); len(got) != 1 || got[0].Requests != 1 {
		t.Errorf("the channel has %+v, want one effect after one send", got)
	}
	if got := s.sim.EffectsOf(ctx, "c28-before"); len(got) != 0 {
		t.Errorf("the channel has %+v for a send that it dropped: it was sent again", got)
	}
}
