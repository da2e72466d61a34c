package simulator_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/refundry/refundry/internal/simulator"
)

// TestAnswerFaults checks the answer and the effects of every fault that decides an answer.
func TestAnswerFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   string
		lost    bool
		status  int
		code    string
		effects int
	}{
		{"lost-after", true, 0, "", 1},
		{"lost-before", true, 0, "", 0},
		{"error-after", false, 500, "internal_error", 1},
		{"error-before", false, 500, "internal_error", 0},
		{"slow", false, 200, "", 1},
		{"refused", false, 422, "not_refundable_window", 0},
		{"echo", false, 409, "already_refunded", 0},
		{"rate-limited", false, 429, "rate_limited", 0},
		{"low-balance", false, 402, "insufficient_balance", 0},
	} {
		for _, account := range []string{"demo", "demo-blind"} {
			t.Run(c.fault+" "+account, func(t *testing.T) {
				t.Parallel()
				b := start(t, simulator.Config{SlowDelay: time.Millisecond})
				b.faults(`{"rules":[{"fault":"` + c.fault + `","nth":1}]}`)
				a := b.send(account, "n1")
				if a.lost != c.lost || a.status != c.status || a.field("code") != c.code {
					t.Errorf("answer: %v, want lost %v status %d code %q", a, c.lost, c.status, c.code)
				}
				b.wantEffects("n1", c.effects)
				// The rule hits the first request only.
				if a := b.send(account, "n1"); a.status != 200 {
					t.Errorf("second send: %v, want 200", a)
				}
				want := 1
				if account == "demo-blind" {
					want += c.effects
				}
				b.wantEffects("n1", want)
				if hits := b.hits(); hits["*"] != 1 {
					t.Errorf("hits %v, want 1", hits)
				}
			})
		}
	}
}

// hits returns the counts of GET /faults, by fault, and their sum under "*".
func (b *fixture) hits() map[string]int {
	b.t.Helper()
	var v struct {
		Rules []struct {
			Fault string
			Hits  int
		}
	}
	if err := json.Unmarshal(b.do("GET", "/faults", nil, "").body, &v); err != nil {
		b.t.Fatal(err)
	}
	hits := map[string]int{}
	for _, r := range v.Rules {
		hits[r.Fault] += r.Hits
		hits["*"] += r.Hits
	}
	return hits
}

func TestPendingMovesMoneyLaterAndSurvivesRestart(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "pending=1", PendingDelay: time.Minute})
	if a := b.send("demo", "n1"); a.status != 200 || a.field("status") != "pending" {
		t.Fatalf("send: %v, want 200 pending", a)
	}
	b.wantEffects("n1", 0)
	b.clock.Add(59 * time.Second)
	b = b.restart(simulator.Config{})
	if q := b.query("demo", "n1"); q.field("status") != "pending" {
		t.Errorf("query before the delay is over: %v", q)
	}
	b.wantEffects("n1", 0)
	b.clock.Add(time.Second)
	if q := b.query("demo", "n1"); q.field("status") != "succeeded" {
		t.Errorf("query after the delay: %v", q)
	}
	b.wantEffects("n1", 1)
}

func TestPendingFailedNeverMovesMoney(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "pending-failed=1"})
	if a := b.send("demo", "n1"); a.field("status") != "pending" {
		t.Fatalf("send: %v, want pending", a)
	}
	b.clock.Add(time.Hour)
	if q := b.query("demo", "n1"); q.field("status") != "failed" {
		t.Errorf("query: %v, want failed", q)
	}
	b.wantEffects("n1", 0)
}

func TestLateFailureReturnsTheMoney(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "late-failure=1", LateFailureDelay: time.Hour})
	if a := b.send("demo", "n1"); a.field("status") != "succeeded" {
		t.Fatalf("send: %v, want succeeded", a)
	}
	b.clock.Add(time.Hour)
	if q := b.query("demo", "n1"); q.field("status") != "returned" {
		t.Errorf("query: %v, want returned", q)
	}
	// The money has moved: the effect remains, marked as returned.
	if e := b.effects("n1"); len(e) != 1 || e[0].Status != "returned" {
		t.Errorf("effects %+v, want one, returned", e)
	}
}

