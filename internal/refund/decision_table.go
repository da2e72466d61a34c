package refund

// Facts of decisions. A fact has its action's own name, so that a decision is spelled one way in the API, the table and the
// journal.
const (
	ConfirmedSuccess    = FactKind(ActionConfirmSuccess)
	ConfirmedNotDone    = FactKind(ActionConfirmNotDone)
	DecidedResend       = FactKind(ActionResend)
	AcceptedAsIs        = FactKind(ActionAcceptAsIs)
	ConfirmationRevoked = FactKind(ActionRevokeConfirmation)
)

// decisionTable is the table of ApplyDecision: a person is one more source of facts, and only a rule moves a refund. It is
// never written to.
var decisionTable = decisionRows()

func decisionRows() []rule {
	resend := []mutation{overrideLive, askLive, nextNumber}
	return []rule{
		{id: "decided/success", fact: ConfirmedSuccess, in: states(StatePending, StateUnknown, StateAccepted), moves: to(StateSuccess, bookDecided),
			doc: "A person confirms that the money moved."},
		{id: "decided/success-late", fact: ConfirmedSuccess, in: states(StateFailed, StateCanceled, StateReversed), moves: to(StateSuccess, bookDecided),
			doc: "A person confirms that the money moved after the refund was reported as not done."},
		{id: "decided/success-again", fact: ConfirmedSuccess, in: states(StateSuccess), moves: stay(bookDecided),
			doc: "A person confirms a second movement of money."},
		{id: "decided/not-done", fact: ConfirmedNotDone, in: states(StatePending, StateUnknown, StateAccepted), moves: to(StateFailed, overrideAll, adoptLines),
			doc: "A person confirms that no money moved. Every number without an effect is closed."},
		{id: "decided/resend", fact: DecidedResend, in: states(StateUnknown), moves: to(StatePending, resend...),
			doc: "The next number is opened. The channel is asked about the old one before anything is sent."},
		{id: "decided/resend-pending", fact: DecidedResend, in: states(StatePending), moves: stay(resend...),
			doc: "The next number is opened. The channel is asked about the old one before anything is sent."},
		{id: "decided/accepted-as-is", fact: AcceptedAsIs, in: finalStates, moves: stay(overrideAll, adoptLines),
			doc: "A person accepts the end as it is, with the excess that it caused."},
		{id: "decided/confirmation-revoked-one", fact: ConfirmationRevoked, in: states(StateSuccess), when: when(anotherByChannel), moves: stay(unbook),
			doc: "A person's confirmation is taken back; another movement of money stands."},
		{id: "decided/confirmation-revoked", fact: ConfirmationRevoked, in: states(StateSuccess), moves: to(StateReversed, unbook),
			doc: "A person's confirmation is taken back; no other movement of money stands."},
	}
}

var anotherByChannel = guard{"another effect confirmed by the channel stands", func(s *transition) bool {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; e.Ours && e.Status == EffectMoved && !e.ByPersonOnly() {
			return true
		}
	}
	return false
}}

var (
	bookDecided  = mutation{"book the effect", (*transition).bookDecided}
	overrideAll  = mutation{"close every number without an effect by decision", (*transition).overrideAll}
	overrideLive = mutation{"close the live number by decision", func(s *transition) { s.overrideDispatch(s.r.DispatchNo) }}
	adoptLines   = mutation{"adopt held lines", (*transition).adoptLines}
	askLive      = mutation{"ask about the old number first", (*transition).openAsk}
	unbook       = mutation{"take back what a person had confirmed", (*transition).unbookConfirmed}
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

// adoptLines ends the wait of held lines that could have been this refund: a line that explains an effect without id is
// dropped, the others are adopted. They stay held while another refund of the payment may still pay or has an effect without
// id, because they could be its own.
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

// nameEffect gives a line's id to a standing effect of the refund without one. It reports whether there was one.
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

// openAsk makes the next send wait until the channel was asked about the old number once more. Where the channel cannot be
// asked, or the number was never used, the old number provably did nothing.
func (s *transition) openAsk() {
	s.r.StateSince = s.now
	d, _ := s.r.Dispatch(s.r.DispatchNo)
	if used := d.MarkedEpoch > 0 || !s.r.firstTry(d.Ordinal).IsZero(); used && s.c.questionTerms().Exists {
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
