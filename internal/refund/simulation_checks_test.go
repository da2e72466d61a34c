package refund

import (
	"slices"
	"time"
)

// Promises that must hold after every step and in the end.

// checkPayments: no refund moves money more than once, whatever fails and whoever errs. Only a decision may send it again,
// after the first money came back.
func (sim *simulation) checkPayments() {
	for i := range sim.recs {
		t := sim.truth(i)
		if (t.standing > 1 || (t.ever > 1 && !sim.decisions[i].resent)) && !sim.breaksContract && !sim.lineErrors[i] {
			sim.fail("rf_%d was paid %d times", i+1, t.ever)
		}
	}
	sim.countIf(len(sim.recs) > 1 && sim.recs[0].Exposed && sim.recs[len(sim.recs)-1].Exposed, "two refunds of a payment exposed at once")
}

// checkSendOfLines: while the payment has excess that nobody accepted, nothing of it is sent.
func (sim *simulation) checkSendOfLines(r Record) {
	if p := r.Payment; p.Excess > p.ExcessAccepted {
		sim.fail("rf_%d was sent while %d more was refunded than captured, and nobody had accepted it", r.RID[15]-6, p.Excess-p.ExcessAccepted)
	}
}

// checkIDs: a channel refund id that was known for money of the payment stays known, for whomever.
func (sim *simulation) checkIDs(before Record, ch Change) {
	for _, e := range before.Effects {
		known := func(other Effect) bool { return other.ChannelRefundID == e.ChannelRefundID }
		if e.Status == EffectMoved && e.ChannelRefundID != "" && !slices.ContainsFunc(ch.After.Effects, known) && !slices.Contains(ch.Rows, "line/line_unpaired") {
			sim.fail("the books have forgotten %s", e.ChannelRefundID)
		}
	}
}

// checkKnownIDs: a line that says "moved" of a channel refund which the channel had given to a number of ours is booked for it.
func (sim *simulation) checkKnownIDs(lines []ListedEffect) {
	for _, l := range lines {
		for i, r := range sim.recs {
			for _, d := range r.Dispatches {
				booked := slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.ChannelRefundID == l.ChannelRefundID })
				if l.Status == Succeeded && l.ChannelRefundID != "" && d.ChannelRefundID == l.ChannelRefundID && !booked {
					sim.fail("rf_%d has %s, a line says that it moved, and it is not booked", i+1, l.ChannelRefundID)
				}
			}
		}
	}
}

// checkCaseOpened: money that moved twice, or after the refund was reported as not done, opens a case, except by a person's
// own decision.
func (sim *simulation) checkCaseOpened(before Record, ch Change) {
	after := ch.After
	moved := func(r Record) (n int) {
		for _, e := range r.Effects {
			if e.Ours && e.Status == EffectMoved {
				n++
			}
		}
		return n
	}
	switch {
	case (after.State == StateSuccess) != (moved(after) > 0):
		sim.fail("%s with %d standing effects", after.State, moved(after))
	case after.Case != nil || !ch.Decision.IsZero():
	case moved(after) > 1 && moved(after) > moved(before):
		sim.fail("two effects, and no case")
	case (before.State == StateFailed || before.State == StateCanceled) && after.State == StateSuccess:
		sim.fail("money moved after the refund was reported as not done, and there is no case")
	}
}

// countAnswer counts the states that an answer shows.
func (sim *simulation) countAnswer(call *simCall) {
	r := sim.recs[call.refund]
	a, ok := r.Attempt(call.attempt.No)
	sim.countIf(!ok || !a.StartedAt.Equal(call.attempt.StartedAt), "an answer whose attempt a restore has removed")
	sim.countIf(ok && a.Generation != r.Generation, "an answer after another owner")
	sim.countIf(r.State.Final(), "an answer after the end")
	hidden := slices.ContainsFunc(sim.ch.made, func(m *simRefund) bool { return m.number == call.number })
	sim.countIf(call.answer.Kind == NotFound && hidden, "a hidden refund was not found")
}

// countFact counts the states that a fact shows.
func (sim *simulation) countFact(r Record, f Fact, ch Change) {
	after := ch.After
	sim.countIf(f.Source == "notice" && r.State == StateProcessing, "a notice before the answer")
	sim.countIf(f.Kind == Succeeded && f.Amount != 0 && f.Amount != r.Amount, "another amount than requested")
	sim.countIf(f.Kind == KeyExpired || (r.State == StateUnknown && after.DispatchNo > r.DispatchNo), "a key expired in doubt")
	sim.countIf(r.AskNo != 0 && after.AskNo == 0 && after.State == StatePending, "an ask was answered: not done")
	sim.countIf(r.AskNo != 0 && after.State == StateSuccess, "an ask was answered: moved")
	sim.countIf(r.State == StateFailed && after.State == StateSuccess && sim.overridden(r), "money moved after a decision said not done")
	sim.countIf(after.Payment.Excess > 0, "more than was captured")
	sim.countIf(slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return !e.Ours && e.Status == EffectMoved && e.ChannelRefundID == f.ChannelRefundID
	}) &&
		f.Kind == Succeeded && f.ChannelRefundID != "", "an adopted line proved to be ours")
}

func (sim *simulation) overridden(r Record) bool {
	return slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return d.Overridden })
}

