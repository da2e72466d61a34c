package refund

import (
	"fmt"
	"slices"
	"time"
)

// stepBreaks returns the promises that a step would break. The reference, not the code, says what is exposed.
func stepBreaks(r Record, c Contract, now time.Time, s Step) []string {
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	o := newReference(r, Fact{}, c)
	o.r.Now = now
	clear := o.clear()
	switch s.Kind {
	case StepSend:
		out = append(out, sendBreaks(o, s, clear)...)
	case StepQuery, StepList:
		if (s.Kind == StepQuery && !c.Query.Exists) || (s.Kind == StepList && !c.List.Exists) {
			say("%s is used at a channel that has none", s.Kind)
		}
		if r.State == StateProcessing {
			say("asks while the send is in flight")
		}
	case StepSettle:
		over := slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return d.Exposed && !o.exposedNo(d.Ordinal) })
		if !clear && !over {
			say("settles what is exposed")
		}
	case StepRetireKey:
		if !clear || r.State != StatePending || !o.spent() {
			say("opens a next number in %s, clear=%v", r.State, clear)
		}
	case StepOpenCase:
		if r.Case != nil || r.State.Final() {
			say("opens a case beside %v in %s", reasonsOf(r.Case), r.State)
		}
	case StepDone:
		if !r.State.Final() || !clear || r.Case != nil {
			say("done in %s, clear=%v, case %v", r.State, clear, reasonsOf(r.Case))
		}
	case StepWait:
		if s.Until.IsZero() {
			say("waits for ever")
		}
		if s.Until.Sub(now) > 6*time.Hour || (s.Why != PendingLowBalance && s.Until.Sub(now) > time.Hour) {
			say("waits for %v", s.Until.Sub(now))
		}
	default:
		say("unknown step %q", s.Kind)
	}
	return out
}

// sendBreaks checks a send. It needs PENDING with nothing exposed, or a key replay that rule R6 of docs/rules.md allows. It
// is wrong with a case that is not only of waiting, an open proposal, an open ask, an expired key or another number than the live one, and after an ambiguous send at a
// channel with neither key nor question (P2).
func sendBreaks(o *reference, s Step, clear bool) []string {
	var out []string
	r, c := o.r, o.c
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if !onlyWaiting(r.Case) || r.ProposalOpen || r.AskNo != 0 || s.Dispatch != r.DispatchNo || r.SendingHeld || o.keyExpired(o.live()) {
		say("sends %d with case %v, proposal %v, ask %d, live %d, held %v, key expired %v", s.Dispatch, reasonsOf(r.Case), r.ProposalOpen, r.AskNo,
			r.DispatchNo, r.SendingHeld, o.keyExpired(o.live()))
	}
	if o.hopeless() && clear {
		say("sends what was refused for good")
	}
	if all, _ := o.answersOf(r.DispatchNo); r.State == StatePending && (all[RefusedNewNumber] || all[lowBalance]) {
		say("sends a number that the channel does not take")
	}
	for _, e := range r.Effects {
		if e.Ours && e.Status == EffectMoved {
			say("sends after an effect")
		}
	}
	var last time.Time
	doubt := false
	for _, a := range r.Attempts {
		if a.Kind == AttemptSend && a.DispatchNo == r.DispatchNo {
			last = later(last, a.NotAfter)
		}
		doubt = doubt || (a.Kind == AttemptSend && !slices.Contains([]FactKind{NotSent, Retryable, RefusedClean, RefusedNewNumber}, a.Answer))
	}
	replay := c.Key.Dedupes && c.Key.ReplaysState && (r.State == StateUnknown || r.State == StateAccepted) &&
		(c.Key.InFlightRefused || !r.Now.Before(last.Add(c.Horizon.D())))
	if !(r.State == StatePending && clear) && !replay {
		say("sends in %s, clear=%v, replay allowed=%v", r.State, clear, replay)
	}
	resent := slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return d.Overridden })
	ended := slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return !d.FinalNegativeAt.IsZero() })
	if doubt && !c.Key.Dedupes && !c.Query.Exists && !c.List.Exists && !resent && !ended {
		say("P2: an automatic repeat after an ambiguous send")
	}
	return out
}

// checkStep checks the steps of Decide now and at later times.
func (x *explorer) checkStep(n node) {
	for _, d := range []time.Duration{0, time.Second, 15 * time.Second, 5 * time.Minute, 2 * time.Hour, 30 * time.Hour, 200 * time.Hour} {
		now := n.r.Now.Add(d)
		for _, proposal := range []bool{false, true} {
			r := n.r
			if r.ProposalOpen = proposal; proposal && r.Case == nil {
				continue
			}
			for _, msg := range stepBreaks(r, x.c, now, x.decide(r, x.c, now)) {
				x.fail(n.path, fmt.Sprintf("Decide in %s after %v: %s", r.State, d, msg))
			}
		}
	}
}
