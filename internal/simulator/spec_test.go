package simulator_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/refundry/refundry/internal/simulator"
)

func TestExactRulesSelect(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{})
	b.faults(`{"rules":[
		{"fault":"refused","account":"demo","refundId":"rf-n1","op":"send","nth":2,"code":"odd_code"},
		{"fault":"echo","account":"demo-blind"}],"seed":3}`)
	if a := b.send("demo", "n1"); a.status != 200 {
		t.Errorf("first send of rf-n1: %v", a)
	}
	if a := b.send("demo", "n2"); a.status != 200 {
		t.Errorf("another refund: %v", a)
	}
	if a := b.send("demo", "n1"); a.status != 422 || a.field("code") != "odd_code" {
		t.Errorf("second send of rf-n1: %v, want the rule's own code", a)
	}
	if a := b.send("demo-blind", "n3"); a.field("code") != "already_refunded" {
		t.Errorf("rule of the other account: %v", a)
	}
	if a := b.do("DELETE", "/faults", nil, ""); a.status != 204 {
		t.Errorf("DELETE /faults: %v", a)
	}
	if a := b.send("demo-blind", "n3"); a.status != 200 || b.hits()["*"] != 0 {
		t.Errorf("after DELETE: %v", a)
	}
}

// outcomes sends every number up to three times and returns the answers.
func outcomes(b *fixture, count int) string {
	var s strings.Builder
	for i := range count {
		for range 3 {
			a := b.send("demo", fmt.Sprintf("n%d", i))
			fmt.Fprintf(&s, "%d%v ", a.status, a.lost)
		}
	}
	return s.String()
}

func TestSharesAreRepeatableAndRetriesDrawAgain(t *testing.T) {
	t.Parallel()
	const spec = "lost-before=0.3,error-before=0.2,seed=11"
	b := start(t, simulator.Config{Faults: spec})
	first := outcomes(b, 100)
	if again := outcomes(start(t, simulator.Config{Faults: spec}), 100); again != first {
		t.Error("the same seed gave another run")
	}
	if other := outcomes(start(t, simulator.Config{Faults: "lost-before=0.3,error-before=0.2,seed=12"}), 100); other == first {
		t.Error("another seed gave the same run")
	}
	// Of 300 sends about 90 are lost and 60 get an error; the bounds are six standard deviations.
	if hits := b.hits(); hits["lost-before"] < 42 || hits["lost-before"] > 138 || hits["error-before"] < 18 || hits["error-before"] > 102 {
		t.Errorf("hits %v, want about 90 and 60 of 300", hits)
	}
	// All three tries fail with probability 1/8: most numbers succeed.
	if e := b.effects(""); len(e) < 70 {
		t.Errorf("%d of 100 numbers succeeded in three tries", len(e))
	}
}

func TestParseSpec(t *testing.T) {
	t.Parallel()
	rules, err := simulator.ParseSpec(" lost-after=0.2 , hidden@a=b=0.5,incomplete-list=1,seed=-7")
	if err != nil {
		t.Fatal(err)
	}
	want := []simulator.Rule{
		{Fault: "lost-after", Op: "send", Share: 0.2},
		{Fault: "hidden", Account: "a=b", Op: "send", Share: 0.5},
		{Fault: "incomplete-list", Op: "list", Share: 1},
	}
	if rules.Seed != -7 || !slices.Equal(rules.List, want) {
		t.Errorf("got %+v", rules)
	}
	for _, bad := range []string{
		"lost-after", "lost-after=", "lost-after=x", "lost-after=1.1", "lost-after=-0.1", "lost-after=NaN", "lost-after=Inf",
		"unknown=0.1", "=0.1", "lost-after=0.1,", "lost-after=0.1,lost-after=0.2", "seed=x", "seed=1,seed=2", "seed=1.5",
		"lost-after@=0.1", "lost-after@a b=0.1", "lost-after=0.6,error-after=0.6", "lost-after=0.6,error-after@demo=0.6",
	} {
		if rules, err := simulator.ParseSpec(bad); err == nil {
			t.Errorf("%q was accepted as %+v", bad, rules)
		}
	}
	if _, err := simulator.ParseSpec("lost-after=0.9,lost-after@demo=1,pending=0.9"); err != nil {
		t.Errorf("a rule of an account replaces the general one, and pending excludes no answer: %v", err)
	}
}

func TestAccountRuleReplacesGeneralOne(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "refused=1,refused@demo-blind=0"})
	if a := b.send("demo", "n1"); a.status != 422 {
		t.Errorf("demo: %v, want refused", a)
	}
	if a := b.send("demo-blind", "n1"); a.status != 200 {
		t.Errorf("demo-blind: %v, want 200", a)
	}
}

func TestBadFaultsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	b := start(t, simulator.Config{Faults: "refused=1"})
	bad := map[string]string{
		"both": `{"spec":"","rules":[]}`, "neither": `{}`, "seed alone": `{"seed":1}`, "spec and seed": `{"spec":"","seed":1}`,
		"unknown fault": `{"rules":[{"fault":"nope"}]}`, "no fault": `{"rules":[{}]}`, "wrong op": `{"rules":[{"fault":"echo","op":"query"}]}`,
		"nth zero": `{"rules":[{"fault":"echo","nth":0}]}`, "nth text": `{"rules":[{"fault":"echo","nth":"1"}]}`,
		"share": `{"rules":[{"fault":"echo","share":2}]}`, "share text": `{"rules":[{"fault":"echo","share":"1"}]}`,
		"unknown field": `{"rules":[{"fault":"echo","when":1}]}`, "null": `{"rules":null}`, "object": `{"rules":{}}`,
		"seed": `{"rules":[],"seed":1.5}`, "spec": `{"spec":"echo"}`, "spec null": `{"spec":null}`,
		"delay": `{"rules":[{"fault":"slow","delayMs":99999999999}]}`, "hits": `{"rules":[{"fault":"echo","hits":1}]}`,
		"too many": `{"rules":[` + strings.TrimSuffix(strings.Repeat(`{"fault":"echo"},`, 1001), ",") + `]}`,
	}
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		if a := b.do("POST", "/faults", nil, bad[name]); a.status != 400 {
			t.Errorf("%s: %v, want 400", name, a)
		}
	}
	if a := b.send("demo", "n1"); a.status != 422 {
		t.Errorf("the old rules do not apply any more: %v", a)
	}
	b.faults(`{"spec":""}`)
	if a := b.send("demo", "n1"); a.status != 200 {
		t.Errorf("an empty spec clears the rules: %v", a)
	}
}
