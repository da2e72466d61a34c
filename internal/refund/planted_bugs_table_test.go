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
		{bug: "late success dropped", apply: withoutRules("succeeded/late", "succeeded/late-dead")},
		{bug: "dead dispatch reverses", apply: withRule("failed/closed", func(w *rule) { w.in, w.moves = states(StateSuccess), to(StateReversed, mirrorAny) })},
		{bug: "a second effect is not booked", apply: withRule("succeeded/again", func(w *rule) { w.moves = stay(openMultipleEffects) })},
		{bug: "a second effect opens no case", apply: withRule("succeeded/again", func(w *rule) { w.moves = stay(book) })},
		{bug: "a pair is booked twice", apply: withoutRules("succeeded/pair", "succeeded/pair-other")},
		{bug: "doubt gives the amount back", apply: withRule("unknown", func(w *rule) { w.moves = to(StateUnknown, release) })},
		{bug: "a lease's end means not done", apply: withRule("lease-end", func(w *rule) { w.moves = to(StatePending) })},
		{bug: "a late negative overtakes the newer send", notInSimulation: "exposure is folded from sends, so it only comes early to UNKNOWN", class: "listing", start: newerSendStart, apply: withoutRules("refused/older", "retryable/older", "not_sent/older", "refused_new_number/older")},
		{bug: "Retryable while exposed goes back to PENDING", apply: withRule("retryable/exposed", func(w *rule) { w.moves = to(StatePending) })},
		{bug: "a refused question moves the refund", notInSimulation: "exposure is folded from sends, so it only changes the state's name", apply: withoutRules("refused/asked", "retryable/asked", "not_sent/asked")},
		{bug: "Accepted after FAILED is ignored", notInSimulation: "the exposure alone calls a person", apply: withoutRules("acknowledged/late")},
		{bug: "Accepted while PENDING lets the send go", apply: withoutRules("acknowledged/pending")},
		{bug: "a return before its success is dropped", apply: withoutRules("reversed/open")},
		{bug: "a partial return is mirrored in full", notInSimulation: "a story's channel returns all or nothing", apply: withoutRules("reversed/partial", "reversed/partial-pending")},
		{bug: "a return of one effect undoes both", notInSimulation: "two effects of a refund are too rare in stories", class: "noticing", start: twoEffectsStart, apply: withoutRules("reversed/one-of-two")},
		{bug: "the next number needs no death", apply: withRule("refused_new_number/first", func(w *rule) { w.moves = to(StatePending, renumber) })},
		{bug: "an epoch mark spares what is PENDING", apply: withoutRules("epoch/pending")},
		{bug: "an ask is never answered", apply: withoutRules("absent/ask", "failed/ask")},
		{bug: "cancel after an open ask", apply: withRule("withdrawn", func(w *rule) { w.when = when(nothingExposed) })},
		{bug: "a known end is sent again", apply: withoutRules("settled/negative", "failed/live")},
	}
}
