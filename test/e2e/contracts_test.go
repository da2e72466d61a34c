package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/devdb/dbtest"
	"github.com/refundry/refundry/test/e2e/harness"
)

// contractCase is a case on a channel with a contract of its own.
type contractCase struct {
	oneCase
	profile string
}

// TestContracts checks what can follow an ambiguous send, which depends on the promises of the channel.
func TestContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []contractCase{
		// C23.
		{profile: "key-replay-only", oneCase: oneCase{name: "a replay's clean answers do not undo the timeout before them", run: replayAnsweredCleanly,
			rules: []harness.Rule{
				{Fault: "lost-after", RefundID: "c23", Op: "send", Nth: 1},
				{Fault: "rate-limited", RefundID: "c23", Op: "send", Nth: 2},
				{Fault: "low-balance", RefundID: "c23", Op: "send", Nth: 3},
			}}},
		// C24.
		{profile: "key-replay-only", oneCase: oneCase{name: "a replay that meets our own effect is no refusal", run: replayMeetsOurEffect, rules: []harness.Rule{
			{Fault: "lost-after", RefundID: "c24", Op: "send", Nth: 1},
			{Fault: "echo", RefundID: "c24", Op: "send", Nth: 2},
			{Fault: "echo", RefundID: "c24", Op: "send", Nth: 3, Code: "amount_too_large"},
		}}},
		// The channel hides the refund for longer than it promises, so that a second send meets our own effect.
		{profile: "keyed-queryable", oneCase: oneCase{name: "a send after a wrong absence that meets our own effect is no refusal",
			run: sendAfterAWrongAbsence, rules: []harness.Rule{
				{Fault: "lost-after", RefundID: "c24", Op: "send", Nth: 1},
				{Fault: "echo", RefundID: "c24", Op: "send", Nth: 2},
				{Fault: "hidden", Op: "query"},
			}}},
		// C34.
		{profile: "list-and-match", oneCase: oneCase{name: "an incomplete list hides a refund and proves nothing", run: incompleteListHides, rules: []harness.Rule{
			{Fault: "lost-after", RefundID: "c34", Op: "send", Nth: 1},
			{Fault: "hidden", Op: "list", Nth: 1},
			{Fault: "incomplete-list", Nth: 2},
			{Fault: "incomplete-list", Nth: 3},
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(bounded(t, 2*time.Minute), t, contractSite(t, c))
		})
	}
}

// contractSite is a server whose one account has the contract of the case; the simulator serves all of them as demo.
func contractSite(t *testing.T, c contractCase) site {
	t.Helper()
	url := dbtest.New(t)
	harness.MustVerb(t, "migrate", "--database-url", url)
	harness.AddTenant(t, url, "shop")
	channel := harness.StartSimulator(t)
	channel.Sim().SetRules(bounded(t, time.Minute), c.rules...)
	server := harness.Serve(t, url, harness.Account(channel, "demo", c.profile, "shop"), "api,worker")
	t.Cleanup(func() {
		if !t.Failed() {
			harness.Verify(t, url)
		}
	})
	return site{api: server.Client(harness.AddKey(t, url, "shop", "checkout", caller)), sim: channel.Sim()}
}

func replayAnsweredCleanly(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c23", 100, 100))
	s.api.Until(ctx, "c23", time.Minute, "was sent twice", func(harness.Refund) bool { return s.api.Timeline(ctx, "c23").Calls("SEND") >= 2 })
	s.payment(ctx, t, "pay-c23", 100, 0)
	tl := s.paidOnce(ctx, t, "c23", 4, time.Minute)
	if got, want := tl.Answers("SEND"), []string{"UNKNOWN", "RETRYABLE", "RETRYABLE", "SUCCEEDED"}; !slices.Equal(got, want) {
		t.Errorf("the sends proved %v, want %v", got, want)
	}
	never(t, tl, "FAILED", "PENDING")
	s.payment(ctx, t, "pay-c23", 0, 100)
}

func replayMeetsOurEffect(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c24", 100, 100))
	tl := s.paidOnce(ctx, t, "c24", 4, time.Minute)
	if got, want := tl.Answers("SEND"), []string{"UNKNOWN", "REFUSED_ECHO", "REFUSED_ECHO", "SUCCEEDED"}; !slices.Equal(got, want) {
		t.Errorf("the sends proved %v, want %v", got, want)
	}
	never(t, tl, "FAILED", "PENDING")
	s.payment(ctx, t, "pay-c24", 0, 100)
}

func sendAfterAWrongAbsence(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c24", 100, 100))
	harness.Eventually(t, time.Minute, "the second send was answered", func() (bool, string) {
		sends := s.api.Timeline(ctx, "c24").Answers("SEND")
		return len(sends) > 1 && sends[1] != "", fmt.Sprint(sends)
	})
	s.sim.Clear(ctx) // from now on the channel shows the refund
	tl := s.paidOnce(ctx, t, "c24", 2, time.Minute)
	if got, want := tl.Answers("SEND"), []string{"UNKNOWN", "REFUSED_ECHO"}; !slices.Equal(got, want) {
		t.Errorf("the sends proved %v, want %v", got, want)
	}
	never(t, tl, "FAILED")
	s.payment(ctx, t, "pay-c24", 0, 100)
}

func incompleteListHides(ctx context.Context, t *testing.T, s site) {
	s.api.Accept(ctx, request("c34", 100, 100))
	tl := s.paidOnce(ctx, t, "c34", 1, time.Minute)
	// The first list is from before the visibility; two lack the refund and are marked as incomplete.
	if got, want := tl.Answers("LIST"), []string{"NOT_FOUND", "UNKNOWN", "UNKNOWN", "SUCCEEDED"}; !slices.Equal(got, want) {
		t.Errorf("the lists proved %v, want %v", got, want)
	}
	never(t, tl, "FAILED", "PENDING")
	if got := s.sim.EffectsOf(ctx, "c34"); len(got) != 1 || got[0].Requests != 1 {
		t.Errorf("the channel has %+v, want one effect after one send", got)
	}
}
