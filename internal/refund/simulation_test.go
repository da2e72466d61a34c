package refund

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds   = flag.Uint64("seeds", 4000, "how many stories the simulation tells")
	oneSeed = flag.Uint64("seed", 0, "tell this one story, with its history")
)

// From so many stories on, every interesting state must have been reached, and every row of the tables.
const (
	seedsForStates = 100_000
	seedsForRows   = 400_000
)

// pauses is how long nothing happens: mostly moments, sometimes longer than leases and keys live, rarely than deadlines.
var pauses = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, 2 * time.Second, 3 * time.Second,
	5 * time.Second, 5 * time.Second, 8 * time.Second, 11 * time.Second, 11 * time.Second, 15 * time.Second, 40 * time.Second, time.Minute, 3 * time.Minute,
	20 * time.Minute, 2 * time.Hour, 2 * time.Hour, 30 * time.Hour}

// randomStep does one thing at random.
func (w *simulation) randomStep() {
	switch n := w.random(100); {
	case n < 34:
		w.runJob(w.randomRefund())
	case n < 50:
		w.advance(pauses[w.random(len(pauses))])
	case n < 55:
		w.takeOver(w.randomRefund())
	case n < 70:
		if len(w.ch.calls) > 0 {
			w.deliverAnswer(w.ch.calls[w.random(len(w.ch.calls))])
		}
	case n < 73:
		if len(w.ch.calls) > 0 {
			w.ch.calls[w.random(len(w.ch.calls))].abandoned = true
			w.count("a process died with a call on its way")
		}
	case n < 79:
		if len(w.ch.notices) > 0 && w.c.Notices {
			w.deliverNotice(w.ch.notices[w.random(len(w.ch.notices))])
		}
	case n < 84:
		w.proposeRandomly(w.randomRefund())
	case n < 89:
		w.applyProposal(w.randomRefund())
	case n < 92:
		w.acceptSecond()
	case n < 94:
		w.markNext()
	default:
		w.rareStep()
	}
	w.checkPayments()
}

func (w *simulation) proposeRandomly(i int) {
	w.propose(i, w.chance(40))
	if w.chance(10) {
		w.acceptExcess()
	}
}

// rareStep does what is not the daily business.
func (w *simulation) rareStep() {
	switch w.random(9) {
	case 0, 1:
		for _, r := range w.ch.made {
			if r.status == simMoved && w.chance(15) {
				w.count("money came back")
				w.ch.returnMoney(r)
			}
		}
	case 2, 3:
		if i := w.randomRefund(); w.recs[i].State == StatePending && w.chance(60) {
			w.enter(i, Fact{Kind: Withdrawn, Source: "cancel", Actor: "actor:shop"})
		}
	case 4, 5:
		if len(w.ch.made) < 6 && w.chance(40) {
			w.ch.foreign(w.amounts[w.random(2)])
			w.count("somebody else refunded")
		}
	default:
		w.settlementFile()
	}
}

// settlementFile brings some lines of a settlement file, with our numbers or without.
func (w *simulation) settlementFile() {
	var lines []ListedEffect
	for _, r := range w.ch.made {
		if r.status == simMoved && !r.visibleFrom.After(w.now()) && w.chance(50) {
			number := r.number
			if w.chance(50) {
				number = ""
			}
			lines = append(lines, w.ch.line(r, number))
		}
	}
	w.enterLines(lines, "settlement", false)
}

// simResult is one story and what became of it.
type simResult struct {
	traceHash uint64
	violation string
	history   []string
	events    int
}

