package refund

import "slices"

// A restore: the database is again what it was at the time of a backup, while the channel, and the calls of processes that
// are still alive, go on. Sending is held until every open refund is marked; one that is first seen again is marked, too.

// copyOf is a backup.
type copyOf struct {
	recs    []Record
	lines   []Effect
	payCase bool
	people  [2]bench
	final   [2]bool
	taken   bool // the restore has happened
}

func (w *world) saves() {
	b := &copyOf{lines: slices.Clone(w.lines), payCase: w.payCase, people: w.people}
	for i, r := range w.recs {
		b.recs = append(b.recs, clone(r))
		b.final[i] = r.State.Final()
	}
	w.backup = b
}

func (w *world) restores() {
	b := w.backup
	if len(b.recs) == 0 || b.taken {
		return
	}
	b.taken, w.held = true, true
	w.someIf(slices.ContainsFunc(w.ch.calls, func(c *simCall) bool { return !c.done && c.attempt.Kind == AttemptSend }), "a restore with a send on its way")
	w.someIf(len(w.recs) > len(b.recs), "a restore that lost a refund")
	for i := range b.recs {
		w.someIf(b.recs[i].State == StatePending && w.recs[i].State == StateSuccess, "a restore to before a success was sent")
		w.someIf(len(w.recs[i].Dispatches) > len(b.recs[i].Dispatches), "a restore that lost a number")
	}
	w.note("RESTORED")
	w.recs, w.lines, w.payCase = slices.Clone(b.recs), slices.Clone(b.lines), b.payCase
	w.people = b.people
	for i := range w.people {
		w.people[i].proposal = nil
	}
	for i := range w.recs {
		w.recs[i].Now, w.recs[i].SendingHeld = w.now(), w.play.mistake != sendingNotHeld
	}
}

// marks exposes the next refund that is not marked yet; when there is none, sending goes on in the new epoch.
func (w *world) marks() {
	if !w.held {
		return
	}
	for i := range w.recs {
		if r := w.recs[i]; !r.State.Final() && !r.MarkedIn(w.epoch+1) {
			w.mark(i, w.epoch+1)
			return
		}
	}
	w.epoch, w.held = w.epoch+1, false
	for i := range w.recs {
		w.recs[i].SendingHeld = false
	}
	w.some("a new epoch")
}

// mark does to a refund what the store does before it enters the mark.
func (w *world) mark(i, epoch int) {
	r := w.full(i)
	w.someIf(r.State == StateAccepted, "marked while the channel had it")
	r.Dispatches = slices.Clone(r.Dispatches)
	r.Dispatches = append(r.Dispatches, Dispatch{Ordinal: len(r.Dispatches) + 1, Number: w.number(i, len(r.Dispatches)+1), Exposed: true, Retired: true})
	for n := range r.Dispatches {
		d := &r.Dispatches[n]
		d.MarkedEpoch, d.Retired, d.Exposed = epoch, true, !d.Overridden
		if d.KeyExpiresAt.IsZero() || d.KeyExpiresAt.After(w.now()) {
			d.KeyExpiresAt = w.now()
		}
		d.MayActUntil = later(d.MayActUntil, w.now().Add(LongestLease))
	}
	if w.play.mistake == onlyKnownNumbersMarked {
		r.Dispatches = r.Dispatches[:len(r.Dispatches)-1]
	}
	r.Epoch = max(r.Epoch, epoch)
	ch, err := w.play.apply(r, Fact{Kind: EpochMark, Source: "epoch", Actor: "system:epoch"}, w.c)
	if err != nil {
		w.fail("mark: %v", err)
	}
	w.note("rf_%d %s: marked → %s", i+1, r.State, ch.After.State)
	w.wrote(i, r, ch)
	w.recs[i].SendingHeld = w.held
}

// accepts takes the second refund in: for the first time, or again because its caller was never told, or was and repeats it.
func (w *world) accepts() {
	if len(w.recs) > 1 || w.recs[0].Payment.Refundable() < w.amounts[1] {
		return
	}
	w.birth(w.recs[0].Payment)
	if !w.backup.taken {
		w.wished = true
		return
	}
	if w.wished {
		w.some("a refund was seen again after a restore")
	}
	w.recs[1].SendingHeld = w.play.mistake != sendingNotHeld
	if !w.held && w.play.mistake != reappearedNotMarked {
		w.mark(1, w.epoch)
	}
	w.recs[1].SendingHeld = w.held
}
