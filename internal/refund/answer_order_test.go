package refund

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sets of answers in every order (rule R37 of docs/rules.md): up to four answers to up to three sends that are open together, of
// one number or of two, each send somewhere before its answer. The end, the reservation, the live number and the reasons of the
// case must depend on the set alone. Sets with a success or an acknowledgement are left out: there the rules of money come first.

// setAnswer is one answer: to a send, or an end of a number that a notice reports, or a proof of its absence. anotherSend is a send.
type setAnswer struct {
	dispatch int
	kind     FactKind
	code     string
}

const anotherSend = FactKind("send")

func (a setAnswer) ofSend() bool {
	return a.kind != FailedFinal && a.kind != NotFound && a.kind != anotherSend
}

// How a set of answers is entered.
const (
	concludeLast  = iota // what follows from the answers is entered after the last one
	concludeEager        // … after each of them
	lastInFlight         // the owner of the last send is at work
)

func (a setAnswer) String() string { return fmt.Sprintf("%d:%s%s", a.dispatch, a.kind, a.code) }

// openSends returns a refund that has sends without an answer, so long ago that an absence counts: first of number 1, and second of
// number 2, which follows a proven absence of number 1.
func openSends(t *testing.T, c Contract, first, second int) (Record, bool) {
	t.Helper()
	s := &scenario{t: t, r: newRecord(), c: c}
	s.addSends(1, first)
	if second == 0 {
		return s.r, true
	}
	if !c.canAsk() {
		return s.r, false // number 2 follows only a disproved number 1
	}
	s.proveAbsence(1)
	s.r.Dispatches[0].KeyExpiresAt = s.now()
	s.conclude(KeyExpired, "")
	s.addSends(2, second)
	return s.r, true
}

// addSends adds sends of the live number a second apart, without their answers, and waits until an absence counts.
func (s *scenario) addSends(no, n int) {
	s.t.Helper()
	d, _ := s.r.Dispatch(no)
	for range n {
		s.r.AttemptNo++
		s.r.Generation++
		a := Attempt{No: s.r.AttemptNo, DispatchNo: no, Kind: AttemptSend, Epoch: 1, Generation: s.r.Generation, StartedAt: s.now(), NotAfter: s.now().Add(sendWindow)}
		d.AbsenceCountsFrom = a.NotAfter.Add(s.c.Horizon.D() + s.c.questionTerms().VisibilityLag.D())
		s.r.Attempts = append(s.r.Attempts, a)
		s.wait(time.Second)
	}
	d.Exposed, s.r.Exposed, s.r.State, s.r.PendingReason, s.r.StateSince = true, true, StateUnknown, "", s.now()
	s.r.Now = d.AbsenceCountsFrom.Add(time.Second)
}

// proveAbsence reads as many absences of a number as the contract wants.
func (s *scenario) proveAbsence(no int) {
	s.t.Helper()
	for range s.c.questionTerms().Readings {
		var attempt int
		s.r, attempt = ask(s.r, no, s.c, s.now())
		s.answerWith(attempt, NotFound)
		s.wait(time.Second)
	}
}

// conclusions enters what follows from the answers without another call.
func (s *scenario) conclusions() {
	s.t.Helper()
	for range 8 {
		step := Decide(s.r, s.c, s.now())
		if step.Kind != StepSettle && step.Kind != StepRetireKey && step.Kind != StepOpenCase {
			return
		}
		s.enter(conclusionOf(step, s.r.Generation))
	}
	s.t.Fatal("conclusions follow each other without end")
}

// orderWalk enters one set of answers in every order and compares the ends. Orders with the same beginning share its record.
type orderWalk struct {
	t         *testing.T
	c         Contract
	mode      int
	oneNumber bool
	orders    int
	want, by  string
}

// walk enters what is left after done, in every order.
func (w *orderWalk) walk(r Record, done, left []setAnswer) {
	if len(left) == 0 {
		w.finish(r, done)
		return
	}
	for i, a := range left {
		next := append(slices.Clone(done), a)
		if slices.Contains(left[:i], a) || (w.oneNumber && !sendsBetween(next)) {
			continue
		}
		w.walk(w.enter(r, a), next, append(slices.Clone(left[:i]), left[i+1:]...))
	}
}

func (w *orderWalk) enter(r Record, a setAnswer) Record {
	w.t.Helper()
	s := &scenario{t: w.t, r: clone(r), c: w.c}
	switch a.kind {
	case anotherSend:
		s.addSends(a.dispatch, 1)
	case NotFound:
		s.proveAbsence(a.dispatch)
	case FailedFinal:
		s.notice(FailedFinal, a.dispatch, "")
	default:
		i := slices.IndexFunc(s.r.Attempts, func(x Attempt) bool { return x.DispatchNo == a.dispatch && x.Kind == AttemptSend && x.Answer == "" })
		s.answer(s.r.Attempts[i].No, Answer{Kind: a.kind, Code: a.code})
	}
	if w.mode == concludeEager {
		s.conclusions()
	}
	return s.r
}

