package refund

// The state table: which fact, in which state, under which condition, moves a refund where and does what.
// Rows of one fact are tried from the top; the first that fits applies, none fits = the fact is kept as evidence.
// Everything that must agree with it is derived: the diagram in the docs, the transitions that the database allows,
// "final", the buttons of people.

// row is one line of the table.
type row struct {
	id     string
	fact   FactKind
	in     []State
	when   []guard // all must hold
	hops   []hop   // usually one; two where one fact means two transitions
	silent bool    // nothing was learned: no journal row
	says   string
}

// hop is one transition: where to ("" = the state stays) and what else.
type hop struct {
	to State
	do []act
}

func stay(do ...act) []hop        { return []hop{{do: do}} }
func to(s State, do ...act) []hop { return []hop{{to: s, do: do}} }
func when(g ...guard) []guard     { return g }
func states(s ...State) []State   { return s }
func mirrored(then ...act) []hop {
	return []hop{{to: Success, do: []act{book}}, {to: ReversedSt, do: append([]act{mirror}, then...)}}
}
func cameAndWent() []hop { return []hop{{do: []act{book, openMulti}}, {do: []act{mirror}}} }

var (
	anyState   = States()
	inFlight   = states(Processing, InDoubt, InChannel)
	notEnded   = states(Pending, Processing, InDoubt, InChannel)
	doubtful   = states(Processing, InDoubt) // ACCEPTED is never left for PENDING: what was acknowledged does not vanish
	ended      = states(Success, Failed, Canceled, ReversedSt)
	unwinnable = states(Failed, Canceled)
)

// stateTable is what Apply reads. Nothing writes to it.
var stateTable = table()

// Claiming facts are ours: a worker takes the next call. They make "final" derivable: a state is final when no claim starts in it.
const (
	ClaimSend FactKind = "CLAIM_SEND"
	ClaimAsk  FactKind = "CLAIM_ASK"
)

func table() []row {
	var all []row
	for _, part := range [][]row{ownRows(), moneyRows(), progressRows(), negativeRows(), absenceRows()} {
		all = append(all, part...)
	}
	return all
}

// ownRows: what we decide ourselves, from ownership, time or a caller's wish.
func ownRows() []row {
	return []row{
		{id: "claim-send/pending", fact: ClaimSend, in: states(Pending), when: when(noCase, noAsk), hops: to(Processing), says: "a worker owns the next send"},
		{id: "claim-send/again", fact: ClaimSend, in: states(InDoubt, InChannel), when: when(noCase), hops: stay(), says: "key replay: the same number again, the state stays"},
		{id: "claim-ask", fact: ClaimAsk, in: states(Pending, InDoubt, InChannel), hops: stay(), says: "a worker owns the next question"},
		{id: "withdrawn", fact: Withdrawn, in: states(Pending), when: when(noAsk, clear, notHeld), hops: to(Canceled), says: "canceled before anything was sent"},
		{id: "lease-end", fact: LeaseEnd, in: states(Processing), when: when(leaseOver), hops: to(InDoubt), says: "the owner is silent; its send may have happened"},
		{id: "settled/negative", fact: Settled, in: notEnded, when: when(clear, liveFinalNegative), hops: to(Failed), says: "the number's end is known and nothing sent can act any more"},
		{id: "settled/refused", fact: Settled, in: inFlight, when: when(clear, lastSendRefused), hops: to(Failed), says: "the last send was refused and nothing else is exposed any more"},
		{id: "settled/pending", fact: Settled, in: doubtful, when: when(clear), hops: to(Pending), says: "nothing is exposed any more"},
		{id: "settled/final", fact: Settled, in: ended, when: when(clear), hops: stay(dropOther, dropAcknowledged), silent: true, says: "exposure under a final state has ended"},
		{id: "key-dead/first", fact: KeyDead, in: states(Pending), when: when(clear, isLive, liveKeyDead, firstNumber), hops: stay(nextNumber), says: "the number may not be used any more: the next one"},
		{id: "key-dead/second", fact: KeyDead, in: states(Pending), when: when(clear, isLive, liveKeyDead), hops: stay(openNoStep), says: "a second dead number: a person"},
		{id: "deadline", fact: Deadline, in: notEnded, when: when(stillDue), hops: stay(openGiven), says: "open for too long, or no automatic step is left: a person; asking goes on"},
		{id: "epoch/pending", fact: EpochMark, in: states(Pending), hops: to(InDoubt, markEpoch), says: "may have been sent in the lost future"},
		{id: "epoch/open", fact: EpochMark, in: states(Processing), hops: to(InDoubt, markEpoch), says: "as above"},
		{id: "epoch/stay", fact: EpochMark, in: states(InDoubt, InChannel), hops: stay(markEpoch), says: "as above"},
	}
}

