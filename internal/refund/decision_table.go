package refund

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
		{id: "decided/confirmation-revoked-one", fact: ConfirmationRevoked, in: states(StateSuccess), when: when(anotherByChannel), moves: stay(unbook), doc: "what only a person had confirmed is un-booked; another effect stands"},
		{id: "decided/confirmation-revoked", fact: ConfirmationRevoked, in: states(StateSuccess), moves: to(StateReversed, unbook), doc: "what only a person had confirmed is un-booked"},
	}
}

var anotherByChannel = guard{"another effect stands", func(s *transition) bool {
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
	overrideLive = mutation{"decree the live number", func(s *transition) { s.overrideDispatch(s.r.DispatchNo) }}
	adoptLines   = mutation{"adopt held lines", (*transition).adoptLines}
	askLive      = mutation{"open the ask", (*transition).openAsk}
	unbook       = mutation{"un-book what a person had confirmed", (*transition).unbookConfirmed}
)

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
	s.refoldExposure()
}

func (s *transition) overrideDispatch(no int) {
	d, _ := s.r.Dispatch(no)
	d.Overridden, d.Exposed = true, false
	s.refoldExposure()
}

func (s *transition) overrideAll() {
	for _, d := range s.r.Dispatches {
		if !s.r.booked(d.Ordinal) {
			s.overrideDispatch(d.Ordinal)
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
	if s.c.questionTerms().Exists {
		s.r.AskNo = s.r.DispatchNo
	}
}

func (s *transition) unbookConfirmed() {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; e.Ours && e.Status == EffectMoved && e.ByPersonOnly() {
			e.Status, e.ReversedAt = EffectReversed, s.now
			s.r.Payment.Refunded -= e.Counted
			s.overrideDispatch(e.DispatchNo)
		}
	}
}