func (sim *simulation) countLines(f *PaymentSet, ch Change) {
	for _, id := range ch.Rows {
		sim.count(id)
	}
	if !ch.After.RID.IsZero() {
		return
	}
	for i, e := range ch.After.Effects {
		was := EffectStatus("")
		if i < len(f.Lines) {
			was = f.Lines[i].Status
		}
		sim.countIf(was == "" && e.Status == EffectHeld, "a line of an unknown amount was held")
		sim.countIf(was == "" && e.Status == EffectMoved, "a line was adopted at once")
		sim.countIf(was == EffectHeld && e.Status == EffectMoved, "a held line was adopted")
		sim.countIf(was == EffectHeld && e.Status == EffectDropped, "a held line proved to be ours")
	}
}

// runToRest delivers all answers and notices, and runs jobs until nothing changes.
func (sim *simulation) runToRest() {
	sim.faultsOff = true
	for i := range sim.decisions {
		sim.decisions[i].proposal = nil
	}
	if sim.secondRequested {
		sim.acceptSecond()
	}
	if !sim.runUntil(6000, func() bool { return !slices.ContainsFunc(sim.recs, func(r Record) bool { return !sim.atRest(r) }) }) {
		for i := range sim.recs {
			r := sim.fullRecord(i)
			sim.trace("rf_%d %s exposed=%v case=%v next %+v", i+1, r.State, r.Exposed, reasonsOf(r.Case), sim.subject.decide(r, sim.c, r.Now))
		}
		sim.fail("not everything came to an end or to a case")
	}
}

// closeCases lets people close every case after everything has come to rest.
func (sim *simulation) closeCases() {
	closed := sim.runUntil(400, func() bool {
		open := sim.payCase
		sim.acceptExcess()
		for i := range sim.recs {
			sim.propose(i, false)
			sim.applyProposal(i)
			open = open || sim.recs[i].Case != nil || !sim.atRest(sim.recs[i])
		}
		return !open
	})
	if !closed {
		sim.fail("people who know everything cannot close a case")
	}
}

// runUntil runs, a second or a wait at a time, until nothing changes and done returns true; false = that never happened.
func (sim *simulation) runUntil(rounds int, done func() bool) bool {
	for range rounds {
		sim.advance(time.Second)
		sim.markNext()
		for _, call := range sim.ch.calls {
			sim.deliverAnswer(call)
		}
		if sim.c.Notices {
			for _, n := range sim.ch.notices {
				if !n.delivered {
					sim.deliverNotice(n)
				}
			}
		}
		before := 0
		for i := range sim.recs {
			before += sim.recs[i].JournalSeq
			sim.takeOver(i)
			sim.runJob(i)
		}
		sim.sweepLines()
		now := 0
		for i := range sim.recs {
			now += sim.recs[i].JournalSeq
		}
		busy := sim.busy()
		if before == now && !busy && !sim.epochOpen && done() {
			return true
		}
		if !busy {
			sim.advanceToNextTimer()
		}
	}
	return false
}

func (sim *simulation) sweepLines() {
	if slices.ContainsFunc(sim.lines, func(e Effect) bool { return e.Status == EffectHeld || e.Status == EffectMoved }) ||
		slices.ContainsFunc(sim.recs, func(r Record) bool {
			return r.Case.Has(CaseUnmatchedLine) || (r.Case.Has(CaseExcess) && !r.Payment.excessUnaccepted())
		}) {
		sim.settleLines(sim.paymentSet("list"))
	}
}

func (sim *simulation) busy() bool {
	pending := slices.ContainsFunc(sim.ch.made, func(r *simRefund) bool { return r.status == simPending })
	return pending || slices.ContainsFunc(sim.ch.calls, func(c *simCall) bool { return !c.executed })
}

// advanceToNextTimer advances to the next due time.
func (sim *simulation) advanceToNextTimer() {
	var next time.Time
	for i := range sim.recs {
		r := sim.fullRecord(i)
		if step := sim.subject.decide(r, sim.c, r.Now); step.Kind == StepWait {
			if next.IsZero() || step.Until.Before(next) {
				next = step.Until
			}
		} else if step.Kind != StepDone {
			return
		}
	}
	if next.After(sim.now()) {
		sim.advance(next.Sub(sim.now()))
	}
}

// compareWithChannel compares the books with the channel, once before people close the cases and once after.
func (sim *simulation) compareWithChannel(closed bool) {
	sim.checkPayments()
	for i, r := range sim.recs {
		booked, effects, byPerson := sim.booked(i)
		t := sim.truth(i)
		lost := sim.backup.taken && sim.backup.final[i]
		switch {
		case sim.agrees(i):
		case !closed && (r.Exposed || r.Case != nil): // a case is open, the amount is reserved or held
		case lost: // it ended before the backup; a later notice of the channel was lost with the restore
		case sim.backup.taken && effects == t.ever: // the money came back, and that was reported before the restore
		case sim.lineErrors[i]: // nothing but a person's word told whose the line was
		case byPerson: // a confirmed effect got its id from a line of equal amount, and is not taken back any more
		case sim.decisions[i].wrong: // and the channel has sent no notice since
		case closed && sim.oddReturn[i]: // it could not be booked then, which a person has seen in the case
		case sim.amountMisreported: // a return of another amount than reported before is not booked
		case sim.breaksContract && (!sim.c.Notices || sim.backup.taken || sim.ch.anySilent()): // nothing reports what it did against its contract
		case booked > t.moved && (!sim.c.Notices || t.silent): // the money came back, and no notice tells it
		default:
			sim.fail("rf_%d: the channel moved %d, the books say %d in %s with case %v", i+1, t.moved, booked, r.State, reasonsOf(r.Case))
		}
		sim.seen["ended "+string(r.State)]++
	}
}
