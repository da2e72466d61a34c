package refund

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"
)

// Every class of contract is driven as by the workflow (Decide, claim, answer, Apply) through every sequence of up to three
// sends and two questions with every answer, silence included, answers late and in any order, with one notice or decision in
// between. Every fact is entered in every state that is reached. The reference checks each step.

const (
	maxSends = 3
	maxAsks  = 2
)

// sampling is the part of the found states that is checked.
type sampling struct {
	all    int    // that many states are all kept, shortest sequences first
	nodes  uint32 // then one in nodes of the final states, and one in opens of the others, which have successors
	opens  uint32
	facts  uint32 // one in that many facts is entered in each state
	states int    // at most that many states
}

var sample = sampling{all: 400, nodes: 8, opens: 3, facts: 6, states: 800}

// node is one reachable state.
type node struct {
	r      Record
	path   string
	extras int // notices, decisions and marks so far
	waits  int
}

// explorer visits the states of one class. Its methods are in explorer_*_test.go; checkStep is in decide_invariants_test.go and
// judgeSet in attempt_sets_test.go.
type explorer struct {
	tb        testing.TB
	c         Contract
	starts    []Record
	apply     func(Record, Fact, Contract) (Change, error)
	decide    func(Record, Contract, time.Time) Step
	seen      map[string]bool
	queue     []node
	states    map[State]int
	rows      map[string]int
	applied   int
	failures  int
	until     int // stop after so many failures; 0 = never
	firstFail string
	sampling  sampling
	deepest   int // states with all calls used
	maxExtra  int
}

func newExplorer(tb testing.TB, c Contract) *explorer {
	return &explorer{tb: tb, c: c, starts: []Record{newRecord()}, apply: Apply, decide: Decide, seen: map[string]bool{}, states: map[State]int{},
		rows:     map[string]int{},
		sampling: sample, maxExtra: 1}
}

func (x *explorer) fail(path, msg string) {
	x.failures++
	if x.firstFail == "" {
		x.firstFail = path + ": " + msg
	}
}

// applyAndCheck applies a fact and compares the result with reference and invariants.
func (x *explorer) applyAndCheck(n node, f Fact) (Record, bool) {
	x.applied++
	path := fmt.Sprintf("%s %s(%d%s%s a%d)", n.path, f.Kind, f.Dispatch, f.ChannelRefundID, amountText(f), f.Attempt)
	want, wantErr := expectedChange(n.r, f, x.c)
	ch, err := x.apply(n.r, f, x.c)
	if wantErr != nil || err != nil {
		if !errors.Is(err, ErrNotOwner) || !errors.Is(wantErr, ErrNotOwner) {
			x.fail(path, fmt.Sprintf("error %v, want %v", err, wantErr))
		}
		return n.r, false
	}
	for _, msg := range want.differences(ch) {
		x.fail(path, fmt.Sprintf("in %s: %s", n.r.State, msg))
	}
	for _, msg := range broken(n.r, ch) {
		x.fail(path, fmt.Sprintf("in %s: %s", n.r.State, msg))
	}
	for _, row := range ch.Rows {
		x.rows[row]++
	}
	return ch.After, true
}

// run explores breadth first: short sequences before long ones.
func (x *explorer) run() {
	for _, r := range x.starts {
		x.push(node{r: r})
	}
	for i := 0; i < len(x.queue) && i < x.sampling.states && (x.until == 0 || x.failures < x.until); i++ {
		n := x.queue[i]
		x.states[n.r.State]++
		if s, a := calls(n.r); s == maxSends || a == maxAsks {
			x.deepest++
		}
		x.checkStep(n)
		x.grow(n)
		draw := drawOf(n.path)
		for i, f := range x.possibleFacts(n) {
			if (draw+uint32(i))%x.sampling.facts == 0 {
				x.applyAndCheck(n, f)
			}
		}
		x.checkAsked(n, draw)
		x.checkAnswered(n)
	}
}

func (x *explorer) push(n node) {
	k := x.key(n)
	if x.seen[k] {
		return
	}
	x.seen[k] = true
	part := x.sampling.opens
	if n.r.State.Final() {
		part = x.sampling.nodes
	}
	if len(x.queue) < x.sampling.all || drawOf(k)%part == 0 {
		x.queue = append(x.queue, n)
	}
}

func drawOf(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}

// key identifies a state by everything that rules may read; times count by their present meaning.
func (x *explorer) key(n node) string {
	if x.until > 0 && len(n.r.Attempts) > 12 { // a planted bug may send without end
		return "endless"
	}
	r := n.r
	var b strings.Builder
	fmt.Fprintf(&b, "%s%v%d%d%v%v|", r.State, reasonsOf(r.Case), r.AskNo, n.extras, r.LeaseEndsAt.After(r.Now), n.waits >= 4)
	for _, d := range r.Dispatches {
		fmt.Fprintf(&b, "%v%v%v%v%s%v%v%v|", d.Exposed, d.Overridden, d.Acknowledged, d.FinalNegativeAt.IsZero(), d.ChannelRefundID,
			r.Now.Before(d.AbsenceCountsFrom), d.keyExpired(x.c, r.Now), r.Now.Before(d.LostSendUntil))
	}
	for _, a := range r.Attempts {
		d, _ := r.Dispatch(a.DispatchNo)
		fmt.Fprintf(&b, "%s%d%s%v%v%v|", a.Kind, a.DispatchNo, a.Answer, r.Now.Before(a.NotAfter.Add(x.c.Horizon.D())),
			a.StartedAt.Before(d.AbsenceCountsFrom), a.Answer == "" && a.Generation == r.Generation)
	}
	fmt.Fprint(&b, plainEffects(r.Effects))
	if step := x.decide(r, x.c, r.Now); step.Kind != StepWait {
		fmt.Fprint(&b, step.Kind, step.Dispatch)
	}
	return b.String()
}
