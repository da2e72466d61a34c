package refund

import (
	"fmt"
	"time"
)

// HandoutTTL is how long a job that was just handed out has before the sweeper hands it out again.
const HandoutTTL = 10 * time.Second

// Apply enters one fact into a record that is held under its lock. It is pure: the same record, fact and contract give
// the same change. r.Now is the time of the reading. Errors: ErrNotOwner when a conclusion from missing evidence
// carries another generation than the row; a plain error when the fact names what does not exist.
func Apply(r Record, f Fact, c Contract) (Change, error) { return applyBy(stateTable, r, f, c) }

func applyBy(rules []rule, r Record, f Fact, c Contract) (Change, error) {
	ch := Change{Before: r, After: clone(r)}
	s := &transition{rules: rules, r: &ch.After, c: c, f: f, now: r.Now, change: &ch}
	if f.Kind.concluded() && f.Generation != r.Generation {
		return Change{}, ErrNotOwner
	}
	if f.Dispatch == 0 {
		s.f.Dispatch = r.DispatchNo
	}
	d, ok := ch.After.Dispatch(s.f.Dispatch)
	if !ok {
		return Change{}, fmt.Errorf("refund: fact names dispatch %d of %d", s.f.Dispatch, r.DispatchNo)
	}
	s.d, s.ackBefore = d, d.Acknowledged
	if f.Attempt != 0 {
		if done, err := s.complete(); err != nil || done {
			ch.Known = done
			return ch, err
		}
	}
	s.record()
	if f.Kind.keyed() && f.fromChannel() {
		s.unpair(s.f.Dispatch)
	}
	s.enter(s.row())
	s.settle()
	s.finish()
	return ch, s.check()
}

// concluded says whether a kind is our own conclusion from missing evidence, fenced by the generation.
func (k FactKind) concluded() bool {
	return k == LeaseEnd || k == Settled || k == KeyExpired || k == Deadline
}

// keyed says whether a kind has an identity: a status of a number or an effect. Answers that speak only of their own
// attempt have none, else the second of them would look known and move nothing. A person's word has none either (see
// fromChannel): the channel's own word must never look known because of it.
func (k FactKind) keyed() bool {
	return k == Succeeded || k == Acknowledged || k == FailedFinal || k == Reversed
}

// positive says whether a kind tells of a refund that the channel has or had.
func (k FactKind) positive() bool { return k == Succeeded || k == Acknowledged || k == Reversed }

// lost says whether the attempt that the fact answers is not the one that has its ordinal now; nil = none has.
func (f Fact) lost(a *Attempt) bool {
	return !f.AttemptAt.IsZero() && (a == nil || !a.StartedAt.Equal(f.AttemptAt))
}

func (f Fact) fromChannel() bool { return f.Source != "decision" }

// complete writes the attempt's answer, once. done: it had one, or its attempt was lost and it proves nothing.
func (s *transition) complete() (done bool, err error) {
	a, ok := s.r.Attempt(s.f.Attempt)
	if s.f.lost(a) { // a restore has cut off the attempt: what the channel has of the number stands, what it has not proves nothing
		s.f.Attempt = 0
		return !s.f.Kind.positive(), nil
	}
	if !ok {
		return false, fmt.Errorf("refund: fact names attempt %d of %d", s.f.Attempt, s.r.AttemptNo)
	}
	if a.Answer != "" {
		return true, nil
	}
	a.Answer, a.AnsweredAt, a.Code, a.RetryAfter = s.f.Kind, s.now, s.f.Code, s.f.RetryAfter
	s.attempt = a
	s.change.Attempt = &AttemptAnswer{No: a.No, Answer: s.f.Kind, Rule: s.f.Rule, Code: s.f.Code, RetryAfter: s.f.RetryAfter,
		Late: a.Generation != s.r.Generation, Evidence: s.f.Evidence}
	if !s.r.LeaseEndsAt.IsZero() && a.Generation == s.r.Generation {
		s.releaseLease()
	}
	return false, nil
}

// releaseLease gives ownership back after the owner's answer. PROCESSING keeps the lease until it is left.
func (s *transition) releaseLease() {
	if s.r.State != StateProcessing {
		s.r.LeaseEndsAt = time.Time{}
	}
}

