package refund

// The state table: which fact, in which state, under which condition, moves a refund where and does what.
// Rows of one fact are tried from the top; the first that fits applies, none fits = the fact is kept as evidence.
// Everything that must agree with it is derived: the diagram in the docs, the transitions that the database allows,
// "final", the buttons of people.

// rule is one line of the table.
type rule struct {
	id     string
	fact   FactKind
	in     []State
	when   []guard // all must hold
	moves  []move  // usually one; two where one fact means two transitions
	silent bool    // nothing was learned: no journal row
	doc    string
}

// move is one transition: where to ("" = the state stays) and what else.
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
func bookedAndReturnedBeside() []move {
	return []move{{do: []mutation{book, openMultipleEffects}}, {do: []mutation{bookReturn}}}
}

var (
	anyState        = States()
	inFlight        = states(StateProcessing, StateUnknown, StateAccepted)
	notEnded        = states(StatePending, StateProcessing, StateUnknown, StateAccepted)
	notAcknowledged = states(StateProcessing, StateUnknown) // ACCEPTED is never left for PENDING: what was acknowledged does not vanish
	ended           = states(StateSuccess, StateFailed, StateCanceled, StateReversed)
	endedUnpaid     = states(StateFailed, StateCanceled)
)

// stateTable is what Apply reads. Nothing writes to it.
var stateTable = table()

// Claiming facts are ours: a worker takes the next call. They make "final" derivable: a state is final when no claim starts in it.
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

// ownRows: what we decide ourselves, from ownership, time or a caller's wish.
func ownRows() []rule {
	return []rule{
		{id: "claim-send/pending", fact: ClaimSend, in: states(StatePending), when: when(noCase, noOpenAsk), moves: to(StateProcessing), doc: "a worker owns the next send"},
		{id: "claim-send/again", fact: ClaimSend, in: states(StateUnknown, StateAccepted), when: when(noCase), moves: stay(), doc: "key replay: the same number again, the state stays"},
		{id: "claim-ask", fact: ClaimAsk, in: states(StatePending, StateUnknown, StateAccepted), moves: stay(), doc: "a worker owns the next question"},
		{id: "withdrawn", fact: Withdrawn, in: states(StatePending), when: when(noOpenAsk, nothingExposed, noEpochOpen), moves: to(StateCanceled), doc: "canceled before anything was sent"},
		{id: "lease-end", fact: LeaseEnd, in: states(StateProcessing), moves: to(StateUnknown), doc: "the owner is silent; its send may have happened"},
		{id: "settled/negative", fact: Settled, in: notEnded, when: when(nothingExposed, liveFinalNegative), moves: to(StateFailed), doc: "the number's end is known and nothing sent can act any more"},
		{id: "settled/refused", fact: Settled, in: inFlight, when: when(nothingExposed, lastSendRefused), moves: to(StateFailed), doc: "the last send was refused and nothing else is exposed any more"},
		{id: "settled/pending", fact: Settled, in: notAcknowledged, when: when(nothingExposed), moves: to(StatePending), doc: "nothing is exposed any more"},
		{id: "settled/final", fact: Settled, in: ended, when: when(nothingExposed), moves: stay(closeOtherNumber, closeAcknowledged), silent: true, doc: "exposure under a final state has ended"},
		{id: "key-expired/first", fact: KeyExpired, in: states(StatePending), when: when(firstNumber), moves: stay(nextNumber), doc: "the number may not be used any more: the next one"},
		{id: "key-expired/second", fact: KeyExpired, in: states(StatePending), moves: stay(openNoStep), doc: "a second dead number: a person"},
		{id: "deadline", fact: Deadline, in: notEnded, moves: stay(openGivenReason), doc: "open for too long, or no automatic step is left: a person; asking goes on"},
		{id: "epoch/pending", fact: EpochMark, in: states(StatePending), moves: to(StateUnknown, markEpoch), doc: "may have been sent in the lost future"},
		{id: "epoch/open", fact: EpochMark, in: states(StateProcessing), moves: to(StateUnknown, markEpoch), doc: "as above"},
		{id: "epoch/stay", fact: EpochMark, in: states(StateUnknown, StateAccepted), moves: stay(markEpoch), doc: "as above"},
	}
}

