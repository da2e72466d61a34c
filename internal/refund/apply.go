package refund

import (
	"fmt"
	"time"
)

// HandoutTTL is how long a job has for its step before the sweeper enqueues the step again. A refund that waits for the end
// of an epoch is read again at the same interval (heldRecheck).
const HandoutTTL = 10 * time.Second

// Apply enters one fact into a record that is held under its lock. It is pure: the same record, fact and contract give the
// same change. r.Now is the time of the reading. Errors: ErrNotOwner when a conclusion does not hold on the record as it
// stands; a GuardError when the fact names a dispatch or an attempt that does not exist, or when the
// change breaks a check of the database.
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
		return Change{}, &GuardError{Guard: "fact-dispatch", Err: fmt.Errorf("fact names dispatch %d of %d", s.f.Dispatch, r.DispatchNo)}
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

// completeAttempt stores the attempt's answer, once. done is true when the attempt was answered before, or when a restore
// has removed it and the answer proves nothing.
func (s *transition) completeAttempt() (done bool, err error) {
	a, ok := s.r.Attempt(s.f.Attempt)
	if s.f.answersLostAttempt(a) { // a restore has removed the attempt: a refund at the channel stands, a missing one proves nothing
		s.f.Attempt = 0
		return !s.f.Kind.provesRefund(), nil
	}
	if !ok {
		return false, &GuardError{Guard: "fact-attempt", Err: fmt.Errorf("fact names attempt %d of %d", s.f.Attempt, s.r.AttemptNo)}
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

// releaseLease ends the owner's lease after its answer. PROCESSING keeps the lease until the state is left.
func (s *transition) releaseLease() {
	if s.r.State != StateProcessing {
		s.r.LeaseEndsAt = time.Time{}
	}
}

// storeEvidence stores what the fact proves about its dispatch, in every state.
func (s *transition) storeEvidence() {
	d := s.d
	switch s.f.Kind {
	case Acknowledged, Reversed: // the channel has, or had, a refund of this number
		if !s.ackBefore { // the acknowledgement voids a decision that said "not done"
			d.Overridden = false
		}
		d.Acknowledged = true
		d.Exposed = true
	case FailedFinal:
		if d.FinalNegativeAt.IsZero() {
			d.FinalNegativeAt = s.now
		}
	default: // other kinds are about their attempt only, or about money, which book stores
	}
	if s.f.Kind.hasIdentity() && s.f.ChannelRefundID != "" && d.ChannelRefundID == "" && !s.idOfAnother(s.f.ChannelRefundID) {
		d.ChannelRefundID = s.f.ChannelRefundID
		d.Acknowledged = true
	}
	s.change.Known = s.f.Kind.hasIdentity() && s.f.fromChannel() && s.r.Facts[s.factKey()]
	s.refoldExposure()
}

// idOfAnother reports whether the channel refund id belongs to another number of this refund.
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

// check repeats the constraints of the database, so that a change that breaks one is never returned.
func (s *transition) check() error {
	r := s.r
	switch {
	case !r.Exposed && r.State.MustBeExposed():
		return &GuardError{Guard: "open-and-clear", Err: fmt.Errorf("%s with nothing exposed", r.State)}
	case r.Exposed && !r.State.MayBeExposed(r.Case != nil):
		return &GuardError{Guard: "exposed-state", Err: fmt.Errorf("%s while exposed, case open: %t", r.State, r.Case != nil)}
	case r.Payment.Reserved < 0 || r.Payment.Refunded < 0 || r.Payment.Held < 0:
		return &GuardError{Guard: "balance-below-zero", Err: fmt.Errorf("%+v", r.Payment)}
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

// clone copies the parts of a record that Apply changes.
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
