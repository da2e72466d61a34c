package refund

import (
	"errors"
	"slices"
)

// Decisions in the simulation: one person proposes, another approves, and the decision takes effect later, when no request
// can be executed any more and the refund has not changed. Most people read the channel's books first; some guess.

// decisionState is the open proposal of a refund and its past decisions.
type decisionState struct {
	proposal *Decision
	resent   bool
	wrong    bool // a decision that took effect was wrong
}

// channelTruth is the channel's state of a refund, under all its numbers.
type channelTruth struct {
	moved    int64
	standing int  // refunds whose money moved and stayed
	ever     int  // refunds that ever moved money
	open     bool // its state may still change
	id       string
	silent   bool // the channel sends no notices about one of them
}

func (sim *simulation) truth(i int) (t channelTruth) {
	for _, r := range sim.ch.made {
		if owner, ok := sim.owner(r.number); !ok || owner != i {
			continue
		}
		if r.status == simMoved {
			t.moved, t.standing, t.id = t.moved+r.amount, t.standing+1, r.id
		}
		if r.everMoved && (!r.unnumbered || r.status != simReturned) { // what came back without our number held nothing back
			t.ever++
		}
		t.open, t.silent = t.open || r.status == simPending, t.silent || r.silent
	}
	for _, c := range sim.ch.calls {
		t.open = t.open || (c.refund == i && !c.executed && c.attempt.Kind == AttemptSend)
	}
	return t
}

// booked returns the booked amount and number of effects. A decision confirms a movement without its amount, and a channel
// that breaks its contract reports other amounts.
func (sim *simulation) booked(i int) (sum int64, effects int, byPerson bool) {
	for _, e := range sim.recs[i].Effects {
		if e.Status == EffectMoved {
			sum, effects, byPerson = sum+e.Amount, effects+1, byPerson || (e.ByPerson && !sim.named[e.ID])
		}
	}
	return sum, effects, byPerson
}

// agrees reports whether books and channel agree.
func (sim *simulation) agrees(i int) bool {
	sum, effects, byPerson := sim.booked(i)
	t := sim.truth(i)
	return sum == t.moved || ((byPerson || sim.breaksContract) && effects == t.standing)
}

// propose proposes a decision for a refund's case: the correct one, or any possible one.
func (sim *simulation) propose(i int, guess bool) {
	r := sim.fullRecord(i)
	if r.Case == nil {
		return
	}
	var possible []Choice
	for _, c := range Allowed(r, sim.c, sim.now()) {
		if c.Allowed {
			possible = append(possible, c)
		}
	}
	chosen := sim.correctChoice(i, possible)
	if guess {
		chosen = possible[sim.random(len(possible))]
	}
	d := &Decision{ID: sim.newID(), CaseID: r.Case.ID, Action: chosen.Action, JournalSeq: r.JournalSeq, Excess: r.Payment.Excess, Evidence: "ticket 4711",
		Maker: "ann", Checker: "bob", MadeAt: sim.now(), Verdict: DecisionApproved}
	if len(chosen.Lines) > 0 {
		d.EffectID = sim.lineToAttach(i, chosen.Lines, guess)
	}
	d.BothHappened = d.EffectID.IsZero() && (!guess || sim.chance(50))
	sim.decisions[i].proposal = d
}

// lineToAttach returns the held line to attach: the refund's own, if there is one.
func (sim *simulation) lineToAttach(i int, lines []RID, guess bool) RID {
	if guess && sim.chance(50) {
		return lines[sim.random(len(lines))]
	}
	id := sim.truth(i).id
	for _, e := range sim.lines {
		if e.ChannelRefundID == id && slices.Contains(lines, e.ID) {
			return e.ID
		}
	}
	return RID{}
}

// correctChoice returns the decision of somebody who knows the channel's books.
func (sim *simulation) correctChoice(i int, possible []Choice) Choice {
	t := sim.truth(i)
	_, booked, _ := sim.booked(i)
	var wants Action
	switch final := sim.recs[i].State.Final(); {
	case t.open:
		wants = ActionWait
	case booked < t.standing || sim.ownLineHeld(i):
		wants = ActionConfirmSuccess
	case !final && sim.recs[i].Case.Has(CaseUnmatchedLine) && len(sim.fullRecordOf(i).linesHeldFor()) > 0:
		wants = ActionAcceptAsIs
	case final && booked > t.standing:
		wants = ActionRevokeConfirmation
	case final:
		wants = ActionAcceptAsIs
	case !sim.faultsOff && sim.chance(50):
		wants = ActionResend
	default:
		wants = ActionConfirmNotDone
	}
	has := func(a Action) int { return slices.IndexFunc(possible, func(c Choice) bool { return c.Action == a }) }
	fallback := []Action{wants, ActionAcceptAsIs, ActionWait}
	if sim.faultsOff && sim.breaksContract && !t.open { // the channel reported both ends of one number: only the last one can be confirmed
		fallback = []Action{wants, ActionAcceptAsIs, ActionConfirmNotDone, ActionWait}
	}
	for _, a := range fallback {
		if n := has(a); n >= 0 && !(a == ActionAcceptAsIs && t.open) {
			return possible[n]
		}
	}
	return possible[0]
}

// applyProposal applies an approved decision.
func (sim *simulation) applyProposal(i int) {
	d := sim.decisions[i].proposal
	if d == nil {
		return
	}
	r := sim.fullRecord(i)
	ch, err := sim.applyDecision(r, *d)
	var void *Problem
	var no *NotAllowed
	switch {
	case errors.Is(err, ErrTooEarly):
		sim.count("a decision came before the horizon")
		return
	case errors.As(err, &void):
		sim.count("a decision was void")
		sim.decisions[i].proposal = nil
		return
	case errors.As(err, &no):
		sim.decisions[i].proposal = nil
		return
	case err != nil:
		sim.fail("%s in %s: %v", d.Action, r.State, err)
	}
	sim.decisions[i].proposal = nil
	sim.noteLineAnswers(i, r, ch, *d)
	sim.trace("rf_%d %s: %s → %s exposed=%v case=%v", i+1, r.State, d.Action, ch.After.State, ch.After.Exposed, reasonsOf(ch.After.Case))
	sim.count("decided: " + string(d.Action))
	sim.decisions[i].resent = sim.decisions[i].resent || d.Action == ActionResend
	sim.write(i, r, ch)
	if sim.subject.mistake == linesLostWithCase && d.Action == ActionAcceptAsIs {
		sim.lines = nil
	}
	if t := sim.truth(i); (!sim.faultsOff || d.Action == ActionConfirmNotDone) && d.Action != ActionWait && d.Action != ActionResend &&
		(t.open || !sim.agrees(i)) {
		sim.decisions[i].wrong = true
		sim.count("a decision was wrong")
	}
}

// acceptExcess closes the payment's own case.
func (sim *simulation) acceptExcess() {
	if sim.payCase {
		p := sim.recs[0].Payment
		p.ExcessAccepted = max(p.ExcessAccepted, p.Excess)
		sim.setPayment(p)
	}
}