// runSimulation tells the story of a seed under a contract. steps < 0 = as long as the seed wants.
func runSimulation(seed uint64, c Contract, play implementation, seen map[string]int, steps int, tells bool) (out simResult) {
	w := newSimulation(seed, c, play, seen)
	w.keepHistory = tells
	defer func() {
		if p := recover(); p != nil {
			b, ok := p.(violation)
			if !ok {
				panic(p)
			}
			out.violation = b.what
		}
		out.traceHash, out.history = w.traceHash, w.history
	}()
	if n := 30 + w.random(90); steps < 0 || n < steps {
		steps = n
	}
	saved, restored := w.random(80), 1+w.random(80) // a restore needs a backup before it, and comes in some stories only
	for out.events = range steps {
		if out.events == saved {
			w.backUp()
		}
		if out.events == saved+restored {
			w.restore()
		}
		w.randomStep()
	}
	w.runToRest()
	w.compareWithChannel(false)
	w.closeCases()
	w.compareWithChannel(true)
	return out
}

// shortest makes a broken story as short as it stays broken, and tells it with its history.
func shortest(seed uint64, c Contract, play implementation) string {
	steps := 1
	for ; steps < 120; steps++ {
		if runSimulation(seed, c, play, map[string]int{}, steps, false).violation != "" {
			break
		}
	}
	s := runSimulation(seed, c, play, map[string]int{}, steps, true)
	return fmt.Sprintf("seed %d, %s, %d steps: %s\n%s", seed, c.Profile, steps, s.violation, strings.Join(s.history, "\n"))
}

// contracts are the classes in a fixed order, and one more whose bytes act late: story n is told under the n-th of them.
func contracts(tb testing.TB) []Contract {
	tb.Helper()
	all := classes(tb)
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []Contract
	for _, n := range names {
		out = append(out, all[n])
	}
	slow := all["listing"]
	slow.Profile, slow.Horizon, slow.List.VisibilityLag, slow.Codes.LateFailure = "slow-listing", Duration(30*time.Second), Duration(20*time.Second), false
	return append(out, slow)
}

// TestSimulation tells many stories and checks every promise in each of them, by an independent channel that holds the
// truth. go test -args -seeds=N sets their number, -seed=N tells one with its history.
func TestSimulation(t *testing.T) {
	t.Parallel()
	play, cs := implementation{apply: Apply, decide: Decide}, contracts(t)
	if *oneSeed > 0 {
		c := cs[*oneSeed%uint64(len(cs))]
		t.Log(shortest(*oneSeed, c, play))
		return
	}
	began := time.Now()
	var next, events atomic.Uint64
	var all uint64
	var mu sync.Mutex
	var group sync.WaitGroup
	seen, broken := map[string]int{}, 0
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			mine, hash := map[string]int{}, uint64(0)
			for seed := next.Add(1); seed <= *seeds; seed = next.Add(1) {
				c := cs[seed%uint64(len(cs))]
				s := runSimulation(seed, c, play, mine, -1, false)
				hash += s.traceHash * (2*seed + 1)
				events.Add(uint64(s.events)) // #nosec G115 -- never negative
				if s.violation != "" {
					mu.Lock()
					if broken++; broken <= 3 {
						t.Error(shortest(seed, c, play))
					}
					mu.Unlock()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all += hash
			for k, n := range mine {
				seen[k] += n
			}
		})
	}
	group.Wait()
	t.Logf("%d stories under %d contracts, %d broken, %s; trace %016x", *seeds, len(cs), broken, time.Since(began).Round(time.Second), all)
	reportCoverage(t, seen, *seeds)
}

// TestSameSeedSameStory: a story can be told again, whatever else runs.
func TestSameSeedSameStory(t *testing.T) {
	t.Parallel()
	play := implementation{apply: Apply, decide: Decide}
	for seed, c := range contracts(t) {
		for n := range uint64(20) {
			n = n*1000 + uint64(seed) // #nosec G115 -- small
			first, second := runSimulation(n, c, play, map[string]int{}, -1, false), runSimulation(n, c, play, map[string]int{}, -1, true)
			if first.traceHash != second.traceHash || first.traceHash == runSimulation(n+1, c, play, map[string]int{}, -1, false).traceHash {
				t.Errorf("%s, seed %d: trace %x, then %x", c.Profile, n, first.traceHash, second.traceHash)
			}
		}
	}
}
