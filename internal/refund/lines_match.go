package refund

import "slices"

// knowsID reports whether the channel refund id is one of ours.
func (set *PaymentSet) knowsID(id string) bool {
	for _, r := range set.Records {
		for _, d := range r.Dispatches {
			if d.ChannelRefundID == id {
				return true
			}
		}
		for _, e := range r.Effects {
			if e.ChannelRefundID == id {
				return true
			}
		}
	}
	return false
}

// anyExposed reports whether a refund of the payment may still pay.
func (set *PaymentSet) anyExposed() bool {
	return slices.ContainsFunc(set.Records, func(r Record) bool { return r.anyExposed() })
}

func (set *PaymentSet) exposedMatch(line Effect) (record, dispatch int, ok bool) {
	return set.findDispatch(line, func(_ Record, d Dispatch) bool { return d.Exposed })
}

// overriddenMatch finds a number that only a decision closed: it may have paid after all.
func (set *PaymentSet) overriddenMatch(line Effect) (record, dispatch int, ok bool) {
	return set.findDispatch(line, func(r Record, d Dispatch) bool { return d.Overridden && !r.booked(d.Ordinal) })
}

func (set *PaymentSet) findDispatch(line Effect, fits func(Record, Dispatch) bool) (record, dispatch int, ok bool) {
	for i, r := range set.Records {
		for n := len(r.Dispatches) - 1; n >= 0; n-- {
			if d := r.Dispatches[n]; r.hasAmount(line) && fits(r, d) {
				return i, d.Ordinal, true
			}
		}
	}
	return 0, 0, false
}

func (set *PaymentSet) effectWithoutID(line Effect) (record, dispatch int, ok bool) {
	for i, r := range set.Records {
		for _, e := range r.Effects {
			if e.Status == EffectMoved && e.ChannelRefundID == "" && e.Amount == line.Amount && e.Currency == line.Currency {
				return i, e.DispatchNo, true
			}
		}
	}
	return 0, 0, false
}
