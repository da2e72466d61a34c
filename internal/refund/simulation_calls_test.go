package refund

import (
	"slices"
	"time"
)

// runJob makes the next step of a refund, as a job does.
func (w *simulation) runJob(i int) {
	r := w.fullRecord(i)
	next := w.subject.decide(r, w.c, r.Now)
	kinds := map[StepKind]AttemptKind{StepSend: AttemptSend, StepQuery: AttemptQuery, StepList: AttemptList}
	switch next.Kind {
	case StepSend, StepQuery, StepList:
		w.startCall(i, kinds[next.Kind], next.Dispatch)
	case StepOpenCase, StepSettle, StepRetireKey:
		w.countIf(next.Kind == StepRetireKey, "a number expired before it was sent again")
		w.enter(i, conclusionOf(next, r.Generation))
	case StepWait, StepDone:
	}
}

// startCall claims the call, or adds a question without ownership, and sends the request.
func (w *simulation) startCall(i int, kind AttemptKind, no int) {
	r := w.recs[i]
	d, _ := r.Dispatch(no)
	resent, again := kind == AttemptSend && r.State != StatePending, r.DispatchNo > 1
	var attempt int
	ok := true
	switch {
	case r.State.Final() || (r.Case != nil && kind != AttemptSend):
		r, attempt = ask(r, no, w.c, w.now())
	case kind == AttemptSend && w.c.Limits.Spacing > 0 && r.Payment.NextSendAt.After(w.now()):
		return
	default:
		r, attempt, ok = w.claim(r, kind, no)
	}
	if !ok {
		return
	}
	a, _ := r.Attempt(attempt)
	if kind == AttemptSend {
		r.Payment.NextSendAt = w.now().Add(w.c.Limits.Spacing.D())
		w.countIf(resent, "a key was replayed")
		w.countIf(again, "a second number was sent")
	}
	r.Effects = append(slices.Clone(r.Effects), w.lines...)
	w.storeRecord(i, r)
	call := &simCall{refund: i, attempt: *a, number: d.Number, amount: r.Amount, plan: w.plan(kind)}
	call.sentAt = w.now().Add(w.randomDuration(w.sendWindow(*a)))
	call.executesAt = call.sentAt
	if kind == AttemptSend {
		call.executesAt = call.executesAt.Add(w.randomDuration(w.c.Horizon.D()))
		w.countIf(call.executesAt.After(a.NotAfter), "a request was executed after its owner's time")
	}
	w.trace("rf_%d %s %s %d#%d: %+v acts %s", i+1, r.State, kind, no, attempt, call.plan, call.executesAt.Format("15:04:05.000"))
	w.mix(i, attempt, no, int(call.executesAt.UnixMilli()))
	w.ch.calls = append(w.ch.calls, call)
}

// plan draws the fate of a call.
func (w *simulation) plan(kind AttemptKind) simPlan {
	p := simPlan{answers: !w.chance(w.lostAnswers), sayID: !w.chance(35), sayMoney: !w.chance(20), remembersKey: true}
	p.breaksContract, p.misreports = w.breaksContract && w.chance(20), w.breaksContract && w.chance(10)
	w.amountMisreported = w.amountMisreported || p.misreports
	if kind != AttemptSend {
		p.misses = w.chance(25)
		if p.incompleteList = w.chance(35); w.chance(5) {
			p.outcome = []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent, RefusedEcho}[w.random(5)]
		}
		return p
	}
	if w.faultsOff {
		return p
	}
	p.outcome = []FactKind{"", "", "", "", Unknown, Unknown, Retryable, NotSent, RefusedEcho, RefusedClean, RefusedNewNumber}[w.random(11)]
	if p.breaksContract && w.chance(50) { // it refuses the request and executes it all the same
		p.outcome = []FactKind{RefusedClean, RefusedNewNumber}[w.random(2)]
		p.acknowledges, p.fails = w.chance(70), w.chance(60)
	}
	p.acknowledges, p.fails, p.remembersKey, p.echoes = w.chance(30), w.chance(30), w.chance(50), w.chance(50)
	if w.chance(5) {
		p.amountError = 1
	}
	p.hiddenFor, p.settlesAfter = w.randomDuration(w.c.questionTerms().VisibilityLag.D()), w.randomDuration(3*time.Minute)
	return p
}

// deliverAnswer enters the answer of a call that has returned, or of which the caller has given up, whoever owns the refund
// now.
func (w *simulation) deliverAnswer(call *simCall) {
	gaveUp := !call.executed && !call.plan.answers && !w.now().Before(call.sentAt)
	if call.abandoned || (!call.executed && !gaveUp) {
		return
	}
	if gaveUp {
		call.answer = Answer{Kind: Unknown}
		w.count("a caller gave up before the channel executed the request")
	}
	call.abandoned = !w.chance(8)
	w.countIf(!call.abandoned, "an answer was entered twice")
	if call.refund >= len(w.recs) {
		w.count("an answer for a refund that a restore has removed")
		return
	}
	i, f := call.refund, w.answerOf(call)
	if _, ok := w.recs[i].Dispatch(f.Dispatch); !ok {
		w.count("an answer for a number that a restore has removed")
		return
	}
	w.countAnswer(call)
	found := call.answer.Kind != NotFound && call.answer.Kind != Unknown
	if !found {
		w.enterLines(call.lines, "list", !call.plan.incompleteList)
	}
	w.enter(i, f)
	if found {
		w.enterLines(call.lines, "list", !call.plan.incompleteList)
	}
}

// deliverNotice enters one of the channel's notices. One about an unknown number stays and is sent again.
func (w *simulation) deliverNotice(n *simNotice) {
	i, ok := w.owner(n.number)
	if !ok || i >= len(w.recs) {
		return
	}
	for _, d := range w.recs[i].Dispatches {
		if d.Number == n.number {
			if n.delivered {
				w.count("a notice came twice")
			} else if n.fact.Kind == w.ch.word(n.of) && len(w.recs[i].Dispatches) == 1 {
				w.decisions[i].wrong = false // the channel's last notice: now the books must agree
			}
			n.delivered = true
			f := n.fact
			f.Dispatch = d.Ordinal
			w.enter(i, f)
			return
		}
	}
}

func (w *simulation) takeOver(i int) {
	if r := w.recs[i]; r.State == StateProcessing && !r.LeaseEndsAt.After(w.now()) {
		w.count("a silent owner was taken over")
		w.enter(i, Fact{Kind: LeaseEnd, Generation: r.Generation, Source: "sweeper", Actor: "system:sweeper"})
	}
}
