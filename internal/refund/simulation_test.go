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
	seeds   = flag.Uint64("seeds", 4000, "number of the simulation's runs")
	oneSeed = flag.Uint64("seed", 0, "make this one run, with its history")
)

// From that many runs on, every named state, and every rule of the tables, must have been reached.
const (
	seedsForStates = 100_000
	seedsForRows   = 400_000
)

// pauses are the times in which nothing happens: mostly moments, sometimes longer than leases and keys live, rarely than
// deadlines.
var pauses = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, 2 * time.Second, 3 * time.Second,
	5 * time.Second, 5 * time.Second, 8 * time.Second, 11 * time.Second, 11 * time.Second, 15 * time.Second, 40 * time.Second, time.Minute, 3 * time.Minute,
	20 * time.Minute, 2 * time.Hour, 2 * time.Hour, 30 * time.Hour}

// randomStep makes one random step.
func (sim *simulation) randomStep() {
	switch n := sim.random(100); {
	case n < 34:
		sim.runJob(sim.randomRefund())
	case n < 50:
		sim.advance(pauses[sim.random(len(pauses))])
	case n < 55:
		sim.takeOver(sim.randomRefund())
	case n < 70:
		if len(sim.ch.calls) > 0 && !(sim.disorder && sim.order.IntN(5) > 1) {
			sim.deliverAnswer(sim.ch.calls[sim.random(len(sim.ch.calls))])
		}
	case n < 73:
		if len(sim.ch.calls) > 0 {
			sim.ch.calls[sim.random(len(sim.ch.calls))].abandoned = true
			sim.count("a process was killed with a call in flight")
		}
	case n < 79:
		if sim.crosses && sim.c.Notices && sim.chance(30) {
			sim.crossedNotice()
		} else if len(sim.ch.notices) > 0 && sim.c.Notices {
			sim.deliverNotice(sim.ch.notices[sim.random(len(sim.ch.notices))])
		}
	case n < 84:
		sim.proposeRandomly(sim.randomRefund())
	case n < 89:
		sim.applyProposal(sim.randomRefund())
	case n < 92:
		sim.acceptSecond()
	case n < 94:
		sim.markNext()
	default:
		sim.rareStep()
	}
	sim.checkPayments()
}

func (sim *simulation) proposeRandomly(i int) {
	sim.propose(i, sim.chance(40))
	if sim.chance(10) {
		sim.acceptExcess()
	}
}

// rareStep makes one of the rare steps.
func (sim *simulation) rareStep() {
	switch sim.random(9) {
	case 0, 1:
		for _, r := range sim.ch.made {
			if r.status == simMoved && sim.chance(30) {
				sim.count("money came back")
				sim.ch.returnMoney(r)
			}
		}
	case 2, 3:
		if i := sim.randomRefund(); sim.recs[i].State == StatePending && sim.chance(60) {
			sim.enter(i, Fact{Kind: Withdrawn, Source: "cancel", Actor: "actor:shop"})
		}
	case 4, 5:
		if len(sim.ch.made) < 6 && sim.chance(40) {
			sim.ch.foreign(sim.amounts[sim.random(2)])
			sim.count("somebody else refunded")
		}
	default:
		sim.settlementFile()
	}
}

// settlementFile enters some lines of a settlement file, with our numbers or without.
func (sim *simulation) settlementFile() {
	var lines []ListedEffect
	for _, r := range sim.ch.made {
		if r.status == simMoved && !r.visibleFrom.After(sim.now()) && sim.chance(50) {
			number := r.number
			if sim.chance(50) || r.unnumbered {
				number = ""
			}
			lines = append(lines, sim.ch.line(r, number))
		}
	}
	sim.enterLines(lines, "settlement", false)
}

// simResult is the result of one run.
type simResult struct {
	traceHash uint64
	violation string
	history   []string
	events    int
}

