package refund

import (
	"slices"
	"time"
)

// What must be true, at every moment and in the end.

// watch: never more than one movement for one refund, whatever fails and whoever errs. Only a person may have it sent again,
// and then the first one has come back before.
func (w *world) watch() {
	for i := range w.recs {
		t := w.truth(i)
		if (t.standing > 1 || (t.ever > 1 && !w.people[i].resent)) && !w.liar {
			w.fail("rf_%d was paid %d times", i+1, t.ever)
		}
	}
	w.someIf(len(w.recs) > 1 && w.recs[0].Exposed && w.recs[len(w.recs)-1].Exposed, "two refunds of a payment exposed at once")
}

// calls: what money did against what people were told, or twice, is never silent. A person's own decision calls nobody.
func (w *world) calls(before Record, ch Change) {
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

// watchAnswer counts what an answer's fate shows.
func (w *world) watchAnswer(call *simCall) {
	r := w.recs[call.refund]
	a, ok := r.Attempt(call.attempt.No)
	w.someIf(!ok || !a.StartedAt.Equal(call.attempt.StartedAt), "an answer whose attempt a restore has cut off")
	w.someIf(ok && a.Generation != r.Generation, "an answer after another owner")
	w.someIf(r.State.Final(), "an answer after the end")
	hidden := slices.ContainsFunc(w.ch.made, func(m *simRefund) bool { return m.number == call.number })
	w.someIf(call.answer.Kind == NotFound && hidden, "a hidden refund was not found")
}

// watchFact counts what a fact has shown.
func (w *world) watchFact(r Record, f Fact, ch Change) {
	after := ch.After
	w.someIf(f.Source == "notice" && r.State == StateProcessing, "a notice before the answer")
	w.someIf(f.Kind == Succeeded && f.Amount != 0 && f.Amount != r.Amount, "another amount than asked for")
	w.someIf(f.Kind == KeyExpired || (r.State == StateUnknown && after.DispatchNo > r.DispatchNo), "a key died in doubt")
	w.someIf(r.AskNo != 0 && after.AskNo == 0 && after.State == StatePending, "an ask was answered: not done")
	w.someIf(r.AskNo != 0 && after.State == StateSuccess, "an ask found the money")
	w.someIf(r.State == StateFailed && after.State == StateSuccess && w.decreed(r), "money moved against a person's word")
	w.someIf(after.Payment.Excess > 0, "more than was captured")
	w.someIf(slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return !e.Ours && e.Status == EffectMoved && e.ChannelRefundID == f.ChannelRefundID
	}) &&
		f.Kind == Succeeded && f.ChannelRefundID != "", "a line that was adopted proved to be ours")
}

func (w *world) decreed(r Record) bool {
	return slices.ContainsFunc(r.Dispatches, func(d Dispatch) bool { return d.Overridden })
}

func (w *world) watchLines(f *PaymentSet, ch Change) {
	for _, id := range ch.Rows {
		w.some(id)
	}
	if !ch.After.RID.IsZero() {
		return
	}
	for i, e := range ch.After.Effects {
		was := EffectStatus("")
		if i < len(f.Lines) {
			was = f.Lines[i].Status
		}
		w.someIf(was == "" && e.Status == EffectHeld, "a line of nobody's amount was held")
		w.someIf(was == "" && e.Status == EffectMoved, "a line was adopted at once")
		w.someIf(was == EffectHeld && e.Status == EffectMoved, "a held line was adopted")
		w.someIf(was == EffectHeld && e.Status == EffectDropped, "a held line proved to be ours")
	}
}

// drain lets everything that is on its way arrive and every notice be told, and works on until nothing moves.
func (w *world) drain() {
	w.quiet = true
	for i := range w.people {
		w.people[i].proposal = nil
	}
	if w.wished {
		w.accepts()
	}
	if !w.until(3000, func() bool { return !slices.ContainsFunc(w.recs, func(r Record) bool { return !settledOrCased(r) }) }) {
		w.fail("not everything came to an end or to a person")
	}
}

// people close every case, now that all has come to rest and they look before they decide.
func (w *world) closeCases() {
	closed := w.until(400, func() bool {
		open := w.payCase
		w.acceptExcess()
		for i := range w.recs {
			w.propose(i, false)
			w.takesEffect(i)
			open = open || w.recs[i].Case != nil || !settledOrCased(w.recs[i])
		}
		return !open
	})
	if !closed {
		w.fail("people who know everything cannot close a case")
	}
}

// until works on, a second or a wait at a time, until all is at rest and done says so; false = it never came to that.
func (w *world) until(rounds int, done func() bool) bool {
	for range rounds {
		w.pass(time.Second)
		w.marks()
		for _, call := range w.ch.calls {
			w.hear(call)
		}
		if w.c.Notices {
			for _, n := range w.ch.notices {
				if !n.told {
					w.tell(n)
				}
			}
		}
		before := 0
		for i := range w.recs {
			before += w.recs[i].JournalSeq
			w.takeOver(i)
			w.work(i)
		}
		w.sweepLines()
		now := 0
		for i := range w.recs {
			now += w.recs[i].JournalSeq
		}
		busy := w.busy()
		if before == now && !busy && !w.held && done() {
			return true
		}
		if !busy {
			w.skip()
		}
	}
	return false
}

func (w *world) sweepLines() {
	if slices.ContainsFunc(w.lines, func(e Effect) bool { return e.Status == EffectHeld }) || slices.ContainsFunc(w.recs, func(r Record) bool { return r.Case.Has(CaseUnmatchedLine) }) {
		w.settleLines(w.family("list"))
	}
}

func settledOrCased(r Record) bool { return (r.State.Final() && !r.Exposed) || r.Case != nil }

func (w *world) busy() bool {
	pending := slices.ContainsFunc(w.ch.made, func(r *simRefund) bool { return r.status == simPending })
	return pending || slices.ContainsFunc(w.ch.calls, func(c *simCall) bool { return !c.done })
}

// skip jumps to the next time at which anything is due.
func (w *world) skip() {
	var next time.Time
	for i := range w.recs {
		r := w.full(i)
		if step := w.play.decide(r, w.c, r.Now); step.Kind == StepWait {
			if next.IsZero() || step.Until.Before(next) {
				next = step.Until
			}
		} else if step.Kind != StepDone {
			return
		}
	}
	if next.After(w.now()) {
		w.pass(next.Sub(w.now()))
	}
}

// judge compares the books with the truth, once before people close the cases and once after.
func (w *world) judge(closed bool) {
	w.watch()
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
		case w.people[i].erred: // and the channel has told nothing since
		case w.misread: // a return of another amount than was said before is booked by nobody
		case w.liar && (!w.c.Notices || w.backup.taken): // nothing tells what it did against its promises
		case booked > t.moved && !w.c.Notices: // it came back, and this channel tells nobody
		default:
			w.fail("rf_%d: the channel moved %d, the books say %d in %s with case %v", i+1, t.moved, booked, r.State, reasonsOf(r.Case))
		}
		w.seen["ended "+string(r.State)]++
	}
}