// moneyRows: money moved, or came back. Always recordable.
func moneyRows() []rule {
	return []rule{
		{id: "succeeded/known-other", fact: Succeeded, in: anyState, when: when(effectBooked, otherAmountOrCurrency), moves: stay(openContradiction), doc: "this effect is booked with another amount: a person"},
		{id: "succeeded/known", fact: Succeeded, in: anyState, when: when(effectBooked), moves: stay(), silent: true, doc: "this effect is booked"},
		{id: "succeeded/pair-other", fact: Succeeded, in: anyState, when: when(effectLacksID, otherAmountOrCurrency), moves: stay(giveID, openContradiction), doc: "as below, but the amounts differ: a person"},
		{id: "succeeded/pair", fact: Succeeded, in: anyState, when: when(effectLacksID), moves: stay(giveID), doc: "gives the channel's id to the effect that had none"},
		{id: "succeeded/dead-number", fact: Succeeded, in: notEnded, when: when(sameRefundEnded), moves: bookedAndReturned(), doc: "the same object is known to have ended negative: booked and mirrored"},
		{id: "succeeded/open", fact: Succeeded, in: notEnded, moves: to(StateSuccess, book), doc: "money moved; the reservation is released"},
		{id: "succeeded/again-dead", fact: Succeeded, in: states(StateSuccess), when: when(sameRefundEnded), moves: bookedAndReturnedBeside(), doc: "a second effect, known to have ended negative"},
		{id: "succeeded/attached", fact: Succeeded, in: states(StateSuccess), when: when(effectByLine), moves: stay(releaseLine, book), doc: "the line that was taken for it was somebody else's; this is it"},
		{id: "succeeded/again", fact: Succeeded, in: states(StateSuccess), moves: stay(book, openMultipleEffects), doc: "a second effect"},
		{id: "succeeded/late-dead", fact: Succeeded, in: endedUnpaid, when: when(sameRefundEnded), moves: bookedAndReturned(openSuccessAfterEnd), doc: "booked and mirrored"},
		{id: "succeeded/late", fact: Succeeded, in: endedUnpaid, moves: to(StateSuccess, book, openSuccessAfterEnd), doc: "money moved against what we had told"},
		{id: "succeeded/after-return-dead", fact: Succeeded, in: states(StateReversed), when: when(sameRefundEnded), moves: bookedAndReturned(openSuccessAfterEnd), doc: "another effect after a return, known to have ended negative"},
		{id: "succeeded/after-return", fact: Succeeded, in: states(StateReversed), moves: to(StateSuccess, book, openSuccessAfterEnd), doc: "another effect after a return"},

		{id: "reversed/known", fact: Reversed, in: anyState, when: when(returnBooked), moves: stay(), silent: true, doc: "this return is booked"},
		{id: "reversed/partial-pending", fact: Reversed, in: states(StatePending), when: when(otherAmountOrCurrency, exposed), moves: to(StateUnknown, openContradiction), doc: "the channel has what we held for not done, with another amount: do not send"},
		{id: "reversed/partial", fact: Reversed, in: anyState, when: when(otherAmountOrCurrency), moves: stay(openContradiction), doc: "not the effect's amount: a person"},
		{id: "reversed/one-of-two", fact: Reversed, in: states(StateSuccess), when: when(effectStands, anotherStands), moves: stay(bookReturn), doc: "another effect stands"},
		{id: "reversed/success", fact: Reversed, in: states(StateSuccess), when: when(effectStands), moves: to(StateReversed, bookReturn), doc: "the channel returned the money"},
		{id: "reversed/attached", fact: Reversed, in: states(StateSuccess), when: when(effectByLine, noOtherEffect), moves: []move{{do: []mutation{releaseLine, book}}, {to: StateReversed, do: []mutation{bookReturn}}}, doc: "as with a success: this came and went, the line was somebody else's"},
		{id: "reversed/beside", fact: Reversed, in: states(StateSuccess), moves: bookedAndReturnedBeside(), doc: "another effect came and went"},
		{id: "reversed/after-return", fact: Reversed, in: states(StateReversed), moves: bookedAndReturned(openSuccessAfterEnd), doc: "another effect came and went after a return"},
		{id: "reversed/open", fact: Reversed, in: notEnded, moves: bookedAndReturned(), doc: "moved and returned before we knew: booked and mirrored"},
		{id: "reversed/late", fact: Reversed, in: endedUnpaid, moves: bookedAndReturned(openSuccessAfterEnd), doc: "booked and mirrored, against what we had told"},
	}
}