// record keeps what the fact says of its dispatch, whatever the state.
func (s *transition) record() {
	d := s.d
	switch s.f.Kind {
	case Acknowledged, Reversed: // the channel has, or had, a refund of this number
		if !s.ackBefore { // a decree that says "not done" is void
			d.Overridden = false
		}
		d.Acknowledged = true
		d.Exposed = true
	case FailedFinal:
		if d.FinalNegativeAt.IsZero() {
			d.FinalNegativeAt = s.now
		}
	default: // the others say something of their attempt only, or of money, which book keeps
	}
	if s.f.Kind.keyed() && s.f.ChannelRefundID != "" && d.ChannelRefundID == "" && !s.ofAnother(s.f.ChannelRefundID) {
		d.ChannelRefundID = s.f.ChannelRefundID
		d.Acknowledged = true
	}
	s.change.Known = s.f.Kind.keyed() && s.f.fromChannel() && s.r.Facts[s.key()]
	s.refold()
}

// ofAnother says whether the channel's id belongs to another number of this refund.
func (s *transition) ofAnother(id string) bool {
	for _, d := range s.r.Dispatches {
		if d.Ordinal != s.f.Dispatch && d.ChannelRefundID == id {
			return true
		}
	}
	return false
}

// refold brings the flags in step with the answers. Exposure ends by evidence; it begins only with a send's claim, an
// acknowledgement or an epoch mark, so that a contract's new terms cannot expose what was proven under the old ones. While
// an epoch is open no answer ends it: sends that a restore has cut off may stand behind each of them.
func (s *transition) refold() {
	for i := range s.r.Dispatches {
		d := &s.r.Dispatches[i]
		stays := s.heldOpen(*d) || s.r.Exposure(*d, s.c, s.now).Exposed
		d.Exposed = (d.Exposed || (s.f.Kind == EpochMark && d.MarkedEpoch > 0)) && stays
	}
	s.r.Exposed = s.r.anyExposed()
}

// heldOpen says whether a dispatch that was exposed stays so because an epoch is open.
func (s *transition) heldOpen(d Dispatch) bool {
	was, ok := s.change.Before.Dispatch(d.Ordinal)
	return s.r.SendingHeld && ok && was.Exposed && !d.Overridden && !s.r.booked(d.Ordinal)
}

func (s *transition) key() [32]byte {
	return FactKey(s.d.Number, string(s.f.Kind), s.f.ChannelRefundID, s.f.Amount, s.f.Currency)
}

// row finds the table row that applies. A known fact has done its work, unless it answers an open ask, or is a return
// whose effect was booked only later; what fits no row is kept as evidence, and a conclusion that does not hold any more
// is forgotten.
func (s *transition) row() rule {
	late := s.f.Kind == Reversed && stands.ok(s) && !otherAmount.ok(s)
	if s.change.Known && !answersAsk.ok(s) && !late {
		return rule{id: "known", moves: stay(), silent: true}
	}
	for _, w := range s.rules {
		if w.fact == s.f.Kind && has(w.in, s.r.State) && s.holds(w.when) {
			return w
		}
	}
	return rule{id: "evidence", moves: stay(), silent: s.f.Kind.concluded()}
}

func (s *transition) holds(gs []guard) bool {
	for _, g := range gs {
		if !g.ok(s) {
			return false
		}
	}
	return true
}

// enter makes the row's transitions.
func (s *transition) enter(w rule) {
	s.change.Rows = append(s.change.Rows, w.id)
	caseBefore, askBefore := s.r.Case, s.r.AskNo
	for i, h := range w.moves {
		for _, a := range h.do {
			a.do(s)
		}
		if s.refold(); s.over(h.to) {
			continue // an open state with nothing exposed is none to write: settle takes it from here
		}
		from := s.r.State
		s.move(h.to)
		s.flags()
		if i == len(w.moves)-1 {
			s.alarm()
			s.closes()
		}
		stays := from == s.r.State
		if stays && (w.silent || s.change.Known) && s.r.Case == caseBefore && s.r.AskNo == askBefore {
			continue
		}
		s.journal(from, s.hopKind(w, i))
	}
}

// hopKind: a return that nobody had told before is two facts, the success and its end.
func (s *transition) hopKind(w rule, i int) FactKind {
	if len(w.moves) == 2 {
		return []FactKind{Succeeded, Reversed}[i]
	}
	return s.f.Kind
}

// over says whether a hop would stay among the open states although nothing is exposed any more.
func (s *transition) over(to State) bool {
	return has(inFlight, s.r.State) && !s.r.anyExposed() && (to == "" || has(inFlight, to))
}

// settle leaves the open states when nothing is exposed any more: time or this fact ended it. The journal tells it
// under the fact that came.
func (s *transition) settle() {
	if !s.over("") {
		return
	}
	kind, known := s.f.Kind, s.change.Known
	s.f.Kind, s.change.Known = Settled, false
	w := s.row()
	s.f.Kind, s.change.Known = kind, known
	s.enter(w)
}

