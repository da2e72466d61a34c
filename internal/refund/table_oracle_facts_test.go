package refund

// The columns of the oracle: each fact against each state, as rule R13 of docs/rules.md has them.

// column is the table of facts and states.
func (o *oracle) column() {
	switch o.f.Kind {
	case Succeeded:
		o.succeeded()
	case Acknowledged:
		o.accepted()
	case FailedFinal:
		o.failedFinal()
	case Reversed:
		o.reversed()
	case RefusedClean, RefusedNewNumber, Retryable, NotSent:
		o.negative()
	case RefusedEcho, Unknown:
		if o.in(StateProcessing) && o.ofSend() && !o.newerSendOpen() {
			o.r.State = StateUnknown
		}
	case NotFound:
		o.notFound()
	case LeaseEnd:
		o.r.State = StateUnknown
	case KeyExpired:
		if o.in(StatePending) && o.isLive() && o.keyDead(o.live()) {
			if o.r.DispatchNo == 1 {
				o.newNumber()
			} else {
				o.open(CaseNoStep)
			}
		}
	case Deadline:
		o.open(o.f.Reason)
	case Withdrawn:
		if o.in(StatePending) && o.r.AskNo == 0 {
			o.r.State = StateCanceled
		}
	case EpochMark:
		o.epoch()
	case Settled:
		if o.in(StatePending) && !o.live().FinalNegativeAt.IsZero() {
			o.r.State = StateFailed
		}
		if o.ended() && o.clear() {
			o.answered(CaseAcknowledgedAfterEnd)
		}
	}
}

func (o *oracle) succeeded() {
	for _, e := range o.r.Effects {
		same := e.Ours && (e.Status == EffectMoved || (e.Status == EffectReversed && !o.personOnly(e))) &&
			((o.f.ChannelRefundID != "" && e.ChannelRefundID == o.f.ChannelRefundID) || (o.f.ChannelRefundID == "" && e.DispatchNo == o.f.Dispatch))
		if same {
			o.compare(e)
			return
		}
	}
	foreign := -1
	for i, e := range o.r.Effects {
		if !e.Ours && e.Status == EffectMoved && e.ChannelRefundID != "" && e.ChannelRefundID == o.f.ChannelRefundID {
			foreign = i
		}
	}
	for i, e := range o.r.Effects {
		if e.Ours && e.DispatchNo == o.f.Dispatch && e.ChannelRefundID == "" && e.Status == EffectMoved && o.f.ChannelRefundID != "" && foreign < 0 {
			o.compare(e)
			o.r.Effects[i].ChannelRefundID = o.f.ChannelRefundID
			return
		}
	}
	back := o.endedNegative()
	o.book(foreign, back)
	switch {
	case o.in(StateSuccess):
		o.open(CaseMultipleEffects)
	case o.in(StateFailed, StateCanceled, StateReversed):
		o.open(CaseSuccessAfterEnd)
	}
	switch {
	case !back:
		o.r.State = StateSuccess
	case !o.in(StateSuccess):
		o.r.State = StateReversed
	}
}

// endedNegative: a known final negative of the same object, where the contract says that failed may follow succeeded.
func (o *oracle) endedNegative() bool {
	d := o.d()
	if o.before.Facts[FactKey(d.Number, string(Reversed), o.f.ChannelRefundID, o.f.Amount, o.f.Currency)] {
		return true // told before, when its amount was not ours
	}
	other := o.f.ChannelRefundID != "" && d.ChannelRefundID != "" && o.f.ChannelRefundID != d.ChannelRefundID
	return o.c.Codes.LateFailure && !d.FinalNegativeAt.IsZero() && !other
}

func (o *oracle) compare(e Effect) {
	if (o.f.Amount != 0 && o.f.Amount != e.Amount) || (o.f.Currency != "" && o.f.Currency != e.Currency) {
		o.open(CaseContradiction)
	}
}

