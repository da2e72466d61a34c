package refund

// The state table: the fact, the states and the conditions of each rule, its moves and their mutations. The rules of one
// fact are tried from the top, and the first that fits applies; a fact without a rule is stored as evidence. Everything that
// must agree with the table is derived from it: the diagram of the docs and the transitions that the database allows. A test
// checks that no rule sends from a state of finalStates. The rules about money are in table_money.go, those of decisions in decision_table.go; lines have no rules (see
// lines_change.go). FactKind lists the places that a new kind of fact concerns.
//
// The ids of rules are stored in the journal, so an id stays when its text gets better words.

// rule is one line of the table.
type rule struct {
	id     string
	fact   FactKind
	in     []State
	when   []guard // all must hold
	moves  []move  // usually one; two where one fact means two transitions
	silent bool    // no journal row is written, unless the state, the case or the open ask changes
	doc    string
}

// move is one transition: the new state ("" = unchanged) and the mutations.
type move struct {
	to State
	do []mutation
}

func stay(do ...mutation) []move        { return []move{{do: do}} }
func to(s State, do ...mutation) []move { return []move{{to: s, do: do}} }
func when(g ...guard) []guard           { return g }
func states(s ...State) []State         { return s }
func bookedAndReturned(then ...mutation) []move {
	return []move{{to: StateSuccess, do: []mutation{book}}, {to: StateReversed, do: append([]mutation{bookReturn}, then...)}}
}
func lineReplacedAndReturned() []move {
	return []move{{do: []mutation{replaceLine}}, {to: StateReversed, do: []mutation{bookReturn}}}
}
func bookedAndReturnedBeside() []move {
	return []move{{do: []mutation{book, openMultipleEffects}}, {do: []mutation{bookReturn}}}
}

var (
	anyState        = States()
	exposedStates   = StatesThat(State.MustBeExposed)
	notFinal        = StatesThat(func(s State) bool { return !s.Final() })
	notAcknowledged = states(StateProcessing, StateUnknown) // without ACCEPTED, which is never left for PENDING: an acknowledged refund does not vanish
	finalStates     = StatesThat(State.Final)
	finalUnpaid     = states(StateFailed, StateCanceled)
)

// stateTable is the table of Apply. It is never written to.
var stateTable = table()

// Facts of claims: a worker takes the next call. The store's statement writes them, Apply never gets one. No
// send starts in a final state. A final refund that is exposed is still asked about.
const (
	ClaimSend FactKind = "CLAIM_SEND"
	ClaimAsk  FactKind = "CLAIM_ASK"
)

func table() []rule {
	var all []rule
	for _, part := range [][]rule{ownRows(), moneyRows(), progressRows(), negativeRows(), absenceRows()} {
		all = append(all, part...)
	}
	return all
}

// ownRows are facts of our own: claims, cancels, conclusions, epoch marks.
func ownRows() []rule {
	return []rule{
		{id: "claim-send/pending", fact: ClaimSend, in: states(StatePending), when: when(notStopped, noOpenAsk), moves: to(StateProcessing),
			doc: "A worker owns the next send."},
		{id: "claim-send/again", fact: ClaimSend, in: states(StateUnknown, StateAccepted), when: when(notStopped), moves: stay(),
			doc: "The same number is sent again (key replay). The state stays."},
		{id: "claim-ask", fact: ClaimAsk, in: states(StatePending, StateUnknown, StateAccepted), moves: stay(),
			doc: "A worker owns the next question to the channel."},
		{id: "claim-ask/final", fact: ClaimAsk, in: finalStates, when: when(exposed), moves: stay(),
			doc: "A worker owns the next question about a number that may still pay although the refund is final."},
		{id: "withdrawn", fact: Withdrawn, in: states(StatePending), when: when(noOpenAsk, nothingExposed, noEpochOpen), moves: to(StateCanceled),
			doc: "Canceled while nothing was exposed: nothing was sent, or all that was sent provably did nothing."},
		{id: "lease-end", fact: LeaseEnd, in: states(StateProcessing), moves: to(StateUnknown),
			doc: "The owner has not answered in time. Its request may have been executed."},
		{id: "settled/negative", fact: Settled, in: notFinal, when: when(nothingExposed, refusedForGood), moves: to(StateFailed),
			doc: "The stored answers refuse the refund for good, and no request can be executed any more."},
		{id: "settled/pending", fact: Settled, in: notAcknowledged, when: when(nothingExposed), moves: to(StatePending),
			doc: "Nothing is exposed any more, so the refund waits for its next send."},
		{id: "settled/final", fact: Settled, in: finalStates, when: when(nothingExposed), moves: stay(closeOtherNumber, closeAcknowledged), silent: true,
			doc: "A final refund is not exposed any more. A row is written where this closes a reason of the case."},
		{id: "key-expired/first", fact: KeyExpired, in: states(StatePending), when: when(nextAllowed), moves: stay(nextNumber, closeNoStep),
			doc: "The live number is spent, so the next one is opened."},
		{id: "key-expired/second", fact: KeyExpired, in: states(StatePending), moves: stay(openNoStep),
			doc: "The second number is spent too. A person must decide."},
		{id: "deadline", fact: Deadline, in: notFinal, moves: stay(openGivenReason),
			doc: "The refund is open for too long, or no automatic step is left. A person must decide; questions continue, except while an epoch is open."},
		{id: "epoch/pending", fact: EpochMark, in: states(StatePending), moves: to(StateUnknown, markEpoch),
			doc: "The refund may have been sent in the part of the history that a restore has removed."},
		{id: "epoch/open", fact: EpochMark, in: states(StateProcessing), moves: to(StateUnknown, markEpoch),
			doc: "The refund may have been sent in the part of the history that a restore has removed."},
		{id: "epoch/stay", fact: EpochMark, in: states(StateUnknown, StateAccepted), moves: stay(markEpoch),
			doc: "The refund may have been sent in the part of the history that a restore has removed."},
	}
}