// progressRows: the channel has it, or has ended it.
func progressRows() []rule {
	return []rule{
		{id: "acknowledged/known", fact: Acknowledged, in: anyState, when: when(notFirstAck), moves: stay(), silent: true, doc: "known"},
		{id: "acknowledged/stale", fact: Acknowledged, in: anyState, when: when(notExposed), moves: stay(), doc: "older than what is known of the number"},
		{id: "acknowledged/pending", fact: Acknowledged, in: states(StatePending), moves: to(StateUnknown, openAcknowledgedAfterEnd), doc: "the channel has what we held for not done: do not send"},
		{id: "acknowledged/live", fact: Acknowledged, in: inFlight, when: when(liveDispatch), moves: to(StateAccepted), doc: "the channel has it; the result comes later"},
		{id: "acknowledged/other", fact: Acknowledged, in: inFlight, moves: stay(openAcknowledgedAfterEnd), doc: "an older number is alive"},
		{id: "acknowledged/success", fact: Acknowledged, in: states(StateSuccess, StateReversed), moves: stay(openOtherNumber), doc: "another number may still pay"},
		{id: "acknowledged/late", fact: Acknowledged, in: endedUnpaid, moves: stay(openAcknowledgedAfterEnd), doc: "the channel has what we had told not to happen; the amount is held"},

		{id: "failed/returned", fact: FailedFinal, in: states(StateSuccess), when: when(standsByChannel, failureMayFollow, anotherStands), moves: stay(bookReturn), doc: "late failure of one of two effects"},
		{id: "failed/late", fact: FailedFinal, in: states(StateSuccess), when: when(standsByChannel, failureMayFollow), moves: to(StateReversed, bookReturn), doc: "the contract's late failure: the money came back"},
		{id: "failed/person", fact: FailedFinal, in: states(StateSuccess), when: when(standsByPerson), moves: stay(openContradiction), doc: "a person said otherwise"},
		{id: "failed/late-attached", fact: FailedFinal, in: states(StateSuccess), when: when(effectByLine, noOtherEffect, failureMayFollow), moves: []move{{do: []mutation{releaseLine, book}}, {to: StateReversed, do: []mutation{bookReturn}}}, doc: "late failure of this number's own refund; the line was somebody else's"},
		{id: "failed/attached", fact: FailedFinal, in: states(StateSuccess), when: when(effectByLine), moves: stay(openContradiction), doc: "a line was taken for this number's effect, and the number has ended otherwise"},
		{id: "failed/booked", fact: FailedFinal, in: states(StateSuccess, StateReversed), when: when(standsByChannel), moves: stay(), doc: "a success stands against it"},
		{id: "failed/ask", fact: FailedFinal, in: states(StatePending), when: when(answersOpenAsk), moves: stay(closeAsk), doc: "the ask is answered: not done"},
		{id: "failed/live", fact: FailedFinal, in: inFlight, when: when(nothingExposed, liveDispatch), moves: to(StateFailed, closeAcknowledged), doc: "did not happen and will not"},
		{id: "failed/stored", fact: FailedFinal, in: notEnded, moves: stay(closeAcknowledged), doc: "kept; something else is still exposed"},
		{id: "failed/closed", fact: FailedFinal, in: ended, moves: stay(closeOtherNumber, closeAcknowledged), doc: "answers the question that was open"},
	}
}

