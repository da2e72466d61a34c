package refund

import (
	"slices"
	"time"
)

// Promises about the order of answers (rule R37 of docs/rules.md), and the planted bugs that break them.

// checkSend: a number that the channel has refused is not sent again from PENDING, a clean refusal is never followed by another
// number, and after a low balance the next number waits.
func (sim *simulation) checkSend(i, no int) {
	r := sim.recs[i]
	sim.checkPace(i, no)
	if r.State != StatePending {
		return // a replay: an earlier send of the number is still open
	}
	for at := no; at > 0; at-- {
		d, _ := r.Dispatch(at)
		if d.Overridden {
			return // a person has asked for the next number
		}
		sent := false
		for _, a := range r.Attempts {
			if a.DispatchNo != at || a.Kind != AttemptSend {
				continue
			}
			sent = true
			low := a.Code != "" && slices.Contains(sim.c.Codes.LowBalance, a.Code)
			switch {
			case a.Answer == RefusedClean:
				sim.fail("number %d is sent although number %d was refused", no, at)
			case at == no && sim.spent[d.Number] && d.MarkedEpoch == 0:
				sim.fail("number %d is sent again although the channel does not take it", no)
			case a.Answer == RefusedNewNumber && low && d.MarkedEpoch == 0 && sim.now().Sub(a.AnsweredAt) < time.Minute:
				sim.fail("number %d is sent %v after a low balance", no, sim.now().Sub(a.AnsweredAt))
			case a.Answer == RefusedNewNumber && low:
				sim.count("a number was sent after a low balance")
			}
		}
		if sent {
			return
		}
	}
}

// noteSpent notes a number that the first answer of a send says the channel does not take. The record may be wrong about it.
func (sim *simulation) noteSpent(i int, f Fact) {
	a, ok := sim.recs[i].Attempt(f.Attempt)
	if f.Kind != RefusedNewNumber || !ok || a.Kind != AttemptSend || a.Answer != "" || f.answersLostAttempt(a) {
		return
	}
	if d, ok := sim.recs[i].Dispatch(f.Dispatch); ok {
		sim.spent[d.Number] = true
	}
}

// checkFailure: a refund that no person ends is FAILED only by a refusal, an echo, a negative end, or a second number that the
// channel does not take.
func (sim *simulation) checkFailure(before Record, ch Change) {
	if ch.After.State != StateFailed || before.State == StateFailed || !ch.Decision.IsZero() {
		return
	}
	taken := 0
	for _, a := range ch.After.Attempts {
		switch {
		case a.Kind != AttemptSend:
		case slices.Contains(sim.c.Codes.PassesLater, a.Code) && a.Code != "":
		case a.Answer == RefusedClean || a.Answer == RefusedEcho:
			return
		case a.Answer == RefusedNewNumber && !slices.Contains(sim.c.Codes.LowBalance, a.Code):
			taken++
		}
	}
	ended := slices.ContainsFunc(ch.After.Dispatches, func(d Dispatch) bool { return !d.FinalNegativeAt.IsZero() })
	if !ended && taken == 0 {
		sim.fail("FAILED by %v, and nothing refused it", ch.Rows)
	}
}

// hideOlderAnswers hides the answers of a kind that came before another answer of the same number, as if only the last one counted.
// answering is the attempt that is answered now; 0 = none.
func hideOlderAnswers(kind FactKind) func(r *Record, answering int) {
	return func(r *Record, answering int) {
		for i := range r.Attempts {
			a := &r.Attempts[i]
			newer := slices.ContainsFunc(r.Attempts, func(b Attempt) bool {
				return b.DispatchNo == a.DispatchNo && b.Kind == AttemptSend && b.No != a.No &&
					(b.No == answering || (b.Answer != "" && b.AnsweredAt.After(a.AnsweredAt)))
			})
			if a.Kind == AttemptSend && a.Answer == kind && newer {
				a.Answer = Retryable
			}
		}
	}
}

// hideOlderNumbers hides what was answered about older numbers than the live one.
func hideOlderNumbers(r *Record, _ int) {
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.DispatchNo < r.DispatchNo && a.Answer == RefusedClean {
			a.Answer = Retryable
		}
	}
}

func withoutSimulation(p plantedBug, why string) plantedBug {
	p.notInSimulation = why
	return p
}

// plantedInOrder returns the bugs of the ranking of answers.
func plantedInOrder() []plantedBug {
	hidden := func(bug string, hide func(*Record, int)) plantedBug {
		return plantedBug{bug: bug, disorder: true, apply: altered(func(r *Record, f *Fact, _ *Contract) { hide(r, f.Attempt) }),
			decide: alteredDecide(func(r *Record, _ *Contract) {
				*r = clone(*r)
				hide(r, 0)
			})}
	}
	return []plantedBug{
		hidden("a refusal counts only as the last answer", hideOlderAnswers(RefusedClean)),
		hidden("a number that the channel does not take counts only as the last answer", hideOlderAnswers(RefusedNewNumber)),
		withoutSimulation(hidden("a late refusal of the number before does not stop the next one", hideOlderNumbers),
			"the next number is unsent for moments only; TestALateRefusalOfTheNumberBefore has the case"),
		{bug: "a low balance is not waited for", decide: func(r Record, c Contract, now time.Time) Step {
			s := Decide(r, c, now)
			if s.Kind == StepWait && s.Why == PendingLowBalance && r.firstTry(r.DispatchNo).IsZero() {
				return Step{Kind: StepSend, Dispatch: r.DispatchNo}
			}
			return s
		}},
		{bug: "a low balance counts as a spent number", apply: altered(func(_ *Record, _ *Fact, c *Contract) { c.Codes.LowBalance = nil }),
			decide: alteredDecide(func(_ *Record, c *Contract) { c.Codes.LowBalance = nil })},
	}
}