// moneyRows: money moved, or came back. Always recordable.
func moneyRows() []row {
	return []row{
		{id: "succeeded/known-other", fact: Succeeded, in: anyState, when: when(bookedSame, otherAmount), hops: stay(openContradiction), says: "this effect is booked with another amount: a person"},
		{id: "succeeded/known", fact: Succeeded, in: anyState, when: when(bookedSame), hops: stay(), silent: true, says: "this effect is booked"},
		{id: "succeeded/pair-other", fact: Succeeded, in: anyState, when: when(pairs, otherAmount), hops: stay(pair, openContradiction), says: "as below, but the amounts differ: a person"},
		{id: "succeeded/pair", fact: Succeeded, in: anyState, when: when(pairs), hops: stay(pair), says: "gives the channel's id to the effect that had none"},
		{id: "succeeded/dead-number", fact: Succeeded, in: notEnded, when: when(finalNegativeSameObject), hops: mirrored(), says: "the same object is known to have ended negative: booked and mirrored"},
		{id: "succeeded/open", fact: Succeeded, in: notEnded, hops: to(Success, book), says: "money moved; the reservation is released"},
		{id: "succeeded/again-dead", fact: Succeeded, in: states(Success), when: when(finalNegativeSameObject), hops: cameAndWent(), says: "a second effect, known to have ended negative"},
		{id: "succeeded/attached", fact: Succeeded, in: states(Success), when: when(attached), hops: stay(detach, book), says: "the line that was taken for it was somebody else's; this is it"},
		{id: "succeeded/again", fact: Succeeded, in: states(Success), hops: stay(book, openMulti), says: "a second effect"},
		{id: "succeeded/late-dead", fact: Succeeded, in: unwinnable, when: when(finalNegativeSameObject), hops: mirrored(openLate), says: "booked and mirrored"},
		{id: "succeeded/late", fact: Succeeded, in: unwinnable, hops: to(Success, book, openLate), says: "money moved against what we had told"},
		{id: "succeeded/after-return-dead", fact: Succeeded, in: states(ReversedSt), when: when(finalNegativeSameObject), hops: mirrored(openLate), says: "another effect after a return, known to have ended negative"},
		{id: "succeeded/after-return", fact: Succeeded, in: states(ReversedSt), hops: to(Success, book, openLate), says: "another effect after a return"},

		{id: "reversed/known", fact: Reversed, in: anyState, when: when(mirroredSame), hops: stay(), silent: true, says: "this return is booked"},
		{id: "reversed/partial-pending", fact: Reversed, in: states(Pending), when: when(otherAmount, exposed), hops: to(InDoubt, openContradiction), says: "the channel has what we held for not done, with another amount: do not send"},
		{id: "reversed/partial", fact: Reversed, in: anyState, when: when(otherAmount), hops: stay(openContradiction), says: "not the effect's amount: a person"},
		{id: "reversed/one-of-two", fact: Reversed, in: states(Success), when: when(stands, anotherMoved), hops: stay(mirror), says: "another effect stands"},
		{id: "reversed/success", fact: Reversed, in: states(Success), when: when(stands), hops: to(ReversedSt, mirror), says: "the channel returned the money"},
		{id: "reversed/attached", fact: Reversed, in: states(Success), when: when(attached, onlyAttached), hops: []hop{{do: []act{detach, book}}, {to: ReversedSt, do: []act{mirror}}}, says: "as with a success: this came and went, the line was somebody else's"},
		{id: "reversed/beside", fact: Reversed, in: states(Success), hops: cameAndWent(), says: "another effect came and went"},
		{id: "reversed/after-return", fact: Reversed, in: states(ReversedSt), hops: mirrored(openLate), says: "another effect came and went after a return"},
		{id: "reversed/open", fact: Reversed, in: notEnded, hops: mirrored(), says: "moved and returned before we knew: booked and mirrored"},
		{id: "reversed/late", fact: Reversed, in: unwinnable, hops: mirrored(openLate), says: "booked and mirrored, against what we had told"},
	}
}

