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

func (sim *simulation) backUp() {
	b := &simBackup{lines: slices.Clone(sim.lines), payCase: sim.payCase, decisions: sim.decisions}
	for i, r := range sim.recs {
		b.recs = append(b.recs, clone(r))
		b.final[i] = r.State.Final()
	}
	sim.backup = b
}

func (sim *simulation) restore() {
	b := sim.backup
	if len(b.recs) == 0 || b.taken {
		return
	}
	b.taken, sim.epochOpen = true, sim.subject.mistake != restoreNotSeen
	sim.countIf(slices.ContainsFunc(sim.ch.calls, func(c *simCall) bool { return !c.executed && c.attempt.Kind == AttemptSend }),
		"a restore with a send in flight")
	sim.countIf(len(sim.recs) > len(b.recs), "a restore removed a refund")
	for i := range b.recs {
		sim.countIf(b.recs[i].State == StatePending && sim.recs[i].State == StateSuccess, "a restore removed a success")
		sim.countIf(len(sim.recs[i].Dispatches) > len(b.recs[i].Dispatches), "a restore removed a number")
	}
	sim.trace("RESTORED")
	sim.recs, sim.lines, sim.payCase = slices.Clone(b.recs), slices.Clone(b.lines), b.payCase
	sim.decisions = b.decisions
	for i := range sim.decisions {
		sim.decisions[i].proposal = nil
	}
	for i := range sim.recs {
		sim.recs[i].Now, sim.recs[i].SendingHeld = sim.now(), sim.holdsSending()
	}
}

// holdsSending reports whether a restored record shows that sending is held.
func (sim *simulation) holdsSending() bool {
	return sim.subject.mistake != sendingNotHeld && sim.subject.mistake != restoreNotSeen
}

// markNext exposes the next refund that is not marked yet; without one, sending continues in the new epoch.
func (sim *simulation) markNext() {
	if !sim.epochOpen {
		return
	}
	for i := range sim.recs {
		if r := sim.recs[i]; !r.State.Final() && !r.MarkedIn(sim.epoch+1) {
			sim.mark(i, sim.epoch+1)
			return
		}
	}
	sim.epoch, sim.epochOpen = sim.epoch+1, false
	for i := range sim.recs {
		sim.recs[i].SendingHeld = false
	}
	sim.count("a new epoch")
}

// mark makes the store's changes before it enters the mark.
func (sim *simulation) mark(i, epoch int) {
	r := sim.fullRecord(i)
	sim.countIf(r.State == StateAccepted, "marked while ACCEPTED")
	r.Dispatches = slices.Clone(r.Dispatches)
	r.Dispatches = append(r.Dispatches, Dispatch{Ordinal: len(r.Dispatches) + 1, Number: sim.number(i, len(r.Dispatches)+1), Exposed: true, Retired: true})
	for n := range r.Dispatches {
		d := &r.Dispatches[n]
		d.MarkedEpoch, d.Retired, d.Exposed = epoch, true, !d.Overridden
		if d.KeyExpiresAt.IsZero() || d.KeyExpiresAt.After(sim.now()) {
			d.KeyExpiresAt = sim.now()
		}
		d.LostSendUntil = later(d.LostSendUntil, sim.now().Add(LongestLease))
	}
	if sim.subject.mistake == onlyKnownNumbersMarked {
		r.Dispatches = r.Dispatches[:len(r.Dispatches)-1]
	}
	r.Epoch = max(r.Epoch, epoch)
	ch, err := sim.subject.apply(r, Fact{Kind: EpochMark, Source: "epoch", Actor: "system:epoch"}, sim.c)
	if err != nil {
		sim.fail("mark: %v", err)
	}
	sim.trace("rf_%d %s: marked → %s", i+1, r.State, ch.After.State)
	sim.write(i, r, ch)
	sim.recs[i].SendingHeld = sim.epochOpen
}

// acceptSecond accepts the second refund: for the first time, or again because its caller repeats it.
func (sim *simulation) acceptSecond() {
	if len(sim.recs) > 1 || sim.recs[0].Payment.Refundable() < sim.amounts[1] {
		return
	}
	sim.acceptRefund(sim.recs[0].Payment)
	if !sim.backup.taken {
		sim.secondRequested = true
		return
	}
	if sim.secondRequested {
		sim.count("a refund was accepted again after a restore")
	}
	sim.recs[1].SendingHeld = sim.holdsSending()
	if !sim.epochOpen && sim.subject.mistake != reappearedNotMarked && sim.subject.mistake != restoreNotSeen {
		sim.mark(1, sim.epoch)
	}
	sim.recs[1].SendingHeld = sim.epochOpen
}
