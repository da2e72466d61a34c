package refund

import (
	"slices"
	"testing"
	"time"
)

// Bugs around the two pure functions: claims, calls, decisions, lines, epochs. A simulation makes at most one of them, on
// request.
const (
	onlyKnownNumbersMarked = "an epoch marks only the numbers that it knows"
	reappearedNotMarked    = "a refund that is seen again is not marked"
	sendingNotHeld         = "sending is not held while an epoch is open"
	restoreNotSeen         = "a restore shows no sign: nothing is held or marked"
	twoOwners              = "a lease excludes nobody"
	windowWithoutEnd       = "a send may leave after its time"
	partialListProves      = "an incomplete list proves absence"
	lostAttemptAnswered    = "the answer of a lost attempt completes the one that has its ordinal"
	resendWithoutAsking    = "a resend does not ask first"
	linesLostWithCase      = "a held line is forgotten with its case"
	passesLaterIsEcho      = "a refusal that passes later counts as an echo"
	passesLaterIsRetryable = "a refusal that passes later counts as retryable"
	lineProvesNothing      = "a line that nobody explains does not stop a repeat"
	knownIDsIgnored        = "a line with the known id of a number is nobody's"
	answersForgotten       = "a person's answer about a line is not stored"
	excessStopsNothing     = "excess that nobody accepted does not stop a send"
	lineOfSwapForgotten    = "the id that a refund had from a line is forgotten when the channel gives it another one"
)

// claim makes the record's owner of the next call.
func (sim *simulation) claim(r Record, kind AttemptKind, no int) (Record, int, bool) {
	switch sim.subject.mistake {
	case twoOwners:
		r.LeaseEndsAt = time.Time{}
	case sendingNotHeld:
		r.SendingHeld = false
	case excessStopsNothing:
		payment := r.Payment
		r.Payment.ExcessAccepted = payment.Excess
		next, no, ok := claim(r, kind, no, sim.c, sim.now())
		next.Payment = payment
		return next, no, ok
	}
	return claim(r, kind, no, sim.c, sim.now())
}

// sendWindow returns how long a request may leave.
func (sim *simulation) sendWindow(a Attempt) time.Duration {
	if sim.subject.mistake == windowWithoutEnd {
		return a.NotAfter.Sub(sim.now()) + time.Minute
	}
	return a.NotAfter.Sub(sim.now()) - time.Millisecond
}

// applyDecision applies a decision.
func (sim *simulation) applyDecision(r Record, d Decision) (Change, error) {
	ch, err := ApplyDecision(r, d, sim.c)
	switch sim.subject.mistake {
	case resendWithoutAsking:
		ch.After.AskNo = 0
	case answersForgotten:
		ch.After.NotOurs = r.NotOurs
	}
	return ch, err
}

// answerOf returns the fact of a call's answer.
func (sim *simulation) answerOf(call *simCall) Fact {
	f := FactOf(call.attempt, call.answer)
	switch sim.subject.mistake {
	case partialListProves:
		if call.plan.incompleteList && call.plan.answers && f.Kind == Unknown {
			f.Kind = NotFound
		}
	case lostAttemptAnswered:
		if _, ok := sim.recs[call.refund].Attempt(f.Attempt); ok {
			f.AttemptAt = time.Time{}
		}
	case passesLaterIsEcho, passesLaterIsRetryable:
		if slices.Contains(sim.c.Codes.PassesLater, f.Code) {
			f.Kind = map[string]FactKind{passesLaterIsEcho: RefusedEcho, passesLaterIsRetryable: Retryable}[sim.subject.mistake]
		}
	}
	return f
}

// plantedAroundCore returns the bugs of the simulation, and those of the two functions that need a channel, people or a
// restore to show.
func plantedAroundCore() []plantedBug {
	var out []plantedBug
	for _, m := range []string{onlyKnownNumbersMarked, reappearedNotMarked, sendingNotHeld, restoreNotSeen, twoOwners, windowWithoutEnd,
		partialListProves, lostAttemptAnswered, resendWithoutAsking, linesLostWithCase, lineProvesNothing, knownIDsIgnored, answersForgotten,
		lineOfSwapForgotten, excessStopsNothing, contradictionBelieved, passesLaterIsEcho, passesLaterIsRetryable} {
		p := plantedBug{bug: m, mistake: m}
		switch m {
		case resendWithoutAsking, lineOfSwapForgotten:
			p.class = "listing"
		case onlyKnownNumbersMarked:
			p.notInSimulation = "a list shows the lost number as a line that stops the repeat; TestEpochQueriesThenSendsUnderANewNumber has the case"
		case twoOwners:
			p.decide = sendsBesideAnOwner
		case excessStopsNothing:
			p.decide = alteredDecide(func(r *Record, _ *Contract) { r.Payment.ExcessAccepted = r.Payment.Excess })
		case lineProvesNothing:
			p.apply = applyWithoutLines
		case lostAttemptAnswered:
			p.notInSimulation = "an ordinal is seldom reused while its first answer is in flight; TestAnswerOfALostAttempt has the case"
		}
		out = append(out, p)
	}
	return append(out,
		plantedBug{bug: "no visibility lag", apply: altered(func(r *Record, _ *Fact, c *Contract) { earlyAbsence(r, c, 0, c.Horizon.D()) }),
			decide: alteredDecide(func(_ *Record, c *Contract) { c.Query.VisibilityLag, c.List.VisibilityLag = 0, 0 })},
		plantedBug{bug: "no horizon", apply: altered(func(r *Record, _ *Fact, c *Contract) { earlyAbsence(r, c, c.questionTerms().VisibilityLag.D(), 1) }),
			decide: alteredDecide(func(_ *Record, c *Contract) { c.Horizon = 1 })},
		plantedBug{bug: "a key that is kept only after a 2xx is replayed", decide: alteredDecide(func(_ *Record, c *Contract) {
			if c.Key.After2xx {
				c.Key.ReplaysState, c.List.Exists = true, false
			}
		})},
		plantedBug{bug: "the next number while the first may be executed", decide: func(r Record, c Contract, now time.Time) Step {
			if d, _ := r.Dispatch(r.DispatchNo); r.State == StateUnknown && r.Case == nil && r.DispatchNo == 1 && r.numberSpent(*d, c, now) {
				return Step{Kind: StepSend, Dispatch: 1}
			}
			return Decide(r, c, now)
		}},
		plantedBug{bug: "nobody takes over", apply: withoutRules("lease-end")},
		plantedBug{bug: "an epoch's exposure ends by an answer from before", apply: altered(func(r *Record, _ *Fact, _ *Contract) { r.SendingHeld = false })},
		plantedBug{bug: "the excess is not counted again", apply: func(r Record, f Fact, c Contract) (Change, error) {
			ch, err := Apply(r, f, c)
			ch.After.Payment.Excess = r.Payment.Excess
			return ch, err
		}},
		plantedBug{bug: "no deadline", decide: func(r Record, c Contract, now time.Time) Step {
			if s := Decide(r, c, now); s.Kind != StepOpenCase {
				return s
			}
			return Step{Kind: StepWait, Until: now.Add(caseRecheck)}
		}},
	)
}

