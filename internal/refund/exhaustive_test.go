package refund

import (
	"flag"
	"math"
	"strings"
	"sync"
	"testing"
)

// rareStarts are states that a sample of the long stories would seldom reach.
func rareStarts(t *testing.T, class string) []Record {
	begin := func(tells ...func(*scenario)) Record {
		s := newScenario(t, class)
		for _, f := range tells {
			f(s)
		}
		return s.r
	}
	out := []Record{begin(twoEffectsStart), begin(confirmedStart), begin(twoMarkedStart), begin(secondNumberStart), begin(earlyEndStart)}
	if class == "listing" {
		out = append(out, begin(newerSendStart))
	}
	return out
}

func TestEverySequenceAgainstTheOracle(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	rows, ran := map[string]int{}, 0
	t.Run("classes", func(t *testing.T) {
		for name, c := range classes(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				x := newExplorer(t, c)
				x.starts = append(x.starts, rareStarts(t, name)...)
				if *exhaustive {
					x.sampling = sampling{all: math.MaxInt, nodes: 1, opens: 1, facts: 1, states: math.MaxInt}
				}
				x.run()
				t.Logf("%d states (%d of the longest), %d seen, %v; %d facts judged", min(len(x.queue), x.sampling.states), x.deepest, len(x.seen), x.states, x.applied)
				if x.failures > 0 {
					t.Errorf("%d disagreements, the first: %s", x.failures, x.firstFail)
				}
				mu.Lock()
				defer mu.Unlock()
				ran++
				for row, n := range x.rows {
					rows[row] += n
				}
			})
		}
	})
	if ran < len(classes(t)) {
		return // a part of them cannot meet every row
	}
	for _, w := range stateTable {
		byLine := strings.HasSuffix(w.id, "attached") // no lines here: see TestALineWasSomebodyElses
		if rows[w.id] == 0 && w.fact != ClaimSend && w.fact != ClaimAsk && !byLine {
			t.Errorf("no fact ever met row %q: it is dead, or the test is blind", w.id)
		}
	}
}

// The whole product is 100,000 states and 10 million facts for a class, minutes of work. A plain run makes all short
// stories and a sample of the long ones, drawn by hash so that every run is the same; -whole makes them all.
var exhaustive = flag.Bool("whole", false, "judge every state that is found, not a sample")
