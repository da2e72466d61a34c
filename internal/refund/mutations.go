package refund

// mutation is a named consequence of a table row.
type mutation struct {
	name string
	do   func(s *transition)
}

func openReason(r CaseReason) mutation {
	return mutation{"case: " + string(r), func(s *transition) { s.addReason(r) }}
}

func closeReason(r CaseReason) mutation {
	return mutation{"answers " + string(r), func(s *transition) {
		if !s.r.otherExposed(0) {
			s.dropReason(r)
		}
	}}
}

// Consequences.
var (
	book        = mutation{"book the effect", (*transition).book}
	bookReturn  = mutation{"mirror the effect", (*transition).bookReturn}
	releaseLine = mutation{"give the line back", (*transition).releaseLine}
	giveID      = mutation{"pair the effect", (*transition).giveID}

	nextNumber = mutation{"next number", (*transition).nextNumber}
	closeAsk   = mutation{"answer the ask", func(s *transition) { s.r.AskNo = 0 }}
	markEpoch  = mutation{"mark exposed", (*transition).markEpoch}

	openSuccessAfterEnd      = openReason(CaseSuccessAfterEnd)
	openMultipleEffects      = openReason(CaseMultipleEffects)
	openOtherNumber          = openReason(CaseOtherNumberOpen)
	openContradiction        = openReason(CaseContradiction)
	openNoStep               = openReason(CaseNoStep)
	openAcknowledgedAfterEnd = openReason(CaseAcknowledgedAfterEnd)
	openGivenReason          = mutation{"case: the reason given", func(s *transition) { s.addReason(s.f.Reason) }}
	closeOtherNumber         = closeReason(CaseOtherNumberOpen)
	closeAcknowledged        = closeReason(CaseAcknowledgedAfterEnd)
)

// giveID gives the channel's id, and its voucher, to the effect that had none.
func (s *transition) giveID() {
	e := s.effectWithoutID()
	e.ChannelRefundID = s.f.ChannelRefundID
	if text := VoucherText(s.f.Voucher); text != "" {
		e.Voucher = text
	}
	s.dropHeldLine()
}

// book adds the effect. Amounts that the channel did not say are the ones we asked for; other amounts stand as they are.
func (s *transition) book() {
	amount, cur := s.f.Amount, s.f.Currency
	if amount == 0 {
		amount = s.r.Amount
	}
	if cur == "" {
		cur = s.r.Currency
	}
	counted := amount
	if cur != s.r.Currency {
		counted = s.r.Amount
	}
	if amount != s.r.Amount || cur != s.r.Currency {
		s.addReason(CaseContradiction)
	}
	if e := s.foreignEffect(); e != nil { // a line that we had adopted as foreign is ours after all: the balance has it already
		e.Ours, e.DispatchNo = true, s.d.Ordinal
		s.addReason(CaseContradiction)
	} else {
		s.r.Effects = append(s.r.Effects, Effect{Ours: true, DispatchNo: s.d.Ordinal, ChannelRefundID: s.f.ChannelRefundID, Amount: amount,
			Currency: cur, Counted: counted, Status: EffectMoved, ByPerson: !s.f.fromChannel(), At: s.now,
			Voucher: VoucherText(s.f.Voucher)})
		s.r.Payment.Refunded += counted
	}
	s.dropHeldLine()
	s.refoldExposure()
}

// bookReturn takes the effect back: the amount is refundable again. An effect without an id learns it here, so that a
// success that is told late is known.
func (s *transition) bookReturn() {
	e := s.movedEffect()
	if e.ChannelRefundID == "" && s.foreignEffect() == nil {
		e.ChannelRefundID = s.f.ChannelRefundID
	}
	e.Status, e.ReversedAt = EffectReversed, s.now
	s.r.Payment.Refunded -= e.Counted
	s.dropHeldLine()
}

// releaseLine makes the effects that only a line explains foreign again: the channel gives the dispatch another id. Their money
// did move on the payment, so the balance stays.
func (s *transition) releaseLine() {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; s.onlyByLine(e) {
			e.Ours, e.DispatchNo = false, 0
		}
	}
}

// dropHeldLine ends the wait of a held line that was this refund all along: same id, counted elsewhere now.
func (s *transition) dropHeldLine() {
	held := false
	for i := range s.r.Effects {
		e := &s.r.Effects[i]
		if e.Status == EffectHeld && e.ChannelRefundID == s.f.ChannelRefundID {
			e.Status = EffectDropped
			s.r.Payment.Held -= e.Counted
		}
		held = held || e.Status == EffectHeld
	}
	if !held {
		s.dropReason(CaseUnmatchedLine)
	}
}

// nextNumber closes the live number with its proof and opens the next ordinal that nobody can have used. A number that an epoch has
// marked is dead already, and so is the one behind it. The number itself is computed by whoever knows the installation.
func (s *transition) nextNumber() {
	d, _ := s.r.Dispatch(s.r.DispatchNo)
	if !d.Retired {
		d.Retired = true
		death := Retirement{Dispatch: d.Ordinal, Rule: string(s.f.Kind), ByDecision: s.decided != nil}
		if s.decided == nil {
			death.ProofAttempt = s.proof(d.Ordinal)
		}
		s.change.Retirements = append(s.change.Retirements, death)
	}
	s.r.DispatchNo = len(s.r.Dispatches) + 1
	s.r.Dispatches = append(s.r.Dispatches, Dispatch{Ordinal: s.r.DispatchNo, Number: DispatchNumber(s.r.Installation, s.r.TenantCode, s.r.RefundID, s.r.DispatchNo)})
	s.r.ChannelRefundID = ""
	s.d, _ = s.r.Dispatch(s.f.Dispatch) // the append may have moved it
}

// proof is the attempt whose answer shows that the number did nothing.
func (s *transition) proof(no int) int {
	for i := len(s.r.Attempts) - 1; i >= 0; i-- {
		a := s.r.Attempts[i]
		if a.DispatchNo == no && (Disproves(a.Answer) || a.Answer == NotFound || a.Answer == FailedFinal) {
			return a.No
		}
	}
	return 0
}

// markEpoch says of every number that it may have been used in a future that a restore has cut off.
func (s *transition) markEpoch() {
	for i := range s.r.Dispatches {
		d := &s.r.Dispatches[i]
		d.MarkedEpoch = s.r.Epoch
		if d.KeyExpiresAt.IsZero() || d.KeyExpiresAt.After(s.now) {
			d.KeyExpiresAt = s.now
		}
		d.MayActUntil = later(d.MayActUntil, s.now.Add(LongestLease))
	}
	s.refoldExposure()
}