// sendsBesideAnOwner ignores the owner of a refund.
func sendsBesideAnOwner(r Record, c Contract, now time.Time) Step {
	if r.State == StateProcessing && r.LeaseEndsAt.After(now) && r.Case == nil {
		return Step{Kind: StepSend, Dispatch: r.DispatchNo}
	}
	return Decide(r, c, now)
}

// applyWithoutLines is Apply without regard to lines that may be the refund.
func applyWithoutLines(r Record, f Fact, c Contract) (Change, error) {
	blind := r
	blind.NotOurs = everyLine(r.Effects)
	ch, err := Apply(blind, f, c)
	ch.Before, ch.After.NotOurs = r, r.NotOurs
	return ch, err
}

func everyLine(effects []Effect) map[RID]bool {
	out := map[RID]bool{}
	for _, e := range effects {
		out[e.ID] = !e.Ours
	}
	return out
}

// disownByMachine gives the answer that only a person may give, when nothing of the refund is exposed.
func (sim *simulation) disownByMachine(r *Record) {
	if sim.subject.mistake == lineProvesNothing && !r.Exposed {
		r.NotOurs = everyLine(sim.lines)
	}
}

// about returns whom a line is about.
func (sim *simulation) about(f *PaymentSet, l ListedEffect) (k RefundRef, dispatch int, ok bool) {
	k, dispatch, ok = f.About(l)
	return k, dispatch, ok && (sim.subject.mistake != knownIDsIgnored || l.Number != "")
}

// forgetLine drops the line that a change has made of a refund's former id.
func (sim *simulation) forgetLine(ch *Change) {
	if sim.subject.mistake == lineOfSwapForgotten && slices.Contains(ch.Rows, "succeeded/attached") {
		last := len(ch.After.Effects) - 1
		if ch.After.Effects[last].Status != EffectHeld {
			return
		}
		ch.After.Payment.Held -= ch.After.Effects[last].Counted
		ch.After.Effects = ch.After.Effects[:last]
	}
}

// earlyAbsence makes an absence count as if lag and horizon were these.
func earlyAbsence(r *Record, c *Contract, lag, horizon time.Duration) {
	c.Query.VisibilityLag, c.List.VisibilityLag, c.Horizon = Duration(lag), Duration(lag), Duration(horizon)
	for i := range r.Dispatches {
		r.Dispatches[i].AbsenceCountsFrom = time.Time{}
	}
}

// alteredDecide is Decide with an altered input.
func alteredDecide(blur func(*Record, *Contract)) decideFunc {
	return func(r Record, c Contract, now time.Time) Step {
		blur(&r, &c)
		return Decide(r, c, now)
	}
}

// enough is the number of runs within which a planted bug must show.
const enough = 10_000

// TestSimulationFindsPlantedBugs: each rule that is switched off breaks a promise in some run, within enough of them.
func TestSimulationFindsPlantedBugs(t *testing.T) {
	t.Parallel()
	cs, named := contracts(t), classes(t)
	all := slices.Concat(plantedAroundCore(), plantedInOrder(), plantedInWaiting(), plantedInEvidence(), plantedInTable(), plantedInDecide())
	for _, p := range all {
		if p.notInSimulation != "" {
			continue
		}
		t.Run(p.bug, func(t *testing.T) {
			t.Parallel()
			code := implementation{apply: Apply, decide: Decide, mistake: p.mistake, disorder: p.disorder}
			if p.apply != nil {
				code.apply = p.apply
			}
			if p.decide != nil {
				code.decide = p.decide
			}
			for seed := range uint64(enough) {
				c := cs[seed%uint64(len(cs))]
				if own, ok := named[p.class]; ok && seed%2 == 0 { // half of the runs are of the class in which the bug matters
					c = own
				}
				if s := runSimulation(seed, c, code, map[string]int{}, -1, false); s.violation != "" {
					t.Logf("run %d, %s: %s", seed, c.Profile, s.violation)
					return
				}
			}
			t.Errorf("%d runs did not find it", enough)
		})
	}
}
