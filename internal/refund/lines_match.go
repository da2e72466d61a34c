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

// mayYetPay reports whether a refund of the payment may still pay, or may have been sent in a part of the history that a restore
// has removed.
func (set *PaymentSet) mayYetPay() bool {
	return slices.ContainsFunc(set.Records, func(r Record) bool { return r.mayYetPay() })
}

// lineOwner is a refund that may own a line, by its position in the set.
type lineOwner struct {
	record, dispatch int
	how              ownership
}

type lineOwners []lineOwner

// owners returns the refunds that may own a line.
func (set *PaymentSet) owners(line Effect) lineOwners {
	var out lineOwners
	for i := range set.Records {
		if no, how := set.Records[i].ownership(line); how != ownsNot {
			out = append(out, lineOwner{i, no, how})
		}
	}
	return out
}

func (owners lineOwners) first(how ownership) (lineOwner, bool) {
	for _, o := range owners {
		if o.how == how {
			return o, true
		}
	}
	return lineOwner{}, false
}

func (owners lineOwners) any(how ownership) bool {
	_, ok := owners.first(how)
	return ok
}

func (owners lineOwners) firstUnproven() (record, dispatch int) {
	o, _ := owners.first(ownsUnproven)
	return o.record, o.dispatch
}

// full returns a record as the store reads it under its lock: with the payment's lines and its other refunds.
func (set *PaymentSet) full(i int) Record {
	r := set.Records[i]
	r.Effects = append(slices.Clone(r.Effects), set.Lines...)
	r.Payment, r.Now = set.Payment, set.Now
	r.Siblings = set.siblings(i)
	return r
}

func (set *PaymentSet) siblings(i int) []Record {
	return append(slices.Clone(set.Records[:i]), set.Records[i+1:]...)
}
