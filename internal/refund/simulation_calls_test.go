package refund

import (
	"slices"
	"time"
)

// runJob makes the next step of a refund, as a job does.
func (sim *simulation) runJob(i int) {
	r := sim.fullRecord(i)
	next := sim.subject.decide(r, sim.c, r.Now)
	kinds := map[StepKind]AttemptKind{StepSend: AttemptSend, StepQuery: AttemptQuery, StepList: AttemptList}
	switch next.Kind {
	case StepSend, StepQuery, StepList:
		sim.startCall(i, kinds[next.Kind], next.Dispatch)
	case StepOpenCase, StepSettle, StepRetireKey:
		sim.countIf(next.Kind == StepRetireKey, "a number expired before it was sent again")
		sim.enter(i, conclusionOf(next, r.Generation))
	case StepWait, StepDone:
	}
}

// startCall claims the call, or adds a question without ownership, and sends the request.
func (sim *simulation) startCall(i int, kind AttemptKind, no int) {
	r := sim.recs[i]
	d, _ := r.Dispatch(no)
	resent, again := kind == AttemptSend && r.State != StatePending, r.DispatchNo > 1
	var attempt int
	ok := true
	switch {
	case r.State.Final() || (r.Case != nil && kind != AttemptSend):
		r, attempt = ask(r, no, sim.c, sim.now())
	case kind == AttemptSend && sim.c.Limits.Spacing > 0 && r.Payment.NextSendAt.After(sim.now()):
		return
	default:
		r, attempt, ok = sim.claim(r, kind, no)
	}
	if !ok {
		return
	}
	a, _ := r.Attempt(attempt)
	if kind == AttemptSend {
		sim.checkSend(i, no)
		sim.checkSendOfLines(r)
		r.Payment.NextSendAt = sim.now().Add(sim.c.Limits.Spacing.D())
		sim.countIf(resent, "a key was replayed")
		sim.countIf(again, "a second number was sent")
	}
	r.Effects = append(slices.Clone(r.Effects), sim.lines...)
	sim.storeRecord(i, r)
	call := &simCall{refund: i, attempt: *a, number: d.Number, amount: r.Amount, plan: sim.plan(kind)}
	call.sentAt = sim.now().Add(sim.randomDuration(sim.sendWindow(*a)))
	call.executesAt = call.sentAt
	if kind == AttemptSend {
		call.executesAt = call.executesAt.Add(sim.randomDuration(sim.c.Horizon.D()))
		sim.countIf(call.executesAt.After(a.NotAfter), "a request was executed after its owner's time")
	}
	sim.trace("rf_%d %s %s %d#%d: %+v acts %s", i+1, r.State, kind, no, attempt, call.plan, call.executesAt.Format("15:04:05.000"))
	sim.mix(i, attempt, no, int(call.executesAt.UnixMilli()))
	sim.ch.calls = append(sim.ch.calls, call)
}

// plan draws the fate of a call.
func (sim *simulation) plan(kind AttemptKind) simPlan {
	p := simPlan{answers: !sim.chance(sim.lostAnswers), sayID: !sim.chance(35), sayMoney: !sim.chance(20), remembersKey: true}
	p.breaksContract, p.misreports = sim.breaksContract && sim.chance(20), sim.breaksContract && sim.chance(10)
	sim.amountMisreported = sim.amountMisreported || p.misreports
	if kind != AttemptSend {
		p.misses = sim.chance(25)
		if p.incompleteList = sim.chance(35); sim.chance(5) {
			p.outcome = []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent, RefusedEcho}[sim.random(5)]
		}
		return p
	}
	if sim.faultsOff {
		return p
	}
	p.outcome = []FactKind{"", "", "", "", Unknown, Unknown, Retryable, NotSent, RefusedEcho, RefusedClean, RefusedNewNumber}[sim.random(11)]
	p.passesLater = sim.order.IntN(2) == 0
	if p.lowBalance = sim.order.IntN(2) == 0; sim.disorder && sim.order.IntN(5) > 0 {
		p.outcome = []FactKind{Retryable, NotSent, RefusedClean, RefusedNewNumber, sim.refusal, sim.refusal}[sim.order.IntN(6)]
	}
	p.acknowledges, p.fails, p.remembersKey, p.echoes = sim.chance(30), sim.chance(30), sim.chance(50), sim.chance(50)
	if p.breaksContract && sim.chance(50) { // it refuses the request and executes it all the same
		p.outcome = []FactKind{RefusedClean, RefusedNewNumber}[sim.random(2)]
		p.acknowledges, p.fails = sim.chance(70), sim.chance(60)
	}
	p.losesNumber, p.silent = sim.c.Recovery() == RecoverByList && sim.chance(10), sim.chance(50)
	if sim.chance(5) && !p.losesNumber { // a line with neither our number nor our amount is nobody's
		p.amountError = 1
	}
	p.hiddenFor, p.settlesAfter = sim.randomDuration(sim.c.questionTerms().VisibilityLag.D()), sim.randomDuration(3*time.Minute)
	return p
}

// deliverAnswer enters the answer of a call that has returned, or of which the caller has given up, whoever owns the refund
// now.
func (sim *simulation) deliverAnswer(call *simCall) {
	gaveUp := !call.executed && !call.plan.answers && !sim.now().Before(call.sentAt)
	if call.abandoned || (!call.executed && !gaveUp) {
		return
	}
	if gaveUp {
		call.answer = Answer{Kind: Unknown}
		sim.count("a caller gave up before the channel executed the request")
	}
	call.abandoned = !sim.chance(40)
	sim.countIf(!call.abandoned, "an answer was entered twice")
	if call.refund >= len(sim.recs) {
		sim.count("an answer for a refund that a restore has removed")
		return
	}
	i, f := call.refund, sim.answerOf(call)
	if _, ok := sim.recs[i].Dispatch(f.Dispatch); !ok {
		sim.count("an answer for a number that a restore has removed")
		return
	}
	sim.countAnswer(call)
	found := call.answer.Kind != NotFound && call.answer.Kind != Unknown
	if !found {
		sim.enterLines(call.lines, "list", !call.plan.incompleteList)
	}
	sim.noteSpent(i, f)
	sim.enter(i, f)
	if found {
		sim.enterLines(call.lines, "list", !call.plan.incompleteList)
	}
}

// deliverNotice enters one of the channel's notices. One about an unknown number stays and is sent again.
func (sim *simulation) deliverNotice(n *simNotice) {
	i, ok := sim.owner(n.number)
	if !ok || i >= len(sim.recs) {
		return
	}
	for _, d := range sim.recs[i].Dispatches {
		if d.Number == n.number {
			if n.delivered {
				sim.count("a notice came twice")
			} else if n.fact.Kind == sim.ch.word(n.of) && len(sim.recs[i].Dispatches) == 1 {
				sim.decisions[i].wrong = false // the channel's last notice: now the books must agree
			}
			n.delivered = true
			f := n.fact
			f.Dispatch = d.Ordinal
			sim.enter(i, f)
			return
		}
	}
}

func (sim *simulation) takeOver(i int) {
	if r := sim.recs[i]; r.State == StateProcessing && !r.LeaseEndsAt.After(sim.now()) {
		sim.count("a silent owner was taken over")
		sim.enter(i, Fact{Kind: LeaseEnd, Generation: r.Generation, Source: "sweeper", Actor: "system:sweeper"})
	}
}
