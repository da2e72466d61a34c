package refund

// MoveEffects are the mutations of one move of a rule that change the refund's effects, its live number or its ask.
type MoveEffects struct {
	Books, BooksDecided bool // an effect is added, by the channel or by a decision
	Returns             bool // an effect comes back
	Revokes             bool // effects that only a person confirmed come back
	GivesID             bool // an effect without channel refund id gets the fact's
	ReplacesLine        bool // an effect whose id comes from a line gets the fact's, or becomes foreign and the fact's is added
	Renumbers           bool // the effect with the fact's id becomes that of the fact's number
	OpensNumber         bool // the live number is retired and the next one opened
	OpensAsk, ClosesAsk bool
}

// RuleEffects returns the moves of every rule of Apply and ApplyDecision by the rule's id. The journal stores the id, so it
// tells what became of the refund's effects.
func RuleEffects() map[string][]MoveEffects {
	out := map[string][]MoveEffects{}
	for _, r := range stateTable {
		for _, m := range r.moves {
			out[r.id] = append(out[r.id], effectsOf(m))
		}
	}
	for _, r := range decisionTable {
		for _, m := range r.moves {
			e := effectsOf(m)
			e.Books, e.BooksDecided = false, e.Books
			out[r.id] = append(out[r.id], e)
		}
	}
	return out
}

func effectsOf(m move) (e MoveEffects) {
	flags := map[string]*bool{book.name: &e.Books, bookReturn.name: &e.Returns, replaceLine.name: &e.ReplacesLine, renumberEffect.name: &e.Renumbers,
		giveID.name:     &e.GivesID,
		nextNumber.name: &e.OpensNumber, closeAsk.name: &e.ClosesAsk, askLive.name: &e.OpensAsk, unbook.name: &e.Revokes}
	for _, x := range m.do {
		if flag := flags[x.name]; flag != nil {
			*flag = true
		}
	}
	return e
}