func (o *oracle) book(foreign int, back bool) {
	e := Effect{Ours: true, DispatchNo: o.f.Dispatch, ChannelRefundID: o.f.ChannelRefundID, Amount: o.f.Amount, Currency: o.f.Currency,
		Status: EffectMoved, ByPerson: o.f.Source == "decision"}
	if e.Amount == 0 {
		e.Amount = o.r.Amount
	}
	if e.Currency == "" {
		e.Currency = o.r.Currency
	}
	e.Counted = e.Amount
	if e.Currency != o.r.Currency {
		e.Counted = o.r.Amount
	}
	if e.Amount != o.r.Amount || e.Currency != o.r.Currency {
		o.open(CaseContradiction)
	}
	if back {
		e.Status = EffectReversed
	}
	if foreign < 0 {
		o.r.Effects = append(o.r.Effects, e)
		return
	}
	o.open(CaseContradiction)
	was := &o.r.Effects[foreign]
	was.Ours, was.DispatchNo, was.Status = true, o.f.Dispatch, e.Status
}

func (o *oracle) accepted() {
	if o.ackWas || !o.exposedNo(o.f.Dispatch) {
		return
	}
	switch {
	case o.in(StatePending):
		o.r.State = StateUnknown
		o.open(CaseAcknowledgedAfterEnd)
	case o.inFlight() && o.isLive():
		o.r.State = StateAccepted
	case o.inFlight(), o.in(StateFailed, StateCanceled):
		o.open(CaseAcknowledgedAfterEnd)
	} // under SUCCESS and REVERSED: the reason `other`, which close derives
}

func (o *oracle) failedFinal() {
	switch {
	case o.in(StatePending) && o.r.AskNo == o.f.Dispatch:
		o.r.AskNo = 0
		return
	case o.inFlight() && o.clear() && o.isLive():
		o.r.State = StateFailed
	case o.in(StateSuccess):
		if i, ok := o.standing(); ok {
			switch {
			case o.personOnly(o.r.Effects[i]):
				o.open(CaseContradiction)
			case o.c.Codes.LateFailure:
				o.takeBack(i)
			}
			return
		}
	}
	if o.clear() {
		o.answered(CaseAcknowledgedAfterEnd)
	}
}

// standing finds the moved effect that the fact speaks of: the same id, or its number's where one of them has no id.
func (o *oracle) standing() (int, bool) {
	for _, e := range o.r.Effects {
		if e.Ours && e.ChannelRefundID != "" && e.ChannelRefundID == o.f.ChannelRefundID && e.Status == EffectReversed {
			return 0, false
		}
	}
	for pass := range 2 {
		for i, e := range o.r.Effects {
			if !e.Ours || e.Status != EffectMoved {
				continue
			}
			if pass == 0 && o.f.ChannelRefundID != "" && e.ChannelRefundID == o.f.ChannelRefundID {
				return i, true
			}
			if pass == 1 && e.DispatchNo == o.f.Dispatch && (o.f.ChannelRefundID == "" || e.ChannelRefundID == "") {
				return i, true
			}
		}
	}
	return 0, false
}

// takeBack mirrors one effect; with no other one standing the refund is REVERSED.
func (o *oracle) takeBack(i int) {
	e := &o.r.Effects[i]
	e.Status = EffectReversed
	if e.ChannelRefundID == "" {
		e.ChannelRefundID = o.f.ChannelRefundID
	}
	for _, x := range o.r.Effects {
		if x.Ours && x.Status == EffectMoved {
			return
		}
	}
	o.r.State = StateReversed
}