// negativeRows: answers of a send that say "nothing happened", and those that say nothing.
func negativeRows() []rule {
	rows := []rule{}
	for _, k := range []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent} {
		rows = append(rows, rule{id: JournalKind(k) + "/asked", fact: k, in: anyState, when: when(answersQuestion), moves: stay(), silent: true, doc: "the question was not answered"})
		rows = append(rows, rule{id: JournalKind(k) + "/person", fact: k, in: states(StateSuccess), when: when(standsByPerson), moves: stay(openContradiction), doc: "a person said otherwise"})
		rows = append(rows, rule{id: JournalKind(k) + "/older", fact: k, in: states(StateProcessing), when: when(newerSendOpen), moves: stay(), doc: "a newer send is in flight: moves nothing"})
		rows = append(rows, rule{id: JournalKind(k) + "/ended", fact: k, in: inFlight, when: when(nothingExposed, liveFinalNegative), moves: to(StateFailed), doc: "the number's end is known, and this send did nothing either"})
	}
	return append(rows, []rule{
		{id: "refused/clear", fact: RefusedClean, in: inFlight, when: when(nothingExposed), moves: to(StateFailed), doc: "did nothing and never will"},
		{id: "refused/exposed", fact: RefusedClean, in: inFlight, moves: to(StateUnknown), doc: "something earlier is exposed"},
		{id: "refused_new_number/first", fact: RefusedNewNumber, in: notAcknowledged, when: when(nothingExposed, liveDispatch, firstNumber), moves: to(StatePending, nextNumber), doc: "dead number: the next one, once"},
		{id: "refused_new_number/second", fact: RefusedNewNumber, in: inFlight, when: when(nothingExposed), moves: to(StateFailed), doc: "refused twice"},
		{id: "refused_new_number/exposed", fact: RefusedNewNumber, in: inFlight, moves: to(StateUnknown), doc: "something earlier is exposed"},
		{id: "retryable/clear", fact: Retryable, in: notAcknowledged, when: when(nothingExposed), moves: to(StatePending), doc: "definitely not done; may be sent again"},
		{id: "retryable/exposed", fact: Retryable, in: states(StateProcessing), moves: to(StateUnknown), doc: "something earlier is exposed"},
		{id: "not_sent/clear", fact: NotSent, in: notAcknowledged, when: when(nothingExposed), moves: to(StatePending), doc: "no byte left"},
		{id: "not_sent/exposed", fact: NotSent, in: states(StateProcessing), moves: to(StateUnknown), doc: "something earlier is exposed"},
		{id: "echo/asked", fact: RefusedEcho, in: anyState, when: when(answersQuestion), moves: stay(), silent: true, doc: "the question was not answered"},
		{id: "echo/older", fact: RefusedEcho, in: states(StateProcessing), when: when(newerSendOpen), moves: stay(), doc: "a newer send is in flight"},
		{id: "echo", fact: RefusedEcho, in: states(StateProcessing), moves: to(StateUnknown), doc: "our own effect could cause it: ask"},
		{id: "unknown/older", fact: Unknown, in: states(StateProcessing), when: when(newerSendOpen), moves: stay(), doc: "a newer send is in flight"},
		{id: "unknown", fact: Unknown, in: states(StateProcessing), when: when(answersSend), moves: to(StateUnknown), doc: "may or may not have happened"},
		{id: "unknown/again", fact: Unknown, in: anyState, when: when(answersSend), moves: stay(), doc: "kept"},
		{id: "unknown/asked", fact: Unknown, in: anyState, moves: stay(), silent: true, doc: "an empty answer to a question changes nothing"},
	}...)
}

// absenceRows: the channel does not know the number.
func absenceRows() []rule {
	return []rule{
		{id: "absent/contradiction", fact: NotFound, in: inFlight, when: when(contradictsAck), moves: stay(openContradiction), doc: "it was acknowledged and is gone"},
		{id: "absent/not-proven", fact: NotFound, in: anyState, when: when(notProven), moves: stay(), silent: true, doc: "too early, too few or too late: changes nothing"},
		{id: "absent/ask", fact: NotFound, in: states(StatePending), when: when(answersOpenAsk), moves: stay(closeAsk), doc: "the ask is answered: not done"},
		{id: "absent/ended", fact: NotFound, in: inFlight, when: when(nothingExposed, liveFinalNegative), moves: to(StateFailed), doc: "the live number's end is known, and this one did nothing either"},
		{id: "absent/echo", fact: NotFound, in: inFlight, when: when(nothingExposed, liveDispatch, lastSendEchoed), moves: to(StateFailed), doc: "refused, and proven not to be our own effect"},
		{id: "absent/key-dead", fact: NotFound, in: notAcknowledged, when: when(nothingExposed, liveDispatch, numberSpent, firstNumber), moves: to(StatePending, nextNumber), doc: "not done, and the number may not be used again: the next one"},
		{id: "absent/clear", fact: NotFound, in: notAcknowledged, when: when(nothingExposed, liveDispatch), moves: to(StatePending), doc: "proven not done: the same number again"},
		{id: "absent/other", fact: NotFound, in: inFlight, moves: stay(), doc: "this number is clear"},
		{id: "absent/closed", fact: NotFound, in: ended, moves: stay(closeOtherNumber), doc: "the other number did nothing"},
		{id: "absent/idle", fact: NotFound, in: states(StatePending), moves: stay(), silent: true, doc: "as known"},
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
