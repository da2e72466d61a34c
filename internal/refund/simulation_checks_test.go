package refund

import (
	"slices"
	"time"
)

// Promises that must hold after every step and in the end.

// checkPayments: no refund moves money more than once, whatever fails and whoever errs. Only a decision may send it again,
// after the first money came back.
func (w *simulation) checkPayments() {
	for i := range w.recs {
		t := w.truth(i)
		if (t.standing > 1 || (t.ever > 1 && !w.decisions[i].resent)) && !w.breaksContract {
			w.fail("rf_%d was paid %d times", i+1, t.ever)
		}
	}
	w.countIf(len(w.recs) > 1 && w.recs[0].Exposed && w.recs[len(w.recs)-1].Exposed, "two refunds of a payment exposed at once")
}

// checkCaseOpened: money that moved twice, or after the refund was reported as not done, opens a case, except by a person's
// own decision.
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
		w.fail("%s with %d standing effects", after.State, moved(after))
	case after.Case != nil || !ch.Decision.IsZero():
	case moved(after) > 1 && moved(after) > moved(before):
		w.fail("two effects, and no case")
	case (before.State == StateFailed || before.State == StateCanceled) && after.State == StateSuccess:
		w.fail("money moved after the refund was reported as not done, and there is no case")
	}
}

// countAnswer counts the states that an answer shows.
func (w *simulation) countAnswer(call *simCall) {
	r := w.recs[call.refund]
	a, ok := r.Attempt(call.attempt.No)
	w.countIf(!ok || !a.StartedAt.Equal(call.attempt.StartedAt), "an answer whose attempt a restore has removed")
	w.countIf(ok && a.Generation != r.Generation, "an answer after another owner")
	w.countIf(r.State.Final(), "an answer after the end")
	hidden := slices.ContainsFunc(w.ch.made, func(m *simRefund) bool { return m.number == call.number })
	w.countIf(call.answer.Kind == NotFound && hidden, "a hidden refund was not found")
}

// countFact counts the states that a fact shows.
func (w *simulation) countFact(r Record, f Fact, ch Change) {
	after := ch.After
	w.countIf(f.Source == "notice" && r.State == StateProcessing, "a notice before the answer")
	w.countIf(f.Kind == Succeeded && f.Amount != 0 && f.Amount != r.Amount, "another amount than requested")
	w.countIf(f.Kind == KeyExpired || (r.State == StateUnknown && after.DispatchNo > r.DispatchNo), "a key expired in doubt")
	w.countIf(r.AskNo != 0 && after.AskNo == 0 && after.State == StatePending, "an ask was answered: not done")
	w.countIf(r.AskNo != 0 && after.State == StateSuccess, "an ask was answered: moved")
	w.countIf(r.State == StateFailed && after.State == StateSuccess && w.overridden(r), "money moved after a decision said not done")
	w.countIf(after.Payment.Excess > 0, "more than was captured")
	w.countIf(slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return !e.Ours && e.Status == EffectMoved && e.ChannelRefundID == f.ChannelRefundID
	}) &&
		f.Kind == Succeeded && f.ChannelRefundID != "", "an adopted line proved to be ours")
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
		w.countIf(was == "" && e.Status == EffectHeld, "a line of an unknown amount was held")
		w.countIf(was == "" && e.Status == EffectMoved, "a line was adopted at once")
		w.countIf(was == EffectHeld && e.Status == EffectMoved, "a held line was adopted")
		w.countIf(was == EffectHeld && e.Status == EffectDropped, "a held line proved to be ours")
	}
}

// runToRest delivers all answers and notices, and runs jobs until nothing changes.
func (w *simulation) runToRest() {
	w.faultsOff = true
	for i := range w.decisions {
		w.decisions[i].proposal = nil
	}
	if w.secondRequested {
		w.acceptSecond()
	}
	if !w.runUntil(3000, func() bool { return !slices.ContainsFunc(w.recs, func(r Record) bool { return !endedOrWithCase(r) }) }) {
		w.fail("not everything came to an end or to a case")
	}
}

// closeCases lets people close every case after everything has come to rest.
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

// runUntil runs, a second or a wait at a time, until nothing changes and done returns true; false = that never happened.
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
	if slices.ContainsFunc(w.lines, func(e Effect) bool { return e.Status == EffectHeld }) ||
		slices.ContainsFunc(w.recs, func(r Record) bool { return r.Case.Has(CaseUnmatchedLine) }) {
		w.settleLines(w.paymentSet("list"))
	}
}

func endedOrWithCase(r Record) bool { return (r.State.Final() && !r.Exposed) || r.Case != nil }

func (w *simulation) busy() bool {
	pending := slices.ContainsFunc(w.ch.made, func(r *simRefund) bool { return r.status == simPending })
	return pending || slices.ContainsFunc(w.ch.calls, func(c *simCall) bool { return !c.executed })
}

// advanceToNextTimer advances to the next due time.
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

// compareWithChannel compares the books with the channel, once before people close the cases and once after.
func (w *simulation) compareWithChannel(closed bool) {
	w.checkPayments()
	for i, r := range w.recs {
		booked, effects, byPerson := w.booked(i)
		t := w.truth(i)
		lost := w.backup.taken && w.backup.final[i]
		switch {
		case w.agrees(i):
		case !closed && (r.Exposed || r.Case != nil): // a case is open, the amount is reserved or held
		case lost: // it ended before the backup; a later notice of the channel was lost with the restore
		case w.backup.taken && effects == t.ever: // the money came back, and that was reported before the restore
		case byPerson: // a confirmed effect got its id from a line of equal amount, and is not taken back any more
		case w.decisions[i].wrong: // and the channel has sent no notice since
		case w.amountMisreported: // a return of another amount than reported before is not booked
		case w.breaksContract && (!w.c.Notices || w.backup.taken): // nothing reports what it did against its contract
		case booked > t.moved && !w.c.Notices: // the money came back, and this channel has no notices
		default:
			w.fail("rf_%d: the channel moved %d, the books say %d in %s with case %v", i+1, t.moved, booked, r.State, reasonsOf(r.Case))
		}
		w.seen["ended "+string(r.State)]++
	}
}
