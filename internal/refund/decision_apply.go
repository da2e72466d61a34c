package refund

import "time"

// What decisions do, as rows like those of the state table: a person is one more source of facts, and nothing but a row
// moves a refund.
// A decision's fact carries the action's own name, so a decision is spelled one way in the API, the tables and the journal.
const (
	ConfirmedSuccess    = FactKind(ActionConfirmSuccess)
	ConfirmedNotDone    = FactKind(ActionConfirmNotDone)
	DecidedResend       = FactKind(ActionResend)
	AcceptedAsIs        = FactKind(ActionAcceptAsIs)
	ConfirmationRevoked = FactKind(ActionRevokeConfirmation)
)

// decisionTable is what ApplyDecision reads. Nothing writes to it.
var decisionTable = decisionRows()

func decisionRows() []rule {
	resend := []mutation{overrideLive, askLive, nextNumber}
	return []rule{
		{id: "decided/success", fact: ConfirmedSuccess, in: states(StatePending, StateUnknown, StateAccepted), moves: to(StateSuccess, bookDecided), doc: "a person confirms that the money moved"},
		{id: "decided/success-late", fact: ConfirmedSuccess, in: states(StateFailed, StateCanceled, StateReversed), moves: to(StateSuccess, bookDecided), doc: "a person confirms that the money moved against what we had told"},
		{id: "decided/success-again", fact: ConfirmedSuccess, in: states(StateSuccess), moves: stay(bookDecided), doc: "a person confirms a second effect"},
		{id: "decided/not-done", fact: ConfirmedNotDone, in: states(StatePending, StateUnknown, StateAccepted), moves: to(StateFailed, overrideAll, adoptLines), doc: "a person confirms that nothing moved; every number without an effect is closed"},
		{id: "decided/resend", fact: DecidedResend, in: states(StateUnknown), moves: to(StatePending, resend...), doc: "the next number; the channel is asked about the old one before anything is sent"},
		{id: "decided/resend-pending", fact: DecidedResend, in: states(StatePending), moves: stay(resend...), doc: "as above"},
		{id: "decided/accepted-as-is", fact: AcceptedAsIs, in: ended, moves: stay(overrideAll, adoptLines), doc: "a person accepts the end as it is, and the excess that it made"},
		{id: "decided/confirmation-revoked-one", fact: ConfirmationRevoked, in: states(StateSuccess), when: when(anotherStands), moves: stay(unbook), doc: "what only a person had confirmed is un-booked; another effect stands"},
		{id: "decided/confirmation-revoked", fact: ConfirmationRevoked, in: states(StateSuccess), moves: to(StateReversed, unbook), doc: "what only a person had confirmed is un-booked"},
	}
}

var anotherStands = guard{"another effect stands", func(s *transition) bool {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; e.Ours && e.Status == EffectMoved && !e.ByPersonOnly() {
			return true
		}
	}
	return false
}}

var (
	bookDecided  = mutation{"book the effect", (*transition).bookDecided}
	overrideAll  = mutation{"decree every number without an effect", (*transition).overrideAll}
	overrideLive = mutation{"decree the live number", func(s *transition) { s.override(s.r.DispatchNo) }}
	adoptLines   = mutation{"adopt held lines", (*transition).adoptLines}
	askLive      = mutation{"open the ask", (*transition).openAsk}
	unbook       = mutation{"un-book what a person had confirmed", (*transition).unbook}
)

// ApplyDecision makes an approved decision take effect on the record that is held under its lock. Like Apply it is pure.
// Errors: *Problem with CodeDecisionVoid when the refund has moved on or its case is closed, *NotAllowed when the state
// forbids it, ErrTooEarly before DecisionFrom and while an epoch is open.
func ApplyDecision(r Record, d Decision, c Contract) (Change, error) {
	switch {
	case r.Case == nil || r.Case.ID != d.CaseID || d.Stale(r):
		return Change{}, &Problem{Code: CodeDecisionVoid}
	case d.Action != ActionWait && (r.SendingHeld || r.Now.Before(r.DecisionFrom(c))):
		return Change{}, ErrTooEarly
	}
	if err := Obstructed(r, d.Action, d.EffectID, c); err != nil {
		return Change{}, err
	}
	ch := Change{Before: r, After: clone(r), Decision: d.ID}
	if d.Action == ActionWait {
		return ch, nil
	}
	s := &transition{rules: decisionTable, r: &ch.After, c: c, now: r.Now, change: &ch, decided: &d}
	s.f = Fact{Kind: FactKind(d.Action), Dispatch: s.r.DispatchNo, Source: "decision", Actor: "actor:" + d.Checker}
	if d.Action == ActionConfirmSuccess {
		s.f.Dispatch = s.r.doubtful()
	}
	s.d, _ = s.r.Dispatch(s.f.Dispatch)
	s.enter(s.row())
	s.finish()
	return ch, s.check()
}

