package refund

func (o *reference) succeeded() {
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

// endedNegative reports a known final negative of the same refund, where the contract says that failed may follow succeeded.
func (o *reference) endedNegative() bool {
	d := o.d()
	if o.before.Facts[FactKey(d.Number, string(Reversed), o.f.ChannelRefundID, o.f.Amount, o.f.Currency)] {
		return true // known before, with another amount than ours
	}
	other := o.f.ChannelRefundID != "" && d.ChannelRefundID != "" && o.f.ChannelRefundID != d.ChannelRefundID
	return o.c.Codes.LateFailure && !d.FinalNegativeAt.IsZero() && !other
}

func (o *reference) compare(e Effect) {
	if (o.f.Amount != 0 && o.f.Amount != e.Amount) || (o.f.Currency != "" && o.f.Currency != e.Currency) {
		o.open(CaseContradiction)
	}
}

func (o *reference) book(foreign int, back bool) {
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

// standing returns the moved effect that the fact is about: the same id, or its number's where one of them has no id.
func (o *reference) standing() (int, bool) {
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

// takeBack books the return of one effect; with no other one standing the refund is REVERSED.
func (o *reference) takeBack(i int) {
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

func (o *reference) reversed() {
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

// returnsNow reports a known return whose effect was booked only after it.
func (o *reference) returnsNow() bool {
	i, stands := o.standing()
	if o.f.Kind != Reversed || !stands {
		return false
	}
	e := o.r.Effects[i]
	return (o.f.Amount == 0 || o.f.Amount == e.Amount) && (o.f.Currency == "" || o.f.Currency == e.Currency)
}
