package refund

import "time"

// LongestLease bounds what an owner lost in another epoch may still do.
const LongestLease = time.Minute

// transition is what a table row may look at and change: a working copy of the record with one fact in hand.
type transition struct {
	rules     []rule
	r         *Record
	c         Contract
	f         Fact
	now       time.Time
	d         *Dispatch // the one that the fact names
	attempt   *Attempt  // the one that the fact completes, or nil
	ackBefore bool      // the dispatch was acknowledged before this fact
	change    *Change
	decided   *Decision // the person's decision that takes effect, or nil
}

// findRule finds the table row that applies. A known fact has done its work, unless it answers an open ask, or is a return
// whose effect was booked only later; what fits no row is kept as evidence, and a conclusion that does not hold any more
// is forgotten.
func (s *transition) findRule() rule {
	late := s.f.Kind == Reversed && effectStands.ok(s) && !otherAmountOrCurrency.ok(s)
	if s.change.Known && !answersOpenAsk.ok(s) && !late {
		return rule{id: "known", moves: stay(), silent: true}
	}
	for _, w := range s.rules {
		if w.fact == s.f.Kind && has(w.in, s.r.State) && s.holds(w.when) {
			return w
		}
	}
	return rule{id: "evidence", moves: stay(), silent: s.f.Kind.Conclusion()}
}

func (s *transition) holds(gs []guard) bool {
	for _, g := range gs {
		if !g.ok(s) {
			return false
		}
	}
	return true
}

// applyRule makes the row's transitions.
func (s *transition) applyRule(w rule) {
	s.change.Rows = append(s.change.Rows, w.id)
	caseBefore, askBefore := s.r.Case, s.r.AskNo
	for i, h := range w.moves {
		for _, a := range h.do {
			a.do(s)
		}
		if s.refoldExposure(); s.openButClear(h.to) {
			continue // an open state with nothing exposed is none to write: settle takes it from here
		}
		from := s.r.State
		s.enterState(h.to)
		s.deriveFlags()
		if i == len(w.moves)-1 {
			s.caseOfExcess()
			s.closeCase()
		}
		stays := from == s.r.State
		if stays && (w.silent || s.change.Known) && s.r.Case == caseBefore && s.r.AskNo == askBefore {
			continue
		}
		s.journal(from, s.moveKind(w, i))
	}
}

// moveKind: a return that nobody had told before is two facts, the success and its end.
func (s *transition) moveKind(w rule, i int) FactKind {
	if len(w.moves) == 2 {
		return []FactKind{Succeeded, Reversed}[i]
	}
	return s.f.Kind
}

// openButClear says whether a hop would stay among the open states although nothing is exposed any more.
func (s *transition) openButClear(to State) bool {
	return has(inFlight, s.r.State) && !s.r.anyExposed() && (to == "" || has(inFlight, to))
}

// leaveIfClear leaves the open states when nothing is exposed any more: time or this fact ended it. The journal tells it
// under the fact that came.
func (s *transition) leaveIfClear() {
	if !s.openButClear("") {
		return
	}
	kind, known := s.f.Kind, s.change.Known
	s.f.Kind, s.change.Known = Settled, false
	w := s.findRule()
	s.f.Kind, s.change.Known = kind, known
	s.applyRule(w)
}

// enterState changes the state and everything that depends on the state alone.
func (s *transition) enterState(to State) {
	if to == "" || to == s.r.State {
		return
	}
	from := s.r.State
	s.r.State, s.r.StateSince = to, s.now
	s.r.PendingReason, s.r.Failure = "", Failure{}
	if to != StatePending {
		s.r.AskNo = 0
	}
	if from == StateProcessing || to.Final() || to == StatePending {
		s.r.LeaseEndsAt = time.Time{}
	}
	if to == StateFailed {
		s.r.Failure = Failure{Code: failureCode(s.r, s.f.Kind), ChannelCode: s.channelCode()}
	}
	if to.Final() && !from.Final() {
		s.r.Payment.Reserved -= s.r.Amount
	}
	if to.Final() {
		s.r.FinalAt = s.now
	}
}

// journal closes a transition: one journal row, and the refund's row as it stands now.
func (s *transition) journal(from State, kind FactKind) {
	data := map[string]any{"dispatch": s.f.Dispatch, "rule": s.change.Rows[len(s.change.Rows)-1]}
	put := func(k, v string) {
		if v != "" {
			data[k] = v
		}
	}
	put("channelRefundId", s.f.ChannelRefundID)
	put("currency", string(s.f.Currency))
	put("code", s.f.Code)
	if s.f.Amount != 0 {
		data["amount"] = s.f.Amount
	}
	if s.f.Attempt != 0 {
		data["attempt"] = s.f.Attempt
	}
	for k, v := range s.decided.journalFields() {
		data[k] = v
	}
	if s.r.Case != nil {
		reasons := make([]any, len(s.r.Case.Reasons))
		for i, r := range s.r.Case.Reasons {
			reasons[i] = string(r)
		}
		data["case"] = reasons
	}
	text, err := CanonicalJSON(data)
	if err != nil { // only strings and integers go in
		text = "{}"
	}
	e := Entry{Kind: JournalKind(kind), From: from, To: s.r.State, Generation: s.r.Generation, Source: s.f.Source, Actor: s.f.Actor, Data: text}
	if kind.hasIdentity() && s.f.fromChannel() && !s.change.Known {
		key := FactKey(s.d.Number, string(kind), s.f.ChannelRefundID, s.f.Amount, s.f.Currency)
		if !s.r.Facts[key] {
			e.FactKey = key[:]
			s.r.Facts[key] = true
		}
	}
	s.r.JournalSeq++
	s.r.NextActionAt = s.now.Add(HandoutTTL)
	if idle(s.r.Refund) {
		s.r.NextActionAt = time.Time{}
	}
	s.change.Steps = append(s.change.Steps, JournalStep{Row: s.r.Refund, Entry: e})
	s.change.VoidProposals = true
}

// setTimer sets the one timer by asking what comes next.
func (s *transition) setTimer() {
	step := Decide(s.change.After, s.c, s.now)
	if s.r.State == StatePending {
		s.r.PendingReason = PendingQueued
		if step.Kind == StepWait && step.Why != "" {
			s.r.PendingReason = step.Why
		}
	}
	switch {
	case idle(s.r.Refund):
		s.r.NextActionAt = time.Time{}
	case step.Kind == StepWait:
		s.r.NextActionAt = step.Until
	default:
		s.r.NextActionAt, s.change.WakeNow = s.now.Add(HandoutTTL), true
	}
	if n := len(s.change.Steps); n > 0 {
		s.change.Steps[n-1].Row = s.r.Refund
	}
}

// idle: nothing will ever have to be done of itself.
func idle(r Refund) bool { return r.State.Final() && !r.Exposed && r.Case == nil }
