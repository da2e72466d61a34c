package refund

import (
	"slices"
	"time"
)

// What must be true, at every moment and in the end.

// checkPayments: never more than one movement for one refund, whatever fails and whoever errs. Only a person may have it sent again,
// and then the first one has come back before.
func (w *simulation) checkPayments() {
	for i := range w.recs {
		t := w.truth(i)
		if (t.standing > 1 || (t.ever > 1 && !w.decisions[i].resent)) && !w.breaksContract {
			w.fail("rf_%d was paid %d times", i+1, t.ever)
		}
	}
	w.countIf(len(w.recs) > 1 && w.recs[0].Exposed && w.recs[len(w.recs)-1].Exposed, "two refunds of a payment exposed at once")
}

// checkCaseOpened: what money did against what people were told, or twice, is never silent. A person's own decision calls nobody.
func (w *simulation) checkCaseOpened(before Record, ch Change) {
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
		w.fail("%s with %d effects that stand", after.State, moved(after))
	case after.Case != nil || !ch.Decision.IsZero():
	case moved(after) > 1 && moved(after) > moved(before):
		w.fail("two effects, and nobody is called")
	case (before.State == StateFailed || before.State == StateCanceled) && after.State == StateSuccess:
		w.fail("money moved against what was told, and nobody is called")
	}
}

// countAnswer counts what an answer's fate shows.
func (w *simulation) countAnswer(call *simCall) {
	r := w.recs[call.refund]
	a, ok := r.Attempt(call.attempt.No)
	w.countIf(!ok || !a.StartedAt.Equal(call.attempt.StartedAt), "an answer whose attempt a restore has cut off")
	w.countIf(ok && a.Generation != r.Generation, "an answer after another owner")
	w.countIf(r.State.Final(), "an answer after the end")
	hidden := slices.ContainsFunc(w.ch.made, func(m *simRefund) bool { return m.number == call.number })
	w.countIf(call.answer.Kind == NotFound && hidden, "a hidden refund was not found")
}

// countFact counts what a fact has shown.
func (w *simulation) countFact(r Record, f Fact, ch Change) {
	after := ch.After
	w.countIf(f.Source == "notice" && r.State == StateProcessing, "a notice before the answer")
	w.countIf(f.Kind == Succeeded && f.Amount != 0 && f.Amount != r.Amount, "another amount than asked for")
	w.countIf(f.Kind == KeyExpired || (r.State == StateUnknown && after.DispatchNo > r.DispatchNo), "a key died in doubt")
	w.countIf(r.AskNo != 0 && after.AskNo == 0 && after.State == StatePending, "an ask was answered: not done")
	w.countIf(r.AskNo != 0 && after.State == StateSuccess, "an ask found the money")
	w.countIf(r.State == StateFailed && after.State == StateSuccess && w.overridden(r), "money moved against a person's word")
	w.countIf(after.Payment.Excess > 0, "more than was captured")
	w.countIf(slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return !e.Ours && e.Status == EffectMoved && e.ChannelRefundID == f.ChannelRefundID
	}) &&
		f.Kind == Succeeded && f.ChannelRefundID != "", "a line that was adopted proved to be ours")
}

func (w *simulation) overridden(r Record) bool {
	return slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return d.Overridden })
}

func (w *simulation) countLines(f *PaymentSet, ch Change) {
	for _, id := range ch.Rows {
		w.count(id)
	}
	if !ch.After.RID.IsZero() {
		return
	}
	for i, e := range ch.After.Effects {
		was := EffectStatus("")
		if i < len(f.Lines) {
			was = f.Lines[i].Status
		}
		w.countIf(was == "" && e.Status == EffectHeld, "a line of nobody's amount was held")
		w.countIf(was == "" && e.Status == EffectMoved, "a line was adopted at once")
		w.countIf(was == EffectHeld && e.Status == EffectMoved, "a held line was adopted")
		w.countIf(was == EffectHeld && e.Status == EffectDropped, "a held line proved to be ours")
	}
}