// progressRows are acknowledgements and negative ends of a number.
func progressRows() []rule {
	return []rule{
		{id: "acknowledged/known", fact: Acknowledged, in: anyState, when: when(notFirstAck), moves: stay(), silent: true,
			doc: "The acknowledgement is known already."},
		{id: "acknowledged/stale", fact: Acknowledged, in: anyState, when: when(notExposed), moves: stay(),
			doc: "The acknowledgement is older than the known end of the number."},
		{id: "acknowledged/pending", fact: Acknowledged, in: states(StatePending), moves: to(StateUnknown, openAcknowledgedAfterEnd),
			doc: "The channel has a refund that counted as not done. Nothing is sent."},
		{id: "acknowledged/live", fact: Acknowledged, in: exposedStates, when: when(liveDispatch), moves: to(StateAccepted),
			doc: "The channel has the refund; the result comes later."},
		{id: "acknowledged/other", fact: Acknowledged, in: exposedStates, moves: stay(openAcknowledgedAfterEnd),
			doc: "The channel has an older number of this refund. A person must review it."},
		{id: "acknowledged/success", fact: Acknowledged, in: states(StateSuccess, StateReversed), moves: stay(openOtherNumber),
			doc: "Another number of this refund may still pay."},
		{id: "acknowledged/late", fact: Acknowledged, in: finalUnpaid, moves: stay(openAcknowledgedAfterEnd),
			doc: "The channel has a refund that was reported as not done. Its amount is held."},

		{id: "failed/returned", fact: FailedFinal, in: states(StateSuccess), when: when(standsByChannel, failureMayFollow, anotherStands), moves: stay(bookReturn),
			doc: "One of two effects failed late: its money came back."},
		{id: "failed/late", fact: FailedFinal, in: states(StateSuccess), when: when(standsByChannel, failureMayFollow), moves: to(StateReversed, bookReturn),
			doc: "The refund failed late: the money came back."},
		{id: "failed/person", fact: FailedFinal, in: states(StateSuccess), when: when(standsByPerson), moves: stay(openContradiction),
			doc: "The channel contradicts a person's confirmation."},
		{id: "failed/late-attached", fact: FailedFinal, in: states(StateSuccess), when: when(effectByLine, noOtherEffect, failureMayFollow),
			moves: lineReplacedAndReturned(),
			doc:   "The number's own refund failed late; the booked line belongs to somebody else."},
		{id: "failed/attached", fact: FailedFinal, in: states(StateSuccess), when: when(effectByLine), moves: stay(openContradiction),
			doc: "A line was booked for this number, and the number has ended negatively."},
		{id: "failed/booked", fact: FailedFinal, in: states(StateSuccess, StateReversed), when: when(standsByChannel), moves: stay(),
			doc: "The success stands: this contract has no late failure."},
		{id: "failed/ask", fact: FailedFinal, in: states(StatePending), when: when(answersOpenAsk), moves: stay(closeAsk),
			doc: "The ask is answered: the old number did nothing."},
		{id: "failed/live", fact: FailedFinal, in: exposedStates, when: when(nothingExposed, liveDispatch), moves: to(StateFailed, closeAcknowledged),
			doc: "The refund was not executed and will not be."},
		{id: "failed/stored", fact: FailedFinal, in: notFinal, moves: stay(closeAcknowledged),
			doc: "The end of the number is stored; something else is still exposed."},
		{id: "failed/closed", fact: FailedFinal, in: finalStates, moves: stay(closeOtherNumber, closeAcknowledged),
			doc: "The end of the number answers the open question of the case."},
	}
}

