package refund

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
)

// Every class of contract is driven the way the workflow does it (Decide, claim, answer, Apply) through every sequence of
// up to three sends and two questions with every answer, silence included, answers late and in any order, with one notice
// or decision in between; and in every state so reached every fact is entered. The oracle judges each step.

const (
	maxSends = 3
	maxAsks  = 2
)

// The whole product is 100,000 states and 10 million facts for a class, minutes of work. A plain run makes all short
// stories and a sample of the long ones, drawn by hash so that every run is the same; -whole makes them all.
var whole = flag.Bool("whole", false, "judge every state that is found, not a sample")

// share says which part of what is found is looked at.
type share struct {
	all    int    // so many states are all kept, shortest stories first
	nodes  uint32 // then one of so many ends, and of the open ones, from which stories go on, one of opens
	opens  uint32
	facts  uint32 // in each state one of so many facts is entered; moves are all made
	states int    // no more states than this
}

var sample = share{all: 400, nodes: 8, opens: 3, facts: 6, states: 800}

// node is one reachable state.
type node struct {
	r     Record
	path  string
	extra int // notices, decisions and marks so far
	waits int
}

// explorer walks one class.
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
	share     share
	deepest   int // states with all calls used
	maxExtra  int
}

func newExplorer(tb testing.TB, c Contract) *explorer {
	return &explorer{tb: tb, c: c, starts: []Record{born()}, apply: Apply, decide: Decide, seen: map[string]bool{}, states: map[State]int{}, rows: map[string]int{},
		share: sample, maxExtra: 1}
}

func (x *explorer) fail(path, msg string) {
	x.failures++
	if x.firstFail == "" {
		x.firstFail = path + ": " + msg
	}
}

