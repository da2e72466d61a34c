package refund

func plantedInTable() []plantedBug {
	release := mutation{"release", func(s *transition) { s.r.Payment.Reserved -= s.r.Amount }}
	mirrorAny := mutation{"mirror any", func(s *transition) {
		for i := range s.r.Effects {
			if e := &s.r.Effects[i]; e.Status == EffectMoved {
				e.Status, e.ReversedAt = EffectReversed, s.now
				s.r.Payment.Refunded -= e.Counted
				return
			}
		}
	}}
	renumber := mutation{"renumber", func(s *transition) {
		s.nextNumber()
		s.change.Retirements = nil
	}}
	return []plantedBug{
		{bug: "late success is dropped", apply: withoutRules("succeeded/late", "succeeded/late-dead")},
		{bug: "a retired number reverses the refund", apply: withRule("failed/closed", func(row *rule) {
			row.in, row.moves = states(StateSuccess),
				to(StateReversed, mirrorAny)
		})},
		{bug: "a second effect is not booked", apply: withRule("succeeded/again", func(row *rule) { row.moves = stay(openMultipleEffects) })},
		{bug: "a second effect opens no case", apply: withRule("succeeded/again", func(row *rule) { row.moves = stay(book) })},
		{bug: "a pair is booked twice", apply: withoutRules("succeeded/pair", "succeeded/pair-other")},
		{bug: "an ambiguous answer releases the amount", apply: withRule("unknown", func(row *rule) { row.moves = to(StateUnknown, release) })},
		{bug: "the end of a lease counts as not done", apply: withRule("lease-end", func(row *rule) { row.moves = to(StatePending) })},
		{bug: "a late negative overtakes the newer send", notInSimulation: "exposure is folded from sends, so it only comes early to UNKNOWN",
			class: "listing", start: newerSendStart, apply: withoutRules("refused/older", "retryable/older", "not_sent/older", "refused_new_number/older")},
		{bug: "Retryable while exposed leads back to PENDING", apply: withRule("retryable/exposed", func(row *rule) { row.moves = to(StatePending) })},
		{bug: "a refused question moves the refund", notInSimulation: "exposure is folded from sends, so it only changes the state's name",
			apply: withoutRules("refused/asked", "retryable/asked", "not_sent/asked")},
		{bug: "an acknowledgement after FAILED is ignored", notInSimulation: "the exposure alone opens a case", apply: withoutRules("acknowledged/late")},
		{bug: "an acknowledgement while PENDING does not stop the send", apply: withoutRules("acknowledged/pending")},
		{bug: "a return before its success is dropped", class: "listing", apply: withoutRules("reversed/open")},
		{bug: "a partial return is booked in full", notInSimulation: "the simulated channel returns all or nothing",
			apply: withoutRules("reversed/partial", "reversed/partial-pending")},
		{bug: "a return of one effect reverses both", notInSimulation: "two effects of a refund are too rare in the simulation", class: "noticing",
			start: twoEffectsStart, apply: withoutRules("reversed/one-of-two")},
		{bug: "the next number needs no retirement", apply: withRule("refused_new_number/first", func(row *rule) { row.moves = to(StatePending, renumber) })},
		{bug: "an epoch mark leaves out PENDING", apply: withoutRules("epoch/pending")},
		{bug: "an ask is never answered", apply: withoutRules("absent/ask", "failed/ask")},
		{bug: "cancel after an open ask", apply: withRule("withdrawn", func(row *rule) { row.when = when(nothingExposed) })},
		{bug: "a number with a known end is sent again", apply: withoutRules("settled/negative", "failed/live")},
	}
}