// runToRest lets everything that is on its way arrive and every notice be told, and works on until nothing moves.
func (w *simulation) runToRest() {
	w.faultsOff = true
	for i := range w.decisions {
		w.decisions[i].proposal = nil
	}
	if w.secondRequested {
		w.acceptSecond()
	}
	if !w.runUntil(3000, func() bool { return !slices.ContainsFunc(w.recs, func(r Record) bool { return !endedOrWithCase(r) }) }) {
		w.fail("not everything came to an end or to a person")
	}
}

// people close every case, now that all has come to rest and they look before they decide.
func (w *simulation) closeCases() {
	closed := w.runUntil(400, func() bool {
		open := w.payCase
		w.acceptExcess()
		for i := range w.recs {
			w.propose(i, false)
			w.applyProposal(i)
			open = open || w.recs[i].Case != nil || !endedOrWithCase(w.recs[i])
		}
		return !open
	})
	if !closed {
		w.fail("people who know everything cannot close a case")
	}
}

// runUntil works on, a second or a wait at a time, until all is at rest and done says so; false = it never came to that.
func (w *simulation) runUntil(rounds int, done func() bool) bool {
	for range rounds {
		w.advance(time.Second)
		w.markNext()
		for _, call := range w.ch.calls {
			w.deliverAnswer(call)
		}
		if w.c.Notices {
			for _, n := range w.ch.notices {
				if !n.delivered {
					w.deliverNotice(n)
				}
			}
		}
		before := 0
		for i := range w.recs {
			before += w.recs[i].JournalSeq
			w.takeOver(i)
			w.runJob(i)
		}
		w.sweepLines()
		now := 0
		for i := range w.recs {
			now += w.recs[i].JournalSeq
		}
		busy := w.busy()
		if before == now && !busy && !w.epochOpen && done() {
			return true
		}
		if !busy {
			w.advanceToNextTimer()
		}
	}
	return false
}

func (w *simulation) sweepLines() {
	if slices.ContainsFunc(w.lines, func(e Effect) bool { return e.Status == EffectHeld }) || slices.ContainsFunc(w.recs, func(r Record) bool { return r.Case.Has(CaseUnmatchedLine) }) {
		w.settleLines(w.paymentSet("list"))
	}
}

func endedOrWithCase(r Record) bool { return (r.State.Final() && !r.Exposed) || r.Case != nil }

func (w *simulation) busy() bool {
	pending := slices.ContainsFunc(w.ch.made, func(r *simRefund) bool { return r.status == simPending })
	return pending || slices.ContainsFunc(w.ch.calls, func(c *simCall) bool { return !c.executed })
}

// advanceToNextTimer jumps to the next time at which anything is due.
func (w *simulation) advanceToNextTimer() {
	var next time.Time
	for i := range w.recs {
		r := w.fullRecord(i)
		if step := w.subject.decide(r, w.c, r.Now); step.Kind == StepWait {
			if next.IsZero() || step.Until.Before(next) {
				next = step.Until
			}
		} else if step.Kind != StepDone {
			return
		}
	}
	if next.After(w.now()) {
		w.advance(next.Sub(w.now()))
	}
}

// compareWithChannel compares the books with the truth, once before people close the cases and once after.
func (w *simulation) compareWithChannel(closed bool) {
	w.checkPayments()
	for i, r := range w.recs {
		booked, effects, byPerson := w.booked(i)
		t := w.truth(i)
		lost := w.backup.taken && w.backup.final[i]
		switch {
		case w.agrees(i):
		case !closed && (r.Exposed || r.Case != nil): // a person is looking, the amount is reserved or held
		case lost: // its end was told before the backup; what the channel told later went with the restore
		case w.backup.taken && effects == t.ever: // it came back, and that was told before the restore
		case byPerson: // what a person confirmed got its id from a line of equal amount, and is not taken back any more
		case w.decisions[i].wrong: // and the channel has told nothing since
		case w.amountMisreported: // a return of another amount than was said before is booked by nobody
		case w.breaksContract && (!w.c.Notices || w.backup.taken): // nothing tells what it did against its promises
		case booked > t.moved && !w.c.Notices: // it came back, and this channel tells nobody
		default:
			w.fail("rf_%d: the channel moved %d, the books say %d in %s with case %v", i+1, t.moved, booked, r.State, reasonsOf(r.Case))
		}
		w.seen["ended "+string(r.State)]++
	}
}