// move changes the state and everything that depends on the state alone.
func (s *transition) move(to State) {
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

// failureCode says in our words why a refund failed.
func failureCode(r *Record, k FactKind) string {
	a, ok := r.lastSend(r.DispatchNo)
	switch {
	case k == ConfirmedNotDone:
		return "decided-not-done"
	case k == FailedFinal || r.endedNegatively():
		return "channel-failed"
	case ok && a.Answer == RefusedEcho:
		return "channel-refused-duplicate"
	}
	return "channel-refused"
}

// endedNegatively says whether the end of the live number is known, or of one behind it: only an epoch marks such a number,
// and the channel knows it only if it was used in a future that a restore has cut off.
func (r *Record) endedNegatively() bool {
	for _, d := range r.Dispatches {
		if d.Ordinal >= r.DispatchNo && !d.FinalNegativeAt.IsZero() {
			return true
		}
	}
	return false
}

func (s *transition) channelCode() string {
	if s.f.Code != "" || s.decided != nil {
		return s.f.Code
	}
	a, _ := s.r.lastSend(s.r.DispatchNo)
	return a.Code
}

// flags derives what a row of the table must never forget: exposure under a final state, held money, excess, and the
// reasons of a case that an end has answered.
func (s *transition) flags() {
	s.refold()
	switch moved := s.r.State == StateSuccess || s.r.State == StateReversed; {
	case !s.r.State.Final():
	case !s.r.Exposed:
		s.dropReason(CaseDeadline)
		s.dropReason(CaseNoStep)
		s.dropReason(CaseOtherNumberOpen)
	case moved || s.r.Case == nil:
		s.addReason(CaseOtherNumberOpen)
	}
	p := &s.r.Payment
	p.Held += underFinal(s.r.Refund) - s.heldSoFar()
	*p = p.WithExcess()
}

// alarm opens the case of an excess that the whole fact has made, and ends the reason when nothing is left of it; what the
// first transition adds the second may take back.
func (s *transition) alarm() {
	switch p := s.r.Payment; {
	case p.Excess <= p.ExcessAccepted:
		s.dropReason(CaseExcess)
	case p.Excess > s.change.Before.Payment.Excess:
		s.addReason(CaseExcess)
	}
}

// underFinal is what a refund holds of its payment because something is exposed although it told its end.
func underFinal(r Refund) int64 {
	if r.State.Final() && r.Exposed {
		return r.Amount
	}
	return 0
}

// heldSoFar is what the last written row of this refund holds.
func (s *transition) heldSoFar() int64 {
	if n := len(s.change.Steps); n > 0 {
		return underFinal(s.change.Steps[n-1].Row)
	}
	return underFinal(s.change.Before.Refund)
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
	for k, v := range s.decided.told() {
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
	if kind.keyed() && s.f.fromChannel() && !s.change.Known {
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

// idle: nothing will ever have to be done of itself.
func idle(r Refund) bool { return r.State.Final() && !r.Exposed && r.Case == nil }

// finish sets the one timer by asking what comes next.
func (s *transition) finish() {
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

// check is the pair of the database's guards: a change that breaks a promise never leaves this package.
func (s *transition) check() error {
	r := s.r
	open := has(inFlight, r.State)
	switch {
	case open && !r.Exposed:
		return fmt.Errorf("refund: %s with nothing exposed", r.State)
	case r.State == StatePending && r.Exposed:
		return fmt.Errorf("refund: PENDING while exposed")
	case r.State.Final() && r.Exposed && r.Case == nil:
		return fmt.Errorf("refund: %s while exposed, without a case", r.State)
	case r.Payment.Reserved < 0 || r.Payment.Refunded < 0 || r.Payment.Held < 0:
		return fmt.Errorf("refund: a balance fell below zero: %+v", r.Payment)
	}
	return nil
}

func has(in []State, s State) bool {
	for _, x := range in {
		if x == s {
			return true
		}
	}
	return false
}

// clone copies what Apply may write to.
func clone(r Record) Record {
	r.Dispatches = append([]Dispatch(nil), r.Dispatches...)
	r.Attempts = append([]Attempt(nil), r.Attempts...)
	r.Effects = append([]Effect(nil), r.Effects...)
	facts := make(map[[32]byte]bool, len(r.Facts)+2)
	for k := range r.Facts {
		facts[k] = true
	}
	r.Facts = facts
	return r
}
