package refund

import (
	"flag"
	"math"
	"strings"
	"sync"
	"testing"
)

func TestEverySequenceAgainstTheReference(t *testing.T) {
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
				t.Logf("%d states (%d of the longest), %d found, %v; %d facts checked", min(len(x.queue), x.sampling.states), x.deepest, len(x.seen), x.states, x.applied)
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
		return // a part of the classes cannot meet every rule
	}
	for _, row := range stateTable {
		byLine := strings.HasSuffix(row.id, "attached") // there are no lines here: see TestBookedLineOfAnotherRefund
		if rows[row.id] == 0 && row.fact != ClaimSend && row.fact != ClaimAsk && !byLine {
			t.Errorf("no fact ever met rule %q: it is unreachable, or the test misses it", row.id)
		}
	}
}

// All sequences are 100,000 states and 10 million facts for a class, which takes minutes. A plain run makes all short
// sequences and a sample of the long ones, chosen by hash so that every run is the same; -whole makes them all.
var exhaustive = flag.Bool("whole", false, "check every state that is found, not a sample")
