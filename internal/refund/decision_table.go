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
	resend := []mutation{disownLines, overrideLive, askLive, nextNumber}
	return []rule{
		{id: "decided/success", fact: ConfirmedSuccess, in: states(StatePending, StateUnknown, StateAccepted), moves: to(StateSuccess, bookDecided),
			doc: "A person confirms that the money moved."},
		{id: "decided/success-late", fact: ConfirmedSuccess, in: states(StateFailed, StateCanceled, StateReversed), moves: to(StateSuccess, bookDecided),
			doc: "A person confirms that the money moved after the refund was reported as not done."},
		{id: "decided/success-again", fact: ConfirmedSuccess, in: states(StateSuccess), moves: stay(bookDecided),
			doc: "A person confirms a second movement of money."},
		{id: "decided/not-done", fact: ConfirmedNotDone, in: states(StatePending, StateUnknown, StateAccepted), moves: to(StateFailed, overrideAll, disownLines, adoptLines),
			doc: "A person confirms that no money moved. Every number without an effect is closed."},
		{id: "decided/resend", fact: DecidedResend, in: states(StateUnknown), moves: to(StatePending, resend...),
			doc: "The next number is opened. The channel is asked about the old one before anything is sent."},
		{id: "decided/resend-pending", fact: DecidedResend, in: states(StatePending), moves: stay(resend...),
			doc: "The next number is opened. The channel is asked about the old one before anything is sent."},
		{id: "decided/not-ours", fact: AcceptedAsIs, in: states(StatePending, StateUnknown, StateAccepted), moves: stay(disownLines, closeUnmatched, adoptLines),
			doc: "A person says of an open refund that the held lines are not its own, and accepts the excess. The refund continues."},
		{id: "decided/accepted-as-is", fact: AcceptedAsIs, in: finalStates, moves: stay(overrideAll, disownLines, adoptLines),
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
	closeUnmatched = mutation{"close reason: " + string(CaseUnmatchedLine), func(s *transition) {
		if len(s.r.linesHeldFor()) == 0 {
			s.dropReason(CaseUnmatchedLine)
		}
	}}
	bookDecided  = mutation{"book the effect", (*transition).bookDecided}
	overrideAll  = mutation{"close every number without an effect by decision", (*transition).overrideAll}
	overrideLive = mutation{"close the live number by decision", func(s *transition) { s.overrideDispatch(s.r.DispatchNo) }}
	adoptLines   = mutation{"adopt held lines", (*transition).adoptLines}
	disownLines  = mutation{"say that held lines are not this refund", (*transition).disownLines}
	askLive      = mutation{"ask about the old number first", (*transition).openAsk}
	unbook       = mutation{"take back what a person had confirmed", (*transition).unbookConfirmed}
)

// bookDecided books an effect without the channel's id, or makes the line that the person names the refund's own. A line that
// explains an effect without id gives it its id.
func (s *transition) bookDecided() {
	if s.decided.EffectID.IsZero() {
		s.book()
		return
	}
	s.change.LineDecided = true
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.ID != s.decided.EffectID || e.Ours {
			continue
		}
		if unnamed := s.r.unnamedEffect(s.d.Ordinal, *e); unnamed != nil {
			unnamed.ChannelRefundID, e.Status = e.ChannelRefundID, EffectDropped
			break
		}
		if e.Status == EffectHeld { // an adopted line is counted already
			s.r.Payment.Refunded += e.Counted
		}
		e.Ours, e.DispatchNo, e.Status, e.Pending, e.CoveredBy, e.ByPerson = true, s.d.Ordinal, EffectMoved, false, RID{}, true
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

// adoptLines adopts held lines that a person has said are not this refund, unless another refund of the payment may own them or
// is exposed. A line whose money has not moved yet is dropped.
func (s *transition) adoptLines() {
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		switch {
		case e.Ours || e.Status != EffectHeld || !s.r.disowned(*e) || s.r.mayYetPay() || s.r.othersMayOwn(*e):
		case e.Pending:
			e.Status = EffectDropped
		default:
			e.Status = EffectMoved
			s.r.Payment.Refunded += e.Counted
		}
	}
}

// openAsk makes the next send wait until the channel was asked about the old number once more. Where the channel cannot be
// asked, the old number provably did nothing, and a number that was never used has nothing to ask about.
func (s *transition) openAsk() {
	s.r.StateSince = s.now
	if d, ok := s.r.Dispatch(s.r.DispatchNo); ok && s.c.questionTerms().Exists && s.r.wasSent(*d) {
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
