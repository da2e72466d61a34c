package refund

import "time"

// LongestLease bounds how long an owner lost in another epoch may still send.
const LongestLease = time.Minute

// transition applies rules to a working copy of the record, with one fact. Its methods are here, in apply.go (evidence),
// derive.go (flags, balances), guards.go and effect_match.go (conditions), mutations.go, decision_table.go,
// decision_apply.go and lines_change.go (mutations), case.go (reasons).
type transition struct {
	rules     []rule
	r         *Record // the working copy
	c         Contract
	f         Fact
	now       time.Time // of the reading
	d         *Dispatch // the one that the fact names
	attempt   *Attempt  // the one that the fact completes, or nil
	ackBefore bool      // the dispatch was acknowledged before this fact
	change    *Change
	decided   *Decision // the decision that takes effect, or nil
	linesHeld *int64    // the part of the held amount that lines have, as last computed; nil = as before the fact
}

// findRule returns the first rule that fits. A known fact needs no rule, unless it answers an open ask, or is a return whose
// effect was booked only later. A fact without a rule is stored as evidence.
func (s *transition) findRule() rule {
	late := s.f.Kind == Reversed && effectStands.ok(s) && !otherAmountOrCurrency.ok(s)
	if s.change.Known && !answersOpenAsk.ok(s) && !late {
		return rule{id: "known", moves: stay(), silent: true}
	}
	for _, row := range s.rules {
		if row.fact == s.f.Kind && has(row.in, s.r.State) && s.holds(row.when) {
			return row
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

// applyRule makes the moves of the rule.
func (s *transition) applyRule(row rule) {
	s.change.Rows = append(s.change.Rows, row.id)
	caseBefore, askBefore := s.r.Case, s.r.AskNo
	for i, m := range row.moves {
		for _, x := range m.do {
			x.do(s)
		}
		if s.refoldExposure(); s.openButClear(m.to) {
			continue // no row is written with an open state and nothing exposed; leaveIfClear follows
		}
		from := s.r.State
		s.enterState(m.to)
		s.deriveFlags()
		if i == len(row.moves)-1 {
			s.caseOfExcess()
			s.closeCase()
		}
		stays := from == s.r.State
		if stays && (row.silent || s.change.Known) && s.r.Case == caseBefore && s.r.AskNo == askBefore {
			continue
		}
		s.journal(from, s.moveKind(row, i))
	}
}

// moveKind returns the journal kind of a move. A return of an effect that was not known is two facts: the success and its
// end.
func (s *transition) moveKind(row rule, i int) FactKind {
	if len(row.moves) == 2 {
		return []FactKind{Succeeded, Reversed}[i]
	}
	return s.f.Kind
}

// openButClear reports whether a move would stay among the open states although nothing is exposed any more.
func (s *transition) openButClear(to State) bool {
	return s.r.State.MustBeExposed() && !s.r.anyExposed() && (to == "" || to.MustBeExposed())
}

// leaveIfClear leaves the open states when nothing is exposed any more. The journal row has the kind of the fact that came.
func (s *transition) leaveIfClear() {
	if !s.openButClear("") {
		return
	}
	kind, known := s.f.Kind, s.change.Known
	s.f.Kind, s.change.Known = Settled, false
	row := s.findRule()
	s.f.Kind, s.change.Known = kind, known
	s.applyRule(row)
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
	s.answerWaiting(from)
	if from == StateProcessing || to.Final() || to == StatePending {
		s.r.LeaseEndsAt = time.Time{}
	}
	if to == StateFailed {
		s.r.Failure = s.failure()
	}
	if to.Final() && !from.Final() {
		s.r.Payment.Reserved -= s.r.Amount
	}
	if to.Final() {
		s.r.FinalAt = s.now
	}
}

// answerWaiting removes the reasons of waiting that a new open state answers. Proven absence or a refusal makes another step
// possible, an acknowledgement begins another wait; the deadline of PENDING counts from the first send and may have passed.
func (s *transition) answerWaiting(from State) {
	switch {
	case s.r.State == StateAccepted:
		s.dropReason(CaseDeadline)
	case s.r.State != StatePending || from == StatePending:
		return
	case !s.r.pendingTooLong(s.c, s.now):
		s.dropReason(CaseDeadline)
	}
	s.dropReason(CaseNoStep)
}

// journal adds a step: one journal row, and the refund's row as it stands now.
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
	if err != nil { // the data has only strings and integers
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
	s.change.VoidProposals, s.r.ProposalOpen = true, false
}

// setTimer sets the one timer to the time of the next step.
func (s *transition) setTimer() {
	step := Decide(s.change.After, s.c, s.now)
	if s.r.State == StatePending {
		s.r.PendingReason = s.whyPending(step)
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

// whyPending returns the reason of a PENDING refund whose next step is known. Under a case it waits for a person, and the reason is
// what it would wait for without one.
func (s *transition) whyPending(step Step) PendingReason {
	last, sent := s.r.lastSend(s.r.DispatchNo)
	switch {
	case step.Kind == StepWait && step.Why != "":
		return step.Why
	case s.r.Case == nil:
		return PendingQueued
	case sent && (last.Answer == Retryable || last.Answer == NotSent):
		return s.c.pendingReason(last)
	case s.r.PendingReason != "" && s.r.PendingReason != PendingHeld:
		return s.r.PendingReason
	}
	return PendingQueued
}

// idle reports that the refund needs no timer.
func idle(r Refund) bool { return r.State.Final() && !r.Exposed && r.Case == nil }
