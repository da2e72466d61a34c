package refund

import (
	"slices"
	"time"
)

// Promises about waiting: cases that only call a person, proposals that stop sends, growing waits between sends; and the planted
// bugs that break them.

// checkPace: nothing is sent under an open proposal or a case that is not only of waiting, and the waits between the sends of a
// number grow.
func (sim *simulation) checkPace(i, no int) {
	r := sim.recs[i]
	switch {
	case sim.proposalOpen(i):
		sim.fail("rf_%d is sent under the proposal %s", i+1, sim.decisions[i].proposal.Action)
	case !onlyWaiting(r.Case):
		sim.fail("rf_%d is sent under a case of %v", i+1, reasonsOf(r.Case))
	}
	sim.countIf(r.Case != nil, "a send under a case of waiting")
	sends, last := 0, Attempt{}
	for _, a := range r.Attempts {
		if a.DispatchNo == no && a.Kind == AttemptSend {
			sends, last = sends+1, a
		}
	}
	if sends == 0 {
		return
	}
	least := 15 * time.Minute
	if sends < 8 {
		least = time.Duration([]int{1, 3, 9, 27, 81, 243, 729}[sends-1]) * time.Second
	}
	since := last.StartedAt
	if r.State == StatePending {
		since = later(since, last.AnsweredAt)
	}
	if gap := sim.now().Sub(since); gap < least*4/5 {
		sim.fail("send %d of number %d follows after %v", sends+1, no, gap)
	}
	sim.countIf(last.Code != "" && slices.Contains(sim.c.Codes.PassesLater, last.Code), "a number was sent again after it had to pass later")
}

// checkWaiting: an acknowledgement answers the reasons of waiting, and an answer that counts for nothing writes no journal row, so
// that it voids no proposal.
func (sim *simulation) checkWaiting(before Record, ch Change) {
	after := ch.After
	if after.State == StateAccepted && before.State != StateAccepted && (after.Case.Has(CaseDeadline) || after.Case.Has(CaseNoStep)) {
		sim.fail("ACCEPTED with a case of %v", reasonsOf(after.Case))
	}
	if ch.Attempt == nil || (ch.Attempt.Answer != Unknown && ch.Attempt.Answer != NotFound) {
		return
	}
	same := after.State == before.State && after.Exposed == before.Exposed && slices.Equal(reasonsOf(after.Case), reasonsOf(before.Case)) &&
		after.AskNo == before.AskNo && !slices.ContainsFunc(after.Dispatches, func(d Dispatch) bool {
		was, ok := before.Dispatch(d.Ordinal)
		return !ok || was.Exposed != d.Exposed
	})
	if before.Case != nil && same && after.JournalSeq != before.JournalSeq {
		sim.fail("the answer %s changes nothing and voids a proposal: %v", ch.Attempt.Answer, ch.Rows)
	}
}

// atRest reports whether a refund has ended, or waits for a person because the contract allows no further step.
func (sim *simulation) atRest(r Record) bool {
	switch {
	case r.State.Final() && !r.Exposed:
		return true
	case sim.waitsForExcess(r):
		return true
	case r.Case == nil:
		return false
	}
	if !onlyWaiting(r.Case) || r.State.Final() || !sim.stepLeft(r) {
		return true
	}
	if step := sim.subject.decide(r, sim.c, r.Now); step.Kind == StepWait && step.Why != PendingLowBalance && step.Until.Sub(r.Now) > 20*time.Minute {
		sim.fail("%s with a case of %v waits for %v, although the contract allows a step", r.State, reasonsOf(r.Case), step.Until.Sub(r.Now))
	}
	return false
}

// waitsForExcess reports whether only a send is left, and the payment has excess that nobody accepted. The payment's case says so.
func (sim *simulation) waitsForExcess(r Record) bool {
	asks := r.AskNo != 0 || (r.State != StatePending && (r.Case == nil || sim.c.Query.Exists || sim.c.List.Exists))
	return r.Payment.excessUnaccepted() && !asks
}

// stepLeft reports whether the contract allows another step without a person.
func (sim *simulation) stepLeft(r Record) bool {
	o := newReference(r, Fact{}, sim.c)
	o.r.Now = sim.now()
	live := o.live()
	switch {
	case r.State == StateProcessing:
		return true
	case r.State == StatePending && r.AskNo == 0:
		return !o.spent() || o.first(r.DispatchNo)
	case sim.c.Query.Exists || sim.c.List.Exists:
		return true
	}
	return sim.c.Key.ReplaysState && live.Exposed && live.MarkedEpoch == 0 && !o.keyExpired(live)
}

// plantedInWaiting returns the bugs of cases of waiting, of proposals and of the pace of sends.
func plantedInWaiting() []plantedBug {
	return []plantedBug{
		{bug: "a case of waiting stops what the evidence allows", decide: func(r Record, c Contract, now time.Time) Step {
			step := Decide(r, c, now)
			if r.Case != nil && (step.Kind == StepSend || step.Kind == StepRetireKey) {
				return recheck(now)
			}
			return step
		}},
		{bug: "a case of waiting stops the replay of a key", decide: func(r Record, c Contract, now time.Time) Step {
			step := Decide(r, c, now)
			if r.Case != nil && r.State != StatePending && step.Kind == StepSend {
				return recheck(now)
			}
			return step
		}},
		{bug: "an acknowledgement leaves the reasons of waiting", apply: func(r Record, f Fact, c Contract) (Change, error) {
			ch, err := Apply(r, f, c)
			if ch.After.State == StateAccepted && r.Case.Has(CaseDeadline) && ch.After.Case == nil {
				ch.After.Case = r.Case
			}
			return ch, err
		}},
		{bug: "an unclear answer of a replay voids a proposal", apply: withRule("unknown/again", func(row *rule) { row.silent = false })},
		{bug: "a contradiction that is known voids a proposal", apply: withRule("absent/contradiction", func(row *rule) { row.silent = false }),
			notInSimulation: "an acknowledged refund is seldom missed twice; TestAnAnswerThatCountsForNothingVoidsNoProposal has the case"},
		{bug: "the backoff of sends begins anew with each round", disorder: true, decide: alteredDecide(func(r *Record, _ *Contract) {
			last, _ := r.lastSend(r.DispatchNo)
			r.Attempts = slices.DeleteFunc(slices.Clone(r.Attempts), func(a Attempt) bool {
				return r.State == StatePending && a.Kind == AttemptSend && a.DispatchNo == r.DispatchNo && a.No != last.No
			})
		})},
	}
}
