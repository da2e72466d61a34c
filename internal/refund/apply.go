package refund

import (
	"fmt"
	"time"
)

// HandoutTTL is how long a job that was just handed out has before the sweeper hands it out again.
const HandoutTTL = 10 * time.Second

// Apply enters one fact into a record that is held under its lock. It is pure: the same record, fact and contract give
// the same change. r.Now is the time of the reading. Errors: ErrNotOwner when a conclusion does not hold any more: the record
// has another generation, or time and evidence say something else; a plain error when the fact names what does not exist.
func Apply(r Record, f Fact, c Contract) (Change, error) { return applyBy(stateTable, r, f, c) }

func applyBy(rules []rule, r Record, f Fact, c Contract) (Change, error) {
	ch := Change{Before: r, After: clone(r)}
	s := &transition{rules: rules, r: &ch.After, c: c, f: f, now: r.Now, change: &ch}
	if f.Dispatch == 0 {
		s.f.Dispatch = r.DispatchNo
	}
	if f.Kind.Conclusion() && !r.concludes(s.f, c) {
		return Change{}, fmt.Errorf("%w: %s of generation %d, the refund is %s at %d", ErrNotOwner, f.Kind, f.Generation, r.State, r.Generation)
	}
	d, ok := ch.After.Dispatch(s.f.Dispatch)
	if !ok {
		return Change{}, fmt.Errorf("refund: fact names dispatch %d of %d", s.f.Dispatch, r.DispatchNo)
	}
	s.d, s.ackBefore = d, d.Acknowledged
	if f.Attempt != 0 {
		if done, err := s.completeAttempt(); err != nil || done {
			ch.Known = done
			return ch, err
		}
	}
	s.storeEvidence()
	if f.Kind.hasIdentity() && f.fromChannel() {
		s.takeID(s.f.Dispatch)
	}
	s.applyRule(s.findRule())
	s.leaveIfClear()
	s.setTimer()
	return ch, s.check()
}

// completeAttempt writes the attempt's answer, once. done: it had one, or its attempt was lost and it proves nothing.
func (s *transition) completeAttempt() (done bool, err error) {
	a, ok := s.r.Attempt(s.f.Attempt)
	if s.f.answersLostAttempt(a) { // a restore has cut off the attempt: what the channel has of the number stands, what it has not proves nothing
		s.f.Attempt = 0
		return !s.f.Kind.provesRefund(), nil
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

// storeEvidence keeps what the fact says of its dispatch, whatever the state.
func (s *transition) storeEvidence() {
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
	if s.f.Kind.hasIdentity() && s.f.ChannelRefundID != "" && d.ChannelRefundID == "" && !s.idOfAnother(s.f.ChannelRefundID) {
		d.ChannelRefundID = s.f.ChannelRefundID
		d.Acknowledged = true
	}
	s.change.Known = s.f.Kind.hasIdentity() && s.f.fromChannel() && s.r.Facts[s.factKey()]
	s.refoldExposure()
}

// idOfAnother says whether the channel's id belongs to another number of this refund.
func (s *transition) idOfAnother(id string) bool {
	for _, d := range s.r.Dispatches {
		if d.Ordinal != s.f.Dispatch && d.ChannelRefundID == id {
			return true
		}
	}
	return false
}

func (s *transition) factKey() [32]byte {
	return FactKey(s.d.Number, string(s.f.Kind), s.f.ChannelRefundID, s.f.Amount, s.f.Currency)
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