// negativeRows are answers of a send that prove it did nothing, and answers that prove nothing.
func negativeRows() []rule {
	rows := []rule{}
	for _, k := range []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent} {
		rows = append(rows, rule{id: JournalKind(k) + "/asked", fact: k, in: anyState, when: when(answersQuestion), moves: stay(), silent: true,
			doc: "The question was not answered."})
		rows = append(rows, rule{id: JournalKind(k) + "/person", fact: k, in: states(StateSuccess), when: when(standsByPerson), moves: stay(openContradiction),
			doc: "The channel contradicts a person's confirmation."})
		rows = append(rows, rule{id: JournalKind(k) + "/older", fact: k, in: states(StateProcessing), when: when(newerSendOpen), moves: stay(),
			doc: "A newer send is in flight, so the state stays."})
		rows = append(rows, rule{id: JournalKind(k) + "/ended", fact: k, in: exposedStates, when: when(nothingExposed, refusedForGood), moves: to(StateFailed),
			doc: "The stored answers refuse the refund for good."})
	}
	return append(rows, []rule{
		{id: "refused/exposed", fact: RefusedClean, in: exposedStates, when: when(somethingExposed), moves: to(StateUnknown),
			doc: "An earlier send is still exposed."},
		{id: "refused_new_number/first", fact: RefusedNewNumber, in: notAcknowledged, when: when(nothingExposed, liveDispatch, nextAllowed),
			moves: to(StatePending, nextNumber),
			doc:   "The number is spent. The next one is opened: once per refund, and after each low balance of a channel that keeps its first answer."},
		{id: "refused_new_number/exposed", fact: RefusedNewNumber, in: exposedStates, when: when(somethingExposed), moves: to(StateUnknown),
			doc: "An earlier send is still exposed."},
		{id: "retryable/clear", fact: Retryable, in: notAcknowledged, when: when(nothingExposed), moves: to(StatePending),
			doc: "The send did nothing. The same number may be sent again."},
		{id: "retryable/exposed", fact: Retryable, in: states(StateProcessing), moves: to(StateUnknown),
			doc: "An earlier send is still exposed."},
		{id: "not_sent/clear", fact: NotSent, in: notAcknowledged, when: when(nothingExposed), moves: to(StatePending),
			doc: "No byte of the request left."},
		{id: "not_sent/exposed", fact: NotSent, in: states(StateProcessing), moves: to(StateUnknown),
			doc: "An earlier send is still exposed."},
		{id: "echo/asked", fact: RefusedEcho, in: anyState, when: when(answersQuestion), moves: stay(), silent: true,
			doc: "The question was not answered."},
		{id: "echo/older", fact: RefusedEcho, in: states(StateProcessing), when: when(newerSendOpen), moves: stay(),
			doc: "A newer send is in flight, so the state stays."},
		{id: "echo", fact: RefusedEcho, in: states(StateProcessing), moves: to(StateUnknown),
			doc: "Our own effect could have caused the refusal, so the channel is asked."},
		{id: "unknown/older", fact: Unknown, in: states(StateProcessing), when: when(newerSendOpen), moves: stay(), silent: true,
			doc: "A newer send is in flight, so the state stays."},
		{id: "unknown", fact: Unknown, in: states(StateProcessing), when: when(answersSend), moves: to(StateUnknown),
			doc: "The answer of the send is unclear: it may have been executed."},
		{id: "unknown/again", fact: Unknown, in: anyState, when: when(answersSend), moves: stay(), silent: true,
			doc: "An unclear answer of a replay, or of a send that is given up already, is stored; the state stays."},
		{id: "unknown/asked", fact: Unknown, in: anyState, moves: stay(), silent: true,
			doc: "An unclear answer to a question changes nothing."},
	}...)
}

// absenceRows are answers of a channel that does not know the number.
func absenceRows() []rule {
	return []rule{
		{id: "absent/contradiction", fact: NotFound, in: exposedStates, when: when(contradictsAck), moves: stay(openContradiction), silent: true,
			doc: "The number was acknowledged, and the channel does not know it any more."},
		{id: "absent/not-proven", fact: NotFound, in: anyState, when: when(notProven), moves: stay(), silent: true,
			doc: "The absence does not count, or more of them are needed."},
		{id: "absent/ask", fact: NotFound, in: states(StatePending), when: when(answersOpenAsk), moves: stay(closeAsk),
			doc: "The ask is answered: the old number did nothing."},
		{id: "absent/known", fact: NotFound, in: anyState, when: when(wasNotExposed), moves: stay(), silent: true,
			doc: "It is known that the number did nothing."},
		{id: "absent/ended", fact: NotFound, in: exposedStates, when: when(nothingExposed, refusedForGood), moves: to(StateFailed),
			doc: "The stored answers refuse the refund for good; an echo too, because the absence proves that it was not caused by our own effect."},
		{id: "absent/clear", fact: NotFound, in: notAcknowledged, when: when(nothingExposed, liveDispatch), moves: to(StatePending),
			doc: "The number provably did nothing: PENDING again. If the number is spent, the next one follows from PENDING."},
		{id: "absent/other", fact: NotFound, in: exposedStates, moves: stay(), silent: true,
			doc: "This number did nothing; another one may have done something. If none is exposed any more, the rows of settled follow."},
		{id: "absent/closed", fact: NotFound, in: finalStates, moves: stay(closeOtherNumber), silent: true,
			doc: "The other number did nothing."},
	}
}

// TwoStepRules returns the rules that write two journal rows for one fact: rule id to the fact's journal kind.
func TwoStepRules() map[string]string {
	out := map[string]string{}
	for _, r := range stateTable {
		if len(r.moves) == 2 {
			out[r.id] = JournalKind(r.fact)
		}
	}
	return out
}