func TestHiddenRefundIsNotInQueriesAndLists(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "hidden=1", HiddenDelay: time.Minute})
	b.send("demo", "n1")
	b.wantEffects("n1", 1)
	if q := b.query("demo", "n1"); q.status != 404 || q.field("code") != "not_found" {
		t.Errorf("query: %v, want 404 not_found", q)
	}
	if n, complete := b.list("demo", "ch_77"); n != 0 || !complete {
		t.Errorf("list: %d entries, complete %v, want a complete list without it", n, complete)
	}
	b.clock.Add(time.Minute)
	if q := b.query("demo", "n1"); q.status != 200 {
		t.Errorf("query after the delay: %v, want 200", q)
	}
}

func TestWrongAmountIsWhatMoves(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "wrong-amount=1"})
	b.send("demo", "n1")
	if e := b.effects("n1"); len(e) != 1 || e[0].Amount != 1251 {
		t.Errorf("effects %+v, want one of 1251", e)
	}
	if again := b.send("demo", "n1"); again.status != 200 {
		t.Errorf("the number still has the parameters of the send: %v", again)
	}
}

func TestIncompleteListIsMarked(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "incomplete-list=1"})
	b.send("demo", "n1")
	b.send("demo", "n2")
	if n, complete := b.list("demo", "ch_77"); n != 1 || complete {
		t.Errorf("%d entries, complete %v, want 1 and false", n, complete)
	}
}

func TestFaultsOfQueries(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	b.faults(`{"rules":[
		{"fault":"lost-before","op":"query","refundId":"rf-n1","nth":1},
		{"fault":"error-before","op":"query","number":"n1","nth":2},
		{"fault":"hidden","op":"query","times":1},
		{"fault":"rate-limited","op":"list","times":1}]}`)
	b.send("demo", "n1")
	if q := b.query("demo", "n1"); !q.lost {
		t.Errorf("first query: %v, want no answer", q)
	}
	if q := b.query("demo", "n1"); q.status != 500 {
		t.Errorf("second query: %v, want 500", q)
	}
	if q := b.query("demo", "n1"); q.status != 200 {
		t.Errorf("third query: %v, want 200 (the one hidden reading is spent on the first)", q)
	}
	if a := b.do("GET", "/v1/payments/ch_77/refunds?account=demo", nil, ""); a.status != 429 {
		t.Errorf("list: %v, want 429", a)
	}
}

// TestFaultsCombine has faults of different classes hit one refund.
func TestFaultsCombine(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	b.faults(`{"rules":[{"fault":"lost-after","nth":1},{"fault":"wrong-amount"},{"fault":"pending","delayMs":60000}]}`)
	if a := b.send("demo", "n1"); !a.lost {
		t.Fatalf("send: %v, want no answer", a)
	}
	b.wantEffects("n1", 0)
	b.clock.Add(time.Minute)
	if e := b.effects("n1"); len(e) != 1 || e[0].Amount != 1251 {
		t.Errorf("effects %+v, want one of 1251 after a minute", e)
	}
}

// TestNthGoesOnAfterRestart restarts the simulator. The count of sends is in the record, so the draw is not repeated.
func TestNthGoesOnAfterRestart(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	b.faults(`{"rules":[{"fault":"lost-before","nth":1}]}`)
	b.send("demo", "n1")
	b = b.restart(simulator.Config{})
	b.faults(`{"rules":[{"fault":"lost-before","nth":1},{"fault":"refused","nth":2}]}`)
	if a := b.send("demo", "n1"); a.status != 422 {
		t.Errorf("send after restart: %v, want the rule for the second", a)
	}
}

func TestCloseEndsSlowAnswers(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{SlowDelay: time.Hour, Faults: "slow=1"})
	answered := make(chan answer, 1)
	go func() { answered <- b.send("demo", "n1") }()
	deadline := time.Now().Add(10 * time.Second)
	for len(b.effects("n1")) == 0 { // the effect comes before the answer
		if time.Now().After(deadline) {
			t.Fatal("a slow send never had its effect")
		}
	}
	if err := b.sim.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case a := <-answered:
		if !a.lost {
			t.Errorf("slow answer at Close: %v, want the connection closed", a)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Close left a slow answer hanging")
	}
	if a := b.send("demo", "n2"); a.status != 503 {
		t.Errorf("send after Close: %v, want 503", a)
	}
}