// enter applies a fact and lets oracle and invariants judge it.
func (x *explorer) enter(n node, f Fact) (Record, bool) {
	x.applied++
	path := fmt.Sprintf("%s %s(%d%s%s a%d)", n.path, f.Kind, f.Dispatch, f.ChannelRefundID, amountText(f), f.Attempt)
	want, wantErr := judge(n.r, f, x.c)
	ch, err := x.apply(n.r, f, x.c)
	if wantErr != nil || err != nil {
		if !errors.Is(err, ErrNotOwner) || !errors.Is(wantErr, ErrNotOwner) {
			x.fail(path, fmt.Sprintf("error %v, want %v", err, wantErr))
		}
		return n.r, false
	}
	for _, msg := range want.differs(ch) {
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

func amountText(f Fact) string {
	if f.Amount == 0 && f.Currency == "" {
		return ""
	}
	return fmt.Sprintf(" %d%s", f.Amount, f.Currency)
}

// run explores breadth first: short stories before long ones.
func (x *explorer) run() {
	for _, r := range x.starts {
		x.push(node{r: r})
	}
	for i := 0; i < len(x.queue) && i < x.share.states && (x.until == 0 || x.failures < x.until); i++ {
		n := x.queue[i]
		x.states[n.r.State]++
		if s, a := calls(n.r); s == maxSends || a == maxAsks {
			x.deepest++
		}
		x.checkStep(n)
		x.grow(n)
		draw := drawOf(n.path)
		for i, f := range x.leaves(n) {
			if (draw+uint32(i))%x.share.facts == 0 {
				x.enter(n, f)
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
	part := x.share.opens
	if n.r.State.Final() {
		part = x.share.nodes
	}
	if len(x.queue) < x.share.all || drawOf(k)%part == 0 {
		x.queue = append(x.queue, n)
	}
}

func drawOf(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}

// grow adds every successor of a state.
func (x *explorer) grow(n node) {
	x.growAnswers(n)
	x.growStep(n)
	x.growClock(n)
	if n.extra < x.maxExtra {
		x.growExtras(n)
	}
	x.growPeople(n)
}

// growAnswers: each silent attempt may be answered now, its owner's time over or not.
func (x *explorer) growAnswers(n node) {
	for _, a := range n.r.Attempts {
		if a.Answer != "" {
			continue
		}
		for _, ans := range answersFor(a) {
			if r, ok := x.enter(n, FactOf(a, ans)); ok {
				x.push(node{r: r, path: fmt.Sprintf("%s %d=%s%s", n.path, a.No, ans.Kind, ans.ChannelRefundID), extra: n.extra, waits: n.waits})
			}
		}
	}
}

// growStep does what Decide says, as long as calls are left.
func (x *explorer) growStep(n node) {
	step := x.decide(n.r, x.c, n.r.Now)
	sends, asks := calls(n.r)
	next := n
	switch step.Kind {
	case StepSend, StepQuery, StepList:
		kind := map[StepKind]AttemptKind{StepSend: AttemptSend, StepQuery: AttemptQuery, StepList: AttemptList}[step.Kind]
		if (kind == AttemptSend && sends >= maxSends) || (kind != AttemptSend && asks >= maxAsks) {
			return
		}
		r, no, ok := claim(n.r, kind, step.Dispatch, x.c, n.r.Now)
		if n.r.State.Final() { // an end has no owner
			r, no = ask(n.r, step.Dispatch, x.c, n.r.Now)
			ok = kind != AttemptSend
		}
		if !ok {
			x.fail(n.path, fmt.Sprintf("Decide says %+v but there is no such claim", step))
			return
		}
		next.r, next.path = r, fmt.Sprintf("%s %s%d#%d", n.path, kind, step.Dispatch, no)
	case StepWait:
		if !step.Until.After(n.r.Now) {
			if n.r.State != StateProcessing {
				x.fail(n.path, fmt.Sprintf("Decide waits until %v, it is %v", step.Until, n.r.Now))
			}
			return
		}
		if n.waits >= 4 {
			return
		}
		next.r.Now, next.waits, next.path = step.Until, n.waits+1, n.path+" wait"
	case StepOpenCase, StepSettle, StepRetireKey:
		f := conclusionOf(step, n.r.Generation)
		r, ok := x.enter(n, f)
		if !ok {
			return
		}
		if again := x.decide(r, x.c, r.Now); again == step {
			x.fail(n.path, fmt.Sprintf("after %s Decide says the same again: %+v", f.Kind, step))
		}
		next.r, next.path = r, n.path+" "+string(step.Kind)
	default:
		return
	}
	x.push(next)
}

// growClock lets the lease end, and jumps to the times that matter: an absence counts, the key dies.
func (x *explorer) growClock(n node) {
	if n.r.State == StateProcessing {
		late := n
		late.r.Now = later(n.r.Now, n.r.LeaseEndsAt)
		if r, ok := x.enter(late, Fact{Kind: LeaseEnd, Generation: n.r.Generation, Source: "sweeper"}); ok {
			x.push(node{r: r, path: n.path + " lease-end", extra: n.extra, waits: n.waits})
		}
	}
	for _, d := range n.r.Dispatches {
		for _, t := range []time.Time{d.AbsenceCountsFrom, d.KeyExpiresAt} {
			if t.After(n.r.Now) && n.waits < 4 && n.r.State != StateProcessing {
				jump := n
				jump.r.Now, jump.waits, jump.path = t, n.waits+1, n.path+" later"
				x.push(jump)
			}
		}
	}
}

// growExtras: what comes by itself, and what people decide.
func (x *explorer) growExtras(n node) {
	for _, f := range []Fact{
		{Kind: Succeeded, ChannelRefundID: "A", Source: "notice"}, {Kind: Succeeded, Source: "notice"},
		{Kind: Acknowledged, Source: "notice"}, {Kind: FailedFinal, Source: "notice"}, {Kind: FailedFinal, ChannelRefundID: "A", Source: "notice"},
		{Kind: Reversed, ChannelRefundID: "A", Source: "notice"}, {Kind: Reversed, ChannelRefundID: "A", Amount: 999, Currency: "USD", Source: "notice"}, {Kind: EpochMark, Source: "epoch"}, {Kind: Withdrawn, Source: "cancel"},
	} {
		for _, d := range n.r.Dispatches {
			if f.Dispatch = d.Ordinal; (f.Kind == EpochMark || f.Kind == Withdrawn) && d.Ordinal > 1 {
				continue
			}
			if r, ok := x.enter(n, f); ok {
				x.push(node{r: r, path: fmt.Sprintf("%s !%s%d%s", n.path, f.Kind, d.Ordinal, f.ChannelRefundID), extra: n.extra + 1, waits: n.waits})
			}
		}
	}
}

func (x *explorer) growPeople(n node) {
	if n.r.State.Final() && n.r.Case != nil && !n.r.Exposed {
		x.push(node{r: personAcknowledges(n.r), path: n.path + " acknowledged!", extra: n.extra, waits: n.waits})
	}
	if n.extra >= x.maxExtra || !has(states(StateUnknown, StateAccepted), n.r.State) {
		return
	}
	n.r.Now = actsUntil(n.r, x.c) // a decision takes effect only when nothing sent can still act
	add := func(what string, r Record, extra int) {
		x.push(node{r: r, path: n.path + " " + what, extra: n.extra + extra, waits: n.waits})
	}
	live, _ := n.r.Dispatch(n.r.DispatchNo)
	add("not-done!", personNotDone(n.r), 0)
	if !live.Acknowledged && n.r.DispatchNo == 1 {
		add("resend!", personResend(n.r), 0)
	}
	if live.FinalNegativeAt.IsZero() {
		if r, ok := x.enter(n, personSuccess(n.r)); ok {
			add("success!", r, 0)
			if !r.Exposed {
				add("revoke-confirmation!", personTakesBack(r), 0)
			}
		}
	}
}

func actsUntil(r Record, c Contract) time.Time {
	t := r.Now
	for _, a := range r.Attempts {
		t = later(t, later(a.NotAfter, r.LeaseEndsAt).Add(c.Horizon.D()))
	}
	for _, d := range r.Dispatches {
		t = later(t, d.MayActUntil.Add(c.Horizon.D()))
	}
	return t
}

func conclusionOf(s Step, generation int) Fact {
	kind := map[StepKind]FactKind{StepOpenCase: Deadline, StepSettle: Settled, StepRetireKey: KeyExpired}[s.Kind]
	return Fact{Kind: kind, Dispatch: s.Dispatch, Generation: generation, Reason: s.Reason, Source: "worker"}
}

func calls(r Record) (sends, asks int) {
	for _, a := range r.Attempts {
		if a.Kind == AttemptSend {
			sends++
		} else {
			asks++
		}
	}
	return sends, asks
}

// answersFor are the answers that an attempt can get.
func answersFor(a Attempt) []Answer {
	out := []Answer{{Kind: Succeeded, ChannelRefundID: "A", Amount: 1000, Currency: "USD"}, {Kind: Succeeded}, {Kind: Acknowledged},
		{Kind: Acknowledged, ChannelRefundID: "A"}, {Kind: FailedFinal}, {Kind: Reversed, ChannelRefundID: "A", Amount: 1000, Currency: "USD"},
		{Kind: RefusedClean}, {Kind: RefusedNewNumber}, {Kind: RefusedEcho}, {Kind: Retryable}, {Kind: NotSent}, {Kind: Unknown}}
	if a.Kind != AttemptSend {
		out = append(out, Answer{Kind: NotFound})
	}
	return out
}

// leaves are all facts that may be told about a state.
func (x *explorer) leaves(n node) []Fact {
	var out []Fact
	for _, d := range n.r.Dispatches {
		for _, id := range []string{"", "A", "B"} {
			for _, m := range []Fact{{}, {Amount: 1000, Currency: "USD"}, {Amount: 999, Currency: "USD"}, {Amount: 1000, Currency: "EUR"}} {
				out = append(out, Fact{Kind: Succeeded, ChannelRefundID: id, Amount: m.Amount, Currency: m.Currency}, Fact{Kind: Reversed, ChannelRefundID: id, Amount: m.Amount, Currency: m.Currency})
			}
			out = append(out, Fact{Kind: Acknowledged, ChannelRefundID: id}, Fact{Kind: FailedFinal, ChannelRefundID: id})
		}
		for i := range out {
			if out[i].Dispatch == 0 {
				out[i].Dispatch, out[i].Source = d.Ordinal, "notice"
			}
		}
		out = append(out, Fact{Kind: KeyExpired, Dispatch: d.Ordinal, Generation: n.r.Generation})
	}
	for _, g := range []int{n.r.Generation, n.r.Generation - 1} {
		out = append(out, Fact{Kind: LeaseEnd, Generation: g}, Fact{Kind: Settled, Generation: g},
			Fact{Kind: Deadline, Generation: g, Reason: CaseDeadline}, Fact{Kind: Deadline, Generation: g, Reason: CaseNoStep})
	}
	return append(out, Fact{Kind: EpochMark}, Fact{Kind: Withdrawn})
}

// checkAsked asks the channel once more, owner or not, now and when an absence would count, and enters every answer.
func (x *explorer) checkAsked(n node, draw uint32) {
	for _, d := range n.r.Dispatches {
		for _, at := range []time.Time{n.r.Now, later(n.r.Now, d.AbsenceCountsFrom.Add(time.Minute))} {
			r, no := ask(n.r, d.Ordinal, x.c, at)
			a, _ := r.Attempt(no)
			asked := node{r: r, path: fmt.Sprintf("%s check%d", n.path, d.Ordinal)}
			for i, ans := range answersFor(*a) {
				if ans.Kind == NotFound || (draw+uint32(i))%x.share.facts == 0 {
					x.enter(asked, FactOf(*a, ans))
				}
			}
		}
	}
}

// checkAnswered gives an answered attempt another answer.
func (x *explorer) checkAnswered(n node) {
	for _, a := range n.r.Attempts {
		if a.Answer != "" {
			x.enter(n, FactOf(a, Answer{Kind: Succeeded, ChannelRefundID: "C"}))
			return
		}
	}
}

// key tells states apart by everything that rules may look at, times by what they mean now.
func (x *explorer) key(n node) string {
	if x.until > 0 && len(n.r.Attempts) > 12 { // a planted bug may send without end
		return "endless"
	}
	r := n.r
	var b strings.Builder
	fmt.Fprintf(&b, "%s%v%d%d%v%v|", r.State, reasonsOf(r.Case), r.AskNo, n.extra, r.LeaseEndsAt.After(r.Now), n.waits >= 4)
	for _, d := range r.Dispatches {
		fmt.Fprintf(&b, "%v%v%v%v%s%v%v%v|", d.Exposed, d.Overridden, d.Acknowledged, d.FinalNegativeAt.IsZero(), d.ChannelRefundID,
			r.Now.Before(d.AbsenceCountsFrom), d.keyExpired(x.c, r.Now), r.Now.Before(d.MayActUntil))
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

// rareBeginnings are states that a sample of the long stories would seldom reach.
func rareBeginnings(t *testing.T, class string) []Record {
	begin := func(tells ...func(*story)) Record {
		s := tell(t, class)
		for _, f := range tells {
			f(s)
		}
		return s.r
	}
	out := []Record{begin(twoEffects), begin(aPersonKnewBetter), begin(twoNumbersInDoubt), begin(aSecondNumberWaits), begin(anEndIsKnownTooEarly)}
	if class == "listing" {
		out = append(out, begin(aNewerSendIsOpen))
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
				x.starts = append(x.starts, rareBeginnings(t, name)...)
				if *whole {
					x.share = share{all: math.MaxInt, nodes: 1, opens: 1, facts: 1, states: math.MaxInt}
				}
				x.run()
				t.Logf("%d states (%d of the longest), %d seen, %v; %d facts judged", min(len(x.queue), x.share.states), x.deepest, len(x.seen), x.states, x.applied)
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