// runSimulation runs a seed under a contract. steps < 0 = as many steps as the seed draws.
func runSimulation(seed uint64, c Contract, code implementation, seen map[string]int, steps int, keepHistory bool) (out simResult) {
	sim := newSimulation(seed, c, code, seen)
	sim.keepHistory = keepHistory
	defer func() {
		if p := recover(); p != nil {
			b, ok := p.(violation)
			if !ok {
				panic(p)
			}
			out.violation = b.what
		}
		out.traceHash, out.history = sim.traceHash, sim.history
	}()
	if n := 30 + sim.random(90); steps < 0 || n < steps {
		steps = n
	}
	saved, restored := sim.random(80), 1+sim.random(40) // a restore needs an earlier backup, and happens in some runs only
	for out.events = range steps {
		if out.events == saved {
			sim.backUp()
		}
		if out.events == saved+restored {
			sim.restore()
		}
		sim.randomStep()
	}
	sim.runToRest()
	sim.compareWithChannel(false)
	sim.closeCases()
	sim.compareWithChannel(true)
	return out
}

// shortest returns the history of a broken run, with as few steps as it takes.
func shortest(seed uint64, c Contract, code implementation) string {
	steps := 1
	for ; steps < 120; steps++ {
		if runSimulation(seed, c, code, map[string]int{}, steps, false).violation != "" {
			break
		}
	}
	s := runSimulation(seed, c, code, map[string]int{}, steps, true)
	return fmt.Sprintf("seed %d, %s, %d steps: %s\n%s", seed, c.Profile, steps, s.violation, strings.Join(s.history, "\n"))
}

// contracts returns the classes in a fixed order, and one more with a long horizon. Seed n uses the n-th of them.
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
	for i := range out {
		if !out[i].Key.KeepsAnswer {
			out[i].Codes.PassesLater = []string{"equal_refund_just_made"}
		}
	}
	slow := all["listing"]
	slow.Profile, slow.Horizon, slow.List.VisibilityLag, slow.Codes.LateFailure = "slow-listing", Duration(30*time.Second), Duration(20*time.Second), false
	return append(out, slow)
}

// TestSimulation makes many runs and checks every promise in each of them, by an independent channel that knows the truth.
// go test -args -seeds=N sets their number, -seed=N makes one with its history.
func TestSimulation(t *testing.T) {
	t.Parallel()
	code, cs := implementation{apply: Apply, decide: Decide}, contracts(t)
	if *oneSeed > 0 {
		c := cs[*oneSeed%uint64(len(cs))]
		t.Log(shortest(*oneSeed, c, code))
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
				s := runSimulation(seed, c, code, mine, -1, false)
				hash += s.traceHash * (2*seed + 1)
				events.Add(uint64(s.events)) // #nosec G115 -- never negative
				if s.violation != "" {
					mu.Lock()
					if broken++; broken <= 3 {
						t.Error(shortest(seed, c, code))
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
	t.Logf("%d runs under %d contracts, %d broken, %s; trace %016x", *seeds, len(cs), broken, time.Since(began).Round(time.Second), all)
	reportCoverage(t, seen, *seeds)
}

// TestSameSeedGivesTheSameRun: a run can be repeated, whatever else runs.
func TestSameSeedGivesTheSameRun(t *testing.T) {
	t.Parallel()
	code := implementation{apply: Apply, decide: Decide}
	for seed, c := range contracts(t) {
		for n := range uint64(20) {
			n = n*1000 + uint64(seed) // #nosec G115 -- small
			first, second := runSimulation(n, c, code, map[string]int{}, -1, false), runSimulation(n, c, code, map[string]int{}, -1, true)
			if first.traceHash != second.traceHash || first.traceHash == runSimulation(n+1, c, code, map[string]int{}, -1, false).traceHash {
				t.Errorf("%s, seed %d: trace %x, then %x", c.Profile, n, first.traceHash, second.traceHash)
			}
		}
	}
}