// finish enters what follows from the answers, and compares the end.
func (w *orderWalk) finish(r Record, done []setAnswer) {
	w.t.Helper()
	s := &scenario{t: w.t, r: clone(r), c: w.c}
	if s.r.State == StateProcessing {
		s.wait(leaseTime)
		s.conclude(LeaseEnd, "")
	}
	s.conclusions()
	next := s.r.DispatchNo
	if s.r.State.Final() {
		next = 0 // nothing is sent any more: a number that was opened and never sent has no meaning
	}
	got := fmt.Sprintf("%s reserved=%d next=%d exposed=%v case=%v", s.r.State, s.r.Payment.Reserved, next, s.r.Exposed, reasonsOf(s.r.Case))
	if s.r.State == StatePending && s.r.answered(s.r.DispatchNo, RefusedNewNumber) && s.r.Case == nil {
		got += " and sends a number that the channel does not take"
	}
	w.orders++
	if w.want == "" {
		w.want, w.by = got, fmt.Sprint(done, w.mode)
	}
	if got != w.want || strings.Contains(got, "does not take") {
		w.t.Fatalf("%v, mode %d: %s\nbut %s: %s", done, w.mode, got, w.by, w.want)
	}
}

// setsOfAnswers returns the sets of one to four answers.
func setsOfAnswers(c Contract, first, second int) [][]setAnswer {
	kinds := []setAnswer{{kind: RefusedClean}, {kind: RefusedNewNumber, code: "spent"}, {kind: RefusedEcho}, {kind: Retryable}, {kind: NotSent}, {kind: Unknown}}
	if c.Key.KeepsAnswer {
		kinds = append(kinds, setAnswer{kind: RefusedNewNumber, code: "insufficient_balance"})
	}
	var possible []setAnswer
	for no := 1; no <= 2 && (no == 1 || second > 0); no++ {
		for _, k := range kinds {
			possible = append(possible, setAnswer{no, k.kind, k.code})
		}
		possible = append(possible, setAnswer{no, FailedFinal, ""})
		if c.canAsk() {
			possible = append(possible, setAnswer{no, NotFound, ""})
		}
	}
	var out [][]setAnswer
	var add func(set []setAnswer, from int)
	add = func(set []setAnswer, from int) {
		if len(set) > 0 {
			out = append(out, slices.Clone(set))
		}
		for i := from; i < len(possible) && len(set) < 4; i++ {
			if next := append(slices.Clone(set), possible[i]); fits(next, first, second) {
				add(next, i)
			}
		}
	}
	add(nil, 0)
	return out
}

// fits reports whether a set has at most one answer for each send, and each end of a number at most once.
func fits(set []setAnswer, first, second int) bool {
	sends := map[int]int{}
	for i, a := range set {
		if a.ofSend() {
			sends[a.dispatch]++
		} else if slices.Contains(set[:i], a) {
			return false
		}
	}
	return sends[1] <= first && sends[2] <= second
}

// sendsBetween reports whether the sends of an order are open together: each goes out while an earlier one is open, and before
// any end of the number.
func sendsBetween(order []setAnswer) bool {
	open := 1
	for i, a := range order {
		switch {
		case a.kind == anotherSend && (open == 0 || slices.ContainsFunc(order[:i], func(x setAnswer) bool { return x.kind != anotherSend && !x.ofSend() })):
			return false
		case a.kind == anotherSend:
			open++
		case a.ofSend() && open == 0:
			return false
		case a.ofSend():
			open--
		}
	}
	return true
}

// endOfSets enters every set in every order and returns the numbers of sets and orders.
func endOfSets(t *testing.T, c Contract, first, second int, ends map[string]int) (sets, orders int) {
	t.Helper()
	atStart, later := first, []setAnswer(nil)
	if second == 0 { // all sends but the first may go out between the answers
		atStart, later = 1, slices.Repeat([]setAnswer{{1, anotherSend, ""}}, first-1)
	}
	start, possible := openSends(t, c, atStart, second)
	if !possible {
		return 0, 0
	}
	flying := start // the owner of the last send is at work
	flying.State, flying.LeaseEndsAt = StateProcessing, start.Now.Add(leaseTime)
	for _, set := range setsOfAnswers(c, first, second) {
		sets++
		w := &orderWalk{t: t, c: c, oneNumber: second == 0}
		for w.mode = range lastInFlight + 1 {
			switch {
			case w.mode != lastInFlight:
				w.walk(start, nil, slices.Concat(later, set))
			case len(later) == 0: // a key is replayed in UNKNOWN
				w.walk(flying, nil, set)
			}
		}
		orders += w.orders
		ends[strings.Fields(w.want)[0]]++
	}
	return sets, orders
}

func TestTheEndDependsOnTheSetOfAnswersAndNotOnTheirOrder(t *testing.T) {
	t.Parallel()
	for _, profile := range Profiles() {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			c, _ := Profile(profile)
			sets, orders, ends := 0, 0, map[string]int{}
			for _, sends := range [][2]int{{1, 0}, {2, 0}, {3, 0}, {1, 1}, {2, 1}, {1, 2}} {
				s, o := endOfSets(t, c, sends[0], sends[1], ends)
				sets, orders = sets+s, orders+o
			}
			t.Logf("%d sets of answers in %d orders: %v", sets, orders, ends)
		})
	}
}
