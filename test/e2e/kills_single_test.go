package e2e

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refundry/refundry/test/e2e/harness"
)

// TestKilledWhileTheChannelActs kills the server between the effect at the channel and the storing of its answer.
func TestKilledWhileTheChannelActs(t *testing.T) {
	t.Parallel()
	ctx := bounded(t, 3*time.Minute)
	dev := harness.StartDev(t, "--faults", "notice-lost=1") // without notices the server has to query
	api, sim := dev.Client(), dev.Sim()
	s := site{dev, api, sim}
	rules := []harness.Rule{{Fault: "notice-lost"}}
	for _, id := range []string{"c2", "c10", "c13-killed"} {
		rules = append(rules, harness.Rule{Fault: "slow", RefundID: id, DelayMS: 60_000}) // acts at once and answers after the kill
	}
	sim.SetRules(ctx, rules...)
	api.Accept(ctx, partial("c2", "pay-c2", 60, 100))
	api.Accept(ctx, request("c10", 100, 100))
	api.Accept(ctx, on("demo-blind", request("c13-killed", 100, 100)))
	for _, id := range []string{"c2", "c10", "c13-killed"} {
		sim.UntilMoved(ctx, id, 30*time.Second)
	}
	dev.Kill()
	killed := time.Now()
	dev.Start()

	// In order: each part uses the state that the kill has left.
	t.Run("age alone is no failure and the amount stays reserved", func(t *testing.T) { // C2
		if p := api.Payment(ctx, "pay-c2"); p.Reserved+p.Refunded != 60 {
			t.Errorf("reserved %d and refunded %d after the kill, want 60 together", p.Reserved, p.Refunded)
		}
		if res, _ := api.Post(ctx, "c2-second", partial("c2-second", "pay-c2", 60, 100)); res.Status != http.StatusUnprocessableEntity {
			t.Errorf("a second 60 of 100: status %d, want 422: %s", res.Status, res.Body)
		}
		if res, _ := api.Post(ctx, "key-c2", partial("c2", "pay-c2", 60, 100)); res.Status != http.StatusOK || !res.Replayed() {
			t.Errorf("the repeated request: status %d, want a replay: %s", res.Status, res.Body)
		}
		never(t, s.paidOnce(ctx, t, "c2", 1, time.Minute), "FAILED", "PENDING")
		s.payment(ctx, t, "pay-c2", 0, 60)
	})
	t.Run("the next owner asks the channel", func(t *testing.T) { // C10
		tl := s.paidOnce(ctx, t, "c10", 1, time.Minute)
		if got := tl.Answers("SEND"); !slices.Equal(got, []string{""}) {
			t.Errorf("the send proved %q, want an attempt without an answer", got)
		}
		if got := tl.Answers("QUERY"); len(got) == 0 || got[len(got)-1] != "SUCCEEDED" {
			t.Errorf("the queries proved %v, the last one wants SUCCEEDED", got)
		}
		t.Logf("found %s after the kill", time.Since(killed).Round(time.Millisecond))
	})
	t.Run("where nobody can be asked a person decides", func(t *testing.T) { // C13
		r := api.Until(ctx, "c13-killed", time.Minute, "has a case", func(r harness.Refund) bool { return r.Case != nil })
		if tl := api.Timeline(ctx, "c13-killed"); r.State != "UNKNOWN" || tl.Calls("SEND") != 1 || len(sim.EffectsOf(ctx, "c13-killed")) != 1 {
			t.Errorf("%s after %d sends, want UNKNOWN after one", r, tl.Calls("SEND"))
		}
	})
	dev.DB().CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
}

// TestKilledAtRandomMoments requests a refund and kills the server a moment later, ten times, every third time together
// with its PostgreSQL.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	const kills = 10
	ctx := bounded(t, 4*time.Minute)
	dev := harness.StartDev(t, "--faults", "lost-after=0.2,notice-lost=0.5,seed=11")
	client := dev.Client()
	want := map[string]int64{}
	var wg sync.WaitGroup
	for i := range kills {
		r := request(name("rf", i), int64(100+i), 1000)
		want[r.RefundID] = r.Amount
		wg.Go(func() { client.Post(ctx, "key-"+r.RefundID, r) })
		moment := time.NewTimer(rand.N(120 * time.Millisecond)) // #nosec G404 -- any moment will do
		<-moment.C
		if i%3 == 2 {
			dev.KillAll()
		} else {
			dev.Kill()
		}
		dev.Start()
	}
	wg.Wait()
	for id := range want {
		client.UntilState(ctx, id, "SUCCESS", time.Minute)
	}
	onceEach(t, dev.Sim().Effects(ctx), want)
	dev.DB().CheckPromises(ctx)
	harness.Verify(t, dev.Info().DatabaseURL)
	t.Logf("%d kills; clients repeated %d times", kills, client.Retries.Load())
}

// TestKilledWhileStarting kills the first start several times while it creates the database, the schema and the keys. Each
// next start continues from there.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	const kills = 8
	ctx := bounded(t, 3*time.Minute)
	dev := harness.NewDev(t)
	for i := range kills {
		dev.Launch()
		// Each kill is later than the last one, so that every phase of the start is hit on slow and fast machines.
		moment := time.NewTimer(time.Duration(i)*200*time.Millisecond + rand.N(300*time.Millisecond)) // #nosec G404 -- any moment will do
		<-moment.C
		dev.Kill()
	}
	dev.Start()
	dev.Client().Accept(ctx, request("rf", 100, 100))
	dev.Client().UntilState(ctx, "rf", "SUCCESS", time.Minute)
	if n := dev.DB().Int(ctx, `SELECT count(*) FROM tenants`); n != 1 {
		t.Errorf("%d tenants, want the one of the demo", n)
	}
}
