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

// someTime is how long nothing happens: mostly moments, sometimes longer than leases and keys live, rarely than deadlines.
var someTime = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, 2 * time.Second, 3 * time.Second,
	5 * time.Second, 5 * time.Second, 8 * time.Second, 11 * time.Second, 11 * time.Second, 15 * time.Second, 40 * time.Second, time.Minute, 3 * time.Minute,
	20 * time.Minute, 2 * time.Hour, 2 * time.Hour, 30 * time.Hour}

// act does one thing at random.
func (w *world) act() {
	switch n := w.pick(100); {
	case n < 34:
		w.work(w.which())
	case n < 50:
		w.pass(someTime[w.pick(len(someTime))])
	case n < 55:
		w.takeOver(w.which())
	case n < 70:
		if len(w.ch.calls) > 0 {
			w.hear(w.ch.calls[w.pick(len(w.ch.calls))])
		}
	case n < 73:
		if len(w.ch.calls) > 0 {
			w.ch.calls[w.pick(len(w.ch.calls))].dead = true
			w.some("a process died with a call on its way")
		}
	case n < 79:
		if len(w.ch.notices) > 0 && w.c.Notices {
			w.tell(w.ch.notices[w.pick(len(w.ch.notices))])
		}
	case n < 84:
		w.decideSomething(w.which())
	case n < 89:
		w.takesEffect(w.which())
	case n < 92:
		w.accepts()
	case n < 94:
		w.marks()
	default:
		w.rarely()
	}
	w.watch()
}

func (w *world) decideSomething(i int) {
	w.propose(i, w.chance(40))
	if w.chance(10) {
		w.acceptExcess()
	}
}

// rarely does what is not the daily business.
func (w *world) rarely() {
	switch w.pick(9) {
	case 0, 1:
		for _, r := range w.ch.made {
			if r.status == simMoved && w.chance(15) {
				w.some("money came back")
				w.ch.back(r)
			}
		}
	case 2, 3:
		if i := w.which(); w.recs[i].State == StatePending && w.chance(60) {
			w.enter(i, Fact{Kind: Withdrawn, Source: "cancel", Actor: "actor:shop"})
		}
	case 4, 5:
		if len(w.ch.made) < 6 && w.chance(40) {
			w.ch.foreign(w.amounts[w.pick(2)])
			w.some("somebody else refunded")
		}
	default:
		w.file()
	}
}

// file brings some lines of a settlement file, with our numbers or without.
func (w *world) file() {
	var lines []ListedEffect
	for _, r := range w.ch.made {
		if r.status == simMoved && !r.shows.After(w.now()) && w.chance(50) {
			number := r.number
			if w.chance(50) {
				number = ""
			}
			lines = append(lines, w.ch.line(r, number))
		}
	}
	w.take(lines, "settlement", false)
}

// told is one story and what became of it.
type told struct {
	trace   uint64
	broke   string
	history []string
	events  int
}

// tellStory tells the story of a seed under a contract. steps < 0 = as long as the seed wants.
func tellStory(seed uint64, c Contract, play rules, seen map[string]int, steps int, tells bool) (out told) {
	w := newWorld(seed, c, play, seen)
	w.tells = tells
	defer func() {
		if p := recover(); p != nil {
			b, ok := p.(broke)
			if !ok {
				panic(p)
			}
			out.broke = b.what
		}
		out.trace, out.history = w.trace, w.history
	}()
	if n := 30 + w.pick(90); steps < 0 || n < steps {
		steps = n
	}
	saved, restored := w.pick(80), 1+w.pick(80) // a restore needs a backup before it, and comes in some stories only
	for out.events = range steps {
		if out.events == saved {
			w.saves()
		}
		if out.events == saved+restored {
			w.restores()
		}
		w.act()
	}
	w.drain()
	w.judge(false)
	w.closeCases()
	w.judge(true)
	return out
}

// shortest makes a broken story as short as it stays broken, and tells it with its history.
func shortest(seed uint64, c Contract, play rules) string {
	steps := 1
	for ; steps < 120; steps++ {
		if tellStory(seed, c, play, map[string]int{}, steps, false).broke != "" {
			break
		}
	}
	s := tellStory(seed, c, play, map[string]int{}, steps, true)
	return fmt.Sprintf("seed %d, %s, %d steps: %s\n%s", seed, c.Profile, steps, s.broke, strings.Join(s.history, "\n"))
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
	play, cs := rules{apply: Apply, decide: Decide}, contracts(t)
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
				s := tellStory(seed, c, play, mine, -1, false)
				hash += s.trace * (2*seed + 1)
				events.Add(uint64(s.events)) // #nosec G115 -- never negative
				if s.broke != "" {
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
	sometimes(t, seen, *seeds)
}

// TestSameSeedSameStory: a story can be told again, whatever else runs.
func TestSameSeedSameStory(t *testing.T) {
	t.Parallel()
	play := rules{apply: Apply, decide: Decide}
	for seed, c := range contracts(t) {
		for n := range uint64(20) {
			n = n*1000 + uint64(seed) // #nosec G115 -- small
			first, second := tellStory(n, c, play, map[string]int{}, -1, false), tellStory(n, c, play, map[string]int{}, -1, true)
			if first.trace != second.trace || first.trace == tellStory(n+1, c, play, map[string]int{}, -1, false).trace {
				t.Errorf("%s, seed %d: trace %x, then %x", c.Profile, n, first.trace, second.trace)
			}
		}
	}
}
