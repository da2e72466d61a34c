package refund

import "fmt"

// arrive executes a call whose request has reached the channel.
func (ch *simChannel) arrive(call *simCall) {
	call.executed = true
	switch {
	case call.attempt.Kind != AttemptSend && call.plan.outcome != "": // the question itself is refused
		call.answer = Answer{Kind: call.plan.outcome}
	case call.attempt.Kind == AttemptList:
		call.answer, call.lines = ch.list(call)
	case call.attempt.Kind == AttemptQuery:
		call.answer = ch.query(call)
	default:
		call.answer = ch.send(call)
	}
	if !call.plan.answers && call.answer.Kind != NotSent {
		call.answer, call.lines = Answer{Kind: Unknown}, nil
	}
}

// send answers a send. Where keys keep the first answer, it is repeated, errors that prove something included. A channel
// that breaks its contract executes a request although it refuses it, or has promised not to.
func (ch *simChannel) send(call *simCall) Answer {
	if call.plan.breaksContract {
		made := ch.create(call)
		if call.plan.outcome == "" {
			return ch.answer(made, call.plan)
		}
		return ch.refusal(call.plan)
	}
	switch does := call.plan.outcome; does {
	case NotSent, Unknown, Retryable: // before anything is stored
		return Answer{Kind: does}
	case "":
		if known := ch.known(call.number); known != nil && !ch.c.Key.KeepsAnswer {
			if call.sentAt.Before(known.at) && !ch.c.Key.InFlightRefused { // repeats in flight: both are executed
				known = ch.create(call)
			}
			return ch.answer(known, call.plan)
		}
	default:
		if known := ch.known(call.number); known != nil && !ch.c.Key.KeepsAnswer {
			return ch.echo(call.plan) // a refund of the number exists: another try can only be answered with an echo
		}
	}
	first, ok := ch.firstAnswers[call.number]
	if ok && ch.now.Before(first.ends) {
		return first.answer
	}
	a := ch.refusal(call.plan)
	switch {
	case a.Kind == "":
		a = ch.answer(ch.create(call), call.plan)
	case call.plan.outcome == RefusedEcho && call.plan.echoes:
		ch.create(call)
	}
	if ch.c.Key.KeepsAnswer {
		ch.firstAnswers[call.number] = simAnswer{a, call.executesAt.Add(ch.c.Key.Lifetime.D())}
	}
	return a
}

// refusal returns the answer of a send that is not executed.
func (ch *simChannel) refusal(p simPlan) Answer {
	a := Answer{Kind: p.outcome}
	if a.Kind == RefusedEcho {
		return ch.echo(p)
	}
	if a.Kind == RefusedNewNumber && p.lowBalance && ch.c.Key.KeepsAnswer && len(ch.c.Codes.LowBalance) > 0 {
		a.Code = ch.c.Codes.LowBalance[0]
	}
	return a
}

// echo returns the answer to a send that an earlier one may have caused.
func (ch *simChannel) echo(p simPlan) Answer {
	if p.passesLater && len(ch.c.Codes.PassesLater) > 0 {
		return Answer{Kind: Unknown, Code: ch.c.Codes.PassesLater[0]}
	}
	return Answer{Kind: RefusedEcho}
}

// known returns the refund of a number whose key is alive.
func (ch *simChannel) known(number string) *simRefund {
	for _, r := range ch.made {
		if r.number == number && r.keyed && (r.keyEnds.IsZero() || ch.now.Before(r.keyEnds)) {
			return r
		}
	}
	return nil
}

func (ch *simChannel) create(call *simCall) *simRefund {
	p := call.plan
	r := &simRefund{number: call.number, id: ch.newID(), asked: call.amount, at: call.executesAt, amount: call.amount + p.amountError,
		visibleFrom: call.executesAt.Add(p.hiddenFor),
		keyed:       ch.c.Key.Dedupes && (!ch.c.Key.After2xx || p.remembersKey),
		unnumbered:  p.losesNumber, silent: p.losesNumber && p.silent}
	if ch.c.Key.Lifetime > 0 {
		r.keyEnds = call.executesAt.Add(ch.c.Key.Lifetime.D())
	}
	ch.made = append(ch.made, r)
	if !p.acknowledges {
		ch.setStatus(r, simMoved)
		return r
	}
	r.settlesAs, r.settlesAt = simMoved, call.executesAt.Add(p.settlesAfter)
	if p.fails {
		r.settlesAs = simFailed
	}
	ch.queueNotice(r)
	return r
}

func (ch *simChannel) newID() string { return fmt.Sprintf("cr_%d", len(ch.made)+1) }

// query answers a question as of the time when it left: a refund that was hidden then is not found.
func (ch *simChannel) query(call *simCall) Answer {
	for _, r := range ch.made {
		if r.number == call.number && !r.visibleFrom.After(call.executesAt) && !call.plan.breaksContract && !ch.missesOnce(r, call.plan) {
			return ch.answer(r, call.plan)
		}
	}
	return Answer{Kind: NotFound}
}

// list returns the payment's refunds. An incomplete one has every other line and proves no absence.
func (ch *simChannel) list(call *simCall) (Answer, []ListedEffect) {
	var lines []ListedEffect
	a := Answer{Kind: NotFound}
	if call.plan.incompleteList {
		a.Kind = Unknown
	}
	for i, r := range ch.made {
		switch {
		case r.visibleFrom.After(call.executesAt) || (call.plan.incompleteList && (i+call.attempt.No)%2 == 1):
		case r.unnumbered:
			lines = append(lines, ch.line(r, ""))
		case r.number == call.number && (call.plan.breaksContract || ch.missesOnce(r, call.plan)):
		case r.number == call.number:
			a = ch.answer(r, call.plan)
		default:
			lines = append(lines, ch.line(r, r.number))
		}
	}
	return a, lines
}

// missesOnce reports whether a question misses a visible refund, at most one time less than absences are needed.
func (ch *simChannel) missesOnce(r *simRefund, p simPlan) bool {
	if !p.misses || r.missed >= ch.c.questionTerms().Readings-1 {
		return false
	}
	r.missed++
	return true
}

func (ch *simChannel) line(r *simRefund, number string) ListedEffect {
	return ListedEffect{Number: number, ChannelRefundID: r.id, Status: ch.word(r), Amount: r.amount, Currency: "USD"}
}

func (ch *simChannel) answer(r *simRefund, p simPlan) Answer {
	a := Answer{Kind: ch.word(r), ChannelRefundID: r.id, Amount: r.amount, Currency: "USD"}
	if p.misreports {
		a.Amount++
	}
	if !p.sayID {
		a.ChannelRefundID = ""
	}
	if !p.sayMoney && r.amount == r.asked {
		a.Amount, a.Currency = 0, ""
	}
	return a
}
