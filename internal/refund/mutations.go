package refund

// mutation is a named change of the record, made by a rule.
type mutation struct {
	name string
	do   func(s *transition)
}

func openReason(r CaseReason) mutation {
	return mutation{"open case: " + string(r), func(s *transition) { s.addReason(r) }}
}

func closeReason(r CaseReason) mutation {
	return mutation{"close reason: " + string(r), func(s *transition) {
		if !s.r.otherExposed(0) {
			s.dropReason(r)
		}
	}}
}

// Mutations of the state table.
var (
	book           = mutation{"book the effect", (*transition).book}
	bookReturn     = mutation{"book its return", (*transition).bookReturn}
	replaceLine    = mutation{"book the effect in the place of the line", (*transition).replaceLine}
	renumberEffect = mutation{"give the effect to its number", func(s *transition) { s.namedForAnother().DispatchNo = s.f.Dispatch }}
	giveID         = mutation{"store the channel refund id", (*transition).giveID}

	nextNumber = mutation{"open the next number", (*transition).nextNumber}
	closeAsk   = mutation{"close the ask", func(s *transition) { s.r.AskNo = 0 }}
	markEpoch  = mutation{"expose every number", (*transition).markEpoch}

	openSuccessAfterEnd      = openReason(CaseSuccessAfterEnd)
	openMultipleEffects      = openReason(CaseMultipleEffects)
	openOtherNumber          = openReason(CaseOtherNumberOpen)
	openContradiction        = openReason(CaseContradiction)
	openNoStep               = openReason(CaseNoStep)
	openAcknowledgedAfterEnd = openReason(CaseAcknowledgedAfterEnd)
	openGivenReason          = mutation{"open case: the given reason", func(s *transition) { s.addReason(s.f.Reason) }}
	closeNoStep              = mutation{"close reason: " + string(CaseNoStep), func(s *transition) { s.dropReason(CaseNoStep) }}
	closeOtherNumber         = closeReason(CaseOtherNumberOpen)
	closeAcknowledged        = closeReason(CaseAcknowledgedAfterEnd)
)

// giveID gives the channel refund id, and its voucher, to the effect without id.
func (s *transition) giveID() {
	e := s.effectWithoutID()
	e.ChannelRefundID = s.f.ChannelRefundID
	if text := VoucherText(s.f.Voucher); text != "" {
		e.Voucher = text
	}
	s.dropHeldLine()
}

// book adds the effect. An amount that the channel did not give is the requested one; another amount is booked as given.
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
	if e := s.foreignEffect(); e != nil { // the line was adopted as foreign and is ours after all: the balance includes it already
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

// bookReturn marks the effect as returned, so that its amount is refundable again. An effect without id gets the fact's id,
// so that a later success with it is known.
func (s *transition) bookReturn() {
	e := s.movedEffect()
	if e.ChannelRefundID == "" && s.foreignEffect() == nil {
		e.ChannelRefundID = s.f.ChannelRefundID
	}
	e.Status, e.ReversedAt = EffectReversed, s.now
	s.r.Payment.Refunded -= e.Counted
	s.dropHeldLine()
}

// dropHeldLine drops a held line that was this refund: it has the same id, and the effect is counted now.
func (s *transition) dropHeldLine() {
	for i := range s.r.Effects {
		if e := &s.r.Effects[i]; e.Status == EffectHeld && e.ChannelRefundID == s.f.ChannelRefundID {
			e.Status = EffectDropped
		}
	}
	if len(s.r.linesHeldFor()) == 0 {
		s.dropReason(CaseUnmatchedLine)
	}
}

// nextNumber retires the live number with its proof and opens the next unused ordinal. A number that an epoch has marked is
// retired already, and so is the one behind it.
func (s *transition) nextNumber() {
	d, _ := s.r.Dispatch(s.r.DispatchNo)
	if !d.Retired {
		d.Retired = true
		retired := Retirement{Dispatch: d.Ordinal, Rule: string(s.f.Kind), ByDecision: s.decided != nil}
		if s.decided == nil {
			retired.ProofAttempt = s.proof(d.Ordinal)
		}
		s.change.Retirements = append(s.change.Retirements, retired)
	}
	s.r.DispatchNo = len(s.r.Dispatches) + 1
	number := DispatchNumber(s.r.Installation, s.r.TenantCode, s.r.RefundID, s.r.DispatchNo)
	s.r.Dispatches = append(s.r.Dispatches, Dispatch{Ordinal: s.r.DispatchNo, Number: number})
	s.r.ChannelRefundID = ""
	s.d, _ = s.r.Dispatch(s.f.Dispatch) // the append may have moved it
}

// proof returns the attempt whose answer shows that the number did nothing; 0 = none.
func (s *transition) proof(no int) int {
	for i := len(s.r.Attempts) - 1; i >= 0; i-- {
		a := s.r.Attempts[i]
		if a.DispatchNo == no && (Disproves(a.Answer) || a.Answer == NotFound || a.Answer == FailedFinal) {
			return a.No
		}
	}
	return 0
}

// markEpoch exposes every number, because it may have been used in a future that a restore has removed.
func (s *transition) markEpoch() {
	for i := range s.r.Dispatches {
		d := &s.r.Dispatches[i]
		d.MarkedEpoch = s.r.Epoch
		if d.KeyExpiresAt.IsZero() || d.KeyExpiresAt.After(s.now) {
			d.KeyExpiresAt = s.now
		}
		d.LostSendUntil = later(d.LostSendUntil, s.now.Add(LongestLease))
	}
	s.refoldExposure()
}