// progressRows: the channel has it, or has ended it.
func progressRows() []row {
	return []row{
		{id: "accepted/known", fact: Acknowledged, in: anyState, when: when(notFirstAck), hops: stay(), silent: true, says: "known"},
		{id: "accepted/stale", fact: Acknowledged, in: anyState, when: when(notExposed), hops: stay(), says: "older than what is known of the number"},
		{id: "accepted/pending", fact: Acknowledged, in: states(Pending), hops: to(InDoubt, openAcknowledged), says: "the channel has what we held for not done: do not send"},
		{id: "accepted/live", fact: Acknowledged, in: inFlight, when: when(isLive), hops: to(InChannel), says: "the channel has it; the result comes later"},
		{id: "accepted/other", fact: Acknowledged, in: inFlight, hops: stay(openAcknowledged), says: "an older number is alive"},
		{id: "accepted/success", fact: Acknowledged, in: states(Success, ReversedSt), hops: stay(openOther), says: "another number may still pay"},
		{id: "accepted/late", fact: Acknowledged, in: unwinnable, hops: stay(openAcknowledged), says: "the channel has what we had told not to happen; the amount is held"},

		{id: "failed/returned", fact: FailedFinal, in: states(Success), when: when(bookedMoved, lateFailure, anotherMoved), hops: stay(mirror), says: "late failure of one of two effects"},
		{id: "failed/late", fact: FailedFinal, in: states(Success), when: when(bookedMoved, lateFailure), hops: to(ReversedSt, mirror), says: "the contract's late failure: the money came back"},
		{id: "failed/person", fact: FailedFinal, in: states(Success), when: when(bookedByPerson), hops: stay(openContradiction), says: "a person said otherwise"},
		{id: "failed/late-attached", fact: FailedFinal, in: states(Success), when: when(attached, onlyAttached, lateFailure), hops: []hop{{do: []act{detach, book}}, {to: ReversedSt, do: []act{mirror}}}, says: "late failure of this number's own refund; the line was somebody else's"},
		{id: "failed/attached", fact: FailedFinal, in: states(Success), when: when(attached), hops: stay(openContradiction), says: "a line was taken for this number's effect, and the number has ended otherwise"},
		{id: "failed/booked", fact: FailedFinal, in: states(Success, ReversedSt), when: when(bookedMoved), hops: stay(), says: "a success stands against it"},
		{id: "failed/ask", fact: FailedFinal, in: states(Pending), when: when(answersAsk), hops: stay(answerAsk), says: "the ask is answered: not done"},
		{id: "failed/live", fact: FailedFinal, in: inFlight, when: when(clear, isLive), hops: to(Failed, dropAcknowledged), says: "did not happen and will not"},
		{id: "failed/stored", fact: FailedFinal, in: notEnded, hops: stay(dropAcknowledged), says: "kept; something else is still exposed"},
		{id: "failed/closed", fact: FailedFinal, in: ended, hops: stay(dropOther, dropAcknowledged), says: "answers the question that was open"},
	}
}