// told is what the journal says of a decision. Its evidence is text of people and stays in its own row.
func (d *Decision) told() map[string]any {
	if d == nil {
		return nil
	}
	out := map[string]any{"decision": d.ID.String(), "maker": d.Maker, "checker": d.Checker}
	if !d.EffectID.IsZero() {
		out["effect"] = d.EffectID.String()
	}
	return out
}

// bookDecided books an effect without the channel's id, or makes the held line that the person names the refund's own.
func (s *transition) bookDecided() {
	if s.decided.EffectID.IsZero() {
		s.book()
		return
	}
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.ID == s.decided.EffectID {
			e.Ours, e.DispatchNo, e.Status = true, s.d.Ordinal, EffectMoved
			s.r.Payment.Held -= e.Counted
			s.r.Payment.Refunded += e.Counted
		}
	}
	s.refold()
}

func (s *transition) override(no int) {
	d, _ := s.r.Dispatch(no)
	d.Overridden, d.Exposed = true, false
	s.refold()
}

func (s *transition) overrideAll() {
	for _, d := range s.r.Dispatches {
		if !s.r.booked(d.Ordinal) {
			s.override(d.Ordinal)
		}
	}
}

// adoptLines: the held lines that could have been this refund are somebody else's, unless one of them explains an effect of
// it that has no id yet. While another refund of the payment may still pay, or has such an effect, they stay held: nothing is
// adopted that could be ours.
func (s *transition) adoptLines() {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		switch {
		case e.Status != EffectHeld || !s.r.hasAmount(*e):
		case s.nameEffect(*e):
			e.Status = EffectDropped
			s.r.Payment.Held -= e.Counted
		case !s.r.OthersMayPay:
			e.Status = EffectMoved
			s.r.Payment.Held -= e.Counted
			s.r.Payment.Refunded += e.Counted
		}
	}
}

// nameEffect gives a line's id to a standing effect of the refund that has none, and says whether there was one.
func (s *transition) nameEffect(line Effect) bool {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Ours && e.Status == EffectMoved && e.ChannelRefundID == "" && e.Amount == line.Amount && e.Currency == line.Currency {
			e.ChannelRefundID = line.ChannelRefundID
			return true
		}
	}
	return false
}

// openAsk: nothing is sent before the channel was asked about the old number once more. A number that did nothing by
// proof, at a channel that cannot be asked, needs no question.
func (s *transition) openAsk() {
	s.r.StateSince = s.now
	if s.c.asking().Exists {
		s.r.AskNo = s.r.DispatchNo
	}
}

func (s *transition) unbook() {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; e.Ours && e.Status == EffectMoved && e.ByPersonOnly() {
			e.Status, e.ReversedAt = EffectReversed, s.now
			s.r.Payment.Refunded -= e.Counted
			s.override(e.DispatchNo)
		}
	}
}

// closes ends the case by the decision. What no decision can end stays: more excess than anybody has accepted, and a
// number that may still pay.
func (s *transition) closes() {
	if s.decided == nil || s.r.Case == nil {
		return
	}
	p := &s.r.Payment
	if s.decided.Action == ActionAcceptAsIs {
		p.ExcessAccepted = max(p.ExcessAccepted, p.Excess)
	}
	stays := map[CaseReason]bool{CaseExcess: p.Excess > p.ExcessAccepted, CaseOtherNumberOpen: s.r.State.Final() && s.r.Exposed}
	for _, reason := range s.r.Case.Reasons {
		if !stays[reason] {
			s.dropReason(reason)
		}
	}
}

// Due says whether an approved decision may take effect at a time, as far as time decides it.
func (d Decision) Due(r Record, c Contract, now time.Time) bool {
	return d.Verdict == DecisionApproved && d.AppliedAt.IsZero() && !r.SendingHeld && !now.Before(r.DecisionFrom(c))
}
