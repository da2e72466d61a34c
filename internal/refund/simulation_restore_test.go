package refund

import "slices"

// A restore: the database has the state of a backup again, while the channel and the calls of living processes continue.
// Sending is held until every open refund is marked; a refund that is accepted again is marked, too.

// simBackup is a backup.
type simBackup struct {
	recs      []Record
	lines     []Effect
	payCase   bool
	decisions [2]decisionState
	final     [2]bool
	taken     bool // the restore has happened
}

func (w *simulation) backUp() {
	b := &simBackup{lines: slices.Clone(w.lines), payCase: w.payCase, decisions: w.decisions}
	for i, r := range w.recs {
		b.recs = append(b.recs, clone(r))
		b.final[i] = r.State.Final()
	}
	w.backup = b
}

func (w *simulation) restore() {
	b := w.backup
	if len(b.recs) == 0 || b.taken {
		return
	}
	b.taken, w.epochOpen = true, true
	w.countIf(slices.ContainsFunc(w.ch.calls, func(c *simCall) bool { return !c.executed && c.attempt.Kind == AttemptSend }), "a restore with a send in flight")
	w.countIf(len(w.recs) > len(b.recs), "a restore removed a refund")
	for i := range b.recs {
		w.countIf(b.recs[i].State == StatePending && w.recs[i].State == StateSuccess, "a restore removed a success")
		w.countIf(len(w.recs[i].Dispatches) > len(b.recs[i].Dispatches), "a restore removed a number")
	}
	w.trace("RESTORED")
	w.recs, w.lines, w.payCase = slices.Clone(b.recs), slices.Clone(b.lines), b.payCase
	w.decisions = b.decisions
	for i := range w.decisions {
		w.decisions[i].proposal = nil
	}
	for i := range w.recs {
		w.recs[i].Now, w.recs[i].SendingHeld = w.now(), w.subject.mistake != sendingNotHeld
	}
}

// markNext exposes the next refund that is not marked yet; without one, sending continues in the new epoch.
func (w *simulation) markNext() {
	if !w.epochOpen {
		return
	}
	for i := range w.recs {
		if r := w.recs[i]; !r.State.Final() && !r.MarkedIn(w.epoch+1) {
			w.mark(i, w.epoch+1)
			return
		}
	}
	w.epoch, w.epochOpen = w.epoch+1, false
	for i := range w.recs {
		w.recs[i].SendingHeld = false
	}
	w.count("a new epoch")
}

// mark makes the store's changes before it enters the mark.
func (w *simulation) mark(i, epoch int) {
	r := w.fullRecord(i)
	w.countIf(r.State == StateAccepted, "marked while ACCEPTED")
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
	if w.subject.mistake == onlyKnownNumbersMarked {
		r.Dispatches = r.Dispatches[:len(r.Dispatches)-1]
	}
	r.Epoch = max(r.Epoch, epoch)
	ch, err := w.subject.apply(r, Fact{Kind: EpochMark, Source: "epoch", Actor: "system:epoch"}, w.c)
	if err != nil {
		w.fail("mark: %v", err)
	}
	w.trace("rf_%d %s: marked → %s", i+1, r.State, ch.After.State)
	w.write(i, r, ch)
	w.recs[i].SendingHeld = w.epochOpen
}

// acceptSecond accepts the second refund: for the first time, or again because its caller repeats it.
func (w *simulation) acceptSecond() {
	if len(w.recs) > 1 || w.recs[0].Payment.Refundable() < w.amounts[1] {
		return
	}
	w.acceptRefund(w.recs[0].Payment)
	if !w.backup.taken {
		w.secondRequested = true
		return
	}
	if w.secondRequested {
		w.count("a refund was accepted again after a restore")
	}
	w.recs[1].SendingHeld = w.subject.mistake != sendingNotHeld
	if !w.epochOpen && w.subject.mistake != reappearedNotMarked {
		w.mark(1, w.epoch)
	}
	w.recs[1].SendingHeld = w.epochOpen
}