func (o *oracle) reversed() {
	for _, e := range o.r.Effects {
		mine := (o.f.ChannelRefundID != "" && e.ChannelRefundID == o.f.ChannelRefundID) || (o.f.ChannelRefundID == "" && e.DispatchNo == o.f.Dispatch)
		if e.Ours && mine && e.Status == EffectReversed && !o.personOnly(e) {
			return
		}
	}
	want := Effect{Amount: o.r.Amount, Currency: o.r.Currency}
	i, stands := o.standing()
	if stands {
		want = o.r.Effects[i]
	}
	if (o.f.Amount != 0 && o.f.Amount != want.Amount) || (o.f.Currency != "" && o.f.Currency != want.Currency) {
		o.open(CaseContradiction)
		if o.in(StatePending) && o.exposedNo(o.f.Dispatch) {
			o.r.State = StateUnknown
		}
		return
	}
	if stands {
		o.takeBack(i)
		return
	}
	o.book(-1, true)
	switch {
	case o.in(StateSuccess):
		o.open(CaseMultipleEffects)
		return
	case o.ended():
		o.open(CaseSuccessAfterEnd)
	}
	o.r.State = StateReversed
}

func (o *oracle) negative() {
	if !o.ofSend() {
		return
	}
	if o.in(StateSuccess) {
		if i, ok := o.standing(); ok && o.personOnly(o.r.Effects[i]) {
			o.open(CaseContradiction)
		}
		return
	}
	if !o.inFlight() || (o.in(StateProcessing) && o.newerSendOpen()) {
		return
	}
	if !o.clear() {
		refused := o.f.Kind == RefusedClean || o.f.Kind == RefusedNewNumber
		if refused || o.in(StateProcessing) {
			o.r.State = StateUnknown
		}
		return
	}
	switch {
	case !o.live().FinalNegativeAt.IsZero(), o.f.Kind == RefusedClean:
		o.r.State = StateFailed
	case o.f.Kind == RefusedNewNumber && o.isLive() && o.r.DispatchNo == 1:
		o.newNumber()
	case o.f.Kind == RefusedNewNumber:
		o.r.State = StateFailed
	default:
		o.r.State = StatePending
	}
}

func (o *oracle) notFound() {
	d := o.d()
	if d.Acknowledged {
		for _, a := range o.r.Attempts {
			if a.DispatchNo == d.Ordinal && a.Answer == Acknowledged && o.inFlight() && o.asked != nil {
				lag := o.c.Query.VisibilityLag.D()
				if !o.c.Query.Exists {
					lag = o.c.List.VisibilityLag.D()
				}
				if o.asked.StartedAt.After(a.AnsweredAt.Add(lag)) {
					o.open(CaseContradiction)
				}
				return
			}
		}
		return
	}
	if !o.absent(o.f.Dispatch) {
		return
	}
	switch last, _ := o.lastSend(); {
	case o.in(StatePending) && o.r.AskNo == o.f.Dispatch:
		o.r.AskNo = 0
	case !o.inFlight() || !o.clear():
	case !o.live().FinalNegativeAt.IsZero():
		o.r.State = StateFailed
	case !o.isLive(): // leaveIfClear decides
	case last == RefusedEcho:
		o.r.State = StateFailed
	case o.keyDead(o.live()) && o.r.DispatchNo == 1:
		o.newNumber()
	default:
		o.r.State = StatePending
	}
}

func (o *oracle) epoch() {
	if o.ended() {
		return
	}
	for i := range o.r.Dispatches {
		d := &o.r.Dispatches[i]
		d.MarkedEpoch = o.r.Epoch
		if t := o.r.Now.Add(LongestLease); t.After(d.MayActUntil) {
			d.MayActUntil = t
		}
		if d.KeyExpiresAt.IsZero() || d.KeyExpiresAt.After(o.r.Now) {
			d.KeyExpiresAt = o.r.Now
		}
	}
	if o.in(StatePending, StateProcessing) {
		o.r.State = StateUnknown
	}
}

// returnsNow: a known return whose effect was booked only after it was told.
func (o *oracle) returnsNow() bool {
	i, stands := o.standing()
	if o.f.Kind != Reversed || !stands {
		return false
	}
	e := o.r.Effects[i]
	return (o.f.Amount == 0 || o.f.Amount == e.Amount) && (o.f.Currency == "" || o.f.Currency == e.Currency)
}