// negativeRows: answers of a send that say "nothing happened", and those that say nothing.
func negativeRows() []row {
	rows := []row{}
	for _, k := range []FactKind{RefusedClean, RefusedNewNumber, Retryable, NotSent} {
		rows = append(rows, row{id: lower(k) + "/asked", fact: k, in: anyState, when: when(byQuestion), hops: stay(), silent: true, says: "the question was not answered"})
		rows = append(rows, row{id: lower(k) + "/person", fact: k, in: states(Success), when: when(bookedByPerson), hops: stay(openContradiction), says: "a person said otherwise"})
		rows = append(rows, row{id: lower(k) + "/older", fact: k, in: states(Processing), when: when(newerSendOpen), hops: stay(), says: "a newer send is in flight: moves nothing"})
		rows = append(rows, row{id: lower(k) + "/ended", fact: k, in: inFlight, when: when(clear, liveFinalNegative), hops: to(Failed), says: "the number's end is known, and this send did nothing either"})
	}
	return append(rows, []row{
		{id: "refused/clear", fact: RefusedClean, in: inFlight, when: when(clear), hops: to(Failed), says: "did nothing and never will"},
		{id: "refused/exposed", fact: RefusedClean, in: inFlight, hops: to(InDoubt), says: "something earlier is exposed"},
		{id: "refused_new_number/first", fact: RefusedNewNumber, in: doubtful, when: when(clear, isLive, firstNumber), hops: to(Pending, nextNumber), says: "dead number: the next one, once"},
		{id: "refused_new_number/second", fact: RefusedNewNumber, in: inFlight, when: when(clear), hops: to(Failed), says: "refused twice"},
		{id: "refused_new_number/exposed", fact: RefusedNewNumber, in: inFlight, hops: to(InDoubt), says: "something earlier is exposed"},
		{id: "retryable/clear", fact: Retryable, in: doubtful, when: when(clear), hops: to(Pending), says: "definitely not done; may be sent again"},
		{id: "retryable/exposed", fact: Retryable, in: states(Processing), hops: to(InDoubt), says: "something earlier is exposed"},
		{id: "not_sent/clear", fact: NotSent, in: doubtful, when: when(clear), hops: to(Pending), says: "no byte left"},
		{id: "not_sent/exposed", fact: NotSent, in: states(Processing), hops: to(InDoubt), says: "something earlier is exposed"},
		{id: "echo/asked", fact: RefusedEcho, in: anyState, when: when(byQuestion), hops: stay(), silent: true, says: "the question was not answered"},
		{id: "echo/older", fact: RefusedEcho, in: states(Processing), when: when(newerSendOpen), hops: stay(), says: "a newer send is in flight"},
		{id: "echo", fact: RefusedEcho, in: states(Processing), hops: to(InDoubt), says: "our own effect could cause it: ask"},
		{id: "unknown/older", fact: Unknown, in: states(Processing), when: when(newerSendOpen), hops: stay(), says: "a newer send is in flight"},
		{id: "unknown", fact: Unknown, in: states(Processing), when: when(bySend), hops: to(InDoubt), says: "may or may not have happened"},
		{id: "unknown/again", fact: Unknown, in: anyState, when: when(bySend), hops: stay(), says: "kept"},
		{id: "unknown/asked", fact: Unknown, in: anyState, hops: stay(), silent: true, says: "an empty answer to a question changes nothing"},
	}...)
}

// absenceRows: the channel does not know the number.
func absenceRows() []row {
	return []row{
		{id: "absent/contradiction", fact: NotFound, in: inFlight, when: when(contradictsAck), hops: stay(openContradiction), says: "it was acknowledged and is gone"},
		{id: "absent/not-proven", fact: NotFound, in: anyState, when: when(notProven), hops: stay(), silent: true, says: "too early, too few or too late: changes nothing"},
		{id: "absent/ask", fact: NotFound, in: states(Pending), when: when(answersAsk), hops: stay(answerAsk), says: "the ask is answered: not done"},
		{id: "absent/ended", fact: NotFound, in: inFlight, when: when(clear, liveFinalNegative), hops: to(Failed), says: "the live number's end is known, and this one did nothing either"},
		{id: "absent/echo", fact: NotFound, in: inFlight, when: when(clear, isLive, lastSendEcho), hops: to(Failed), says: "refused, and proven not to be our own effect"},
		{id: "absent/key-dead", fact: NotFound, in: doubtful, when: when(clear, isLive, liveKeyDead, firstNumber), hops: to(Pending, nextNumber), says: "not done, and the number may not be used again: the next one"},
		{id: "absent/clear", fact: NotFound, in: doubtful, when: when(clear, isLive), hops: to(Pending), says: "proven not done: the same number again"},
		{id: "absent/other", fact: NotFound, in: inFlight, hops: stay(), says: "this number is clear"},
		{id: "absent/closed", fact: NotFound, in: ended, hops: stay(dropOther), says: "the other number did nothing"},
		{id: "absent/idle", fact: NotFound, in: states(Pending), hops: stay(), silent: true, says: "as known"},
	}
}
