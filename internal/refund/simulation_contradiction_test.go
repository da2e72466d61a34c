package refund

// Statements that contradict themselves. In some runs the channel sends a notice with the number of one refund and everything
// else of another. Nothing may follow from it but a contradiction case on both.

const contradictionBelieved = "a statement that names two refunds is believed"

// crossedNotice delivers the channel's notice about one refund with the number of another one.
func (sim *simulation) crossedNotice() {
	var made []*simRefund
	for _, r := range sim.ch.made {
		if i, ok := sim.owner(r.number); ok && i < len(sim.recs) && sim.told(r.id) == i {
			made = append(made, r)
		}
	}
	if len(made) == 0 || len(sim.recs) < 2 {
		return
	}
	told := made[sim.random(len(made))]
	i, _ := sim.owner(told.number)
	other := &sim.recs[1-i]
	f := sim.ch.fact(told)
	f.Dispatch = 1 + sim.random(len(other.Dispatches))
	switch sim.random(3) {
	case 0: // the id alone tells that it is about the other one
	case 1:
		f.Names.RefundID, f.ChannelRefundID = sim.recs[i].RefundID, ""
	default:
		f.Names.PaymentReference, f.ChannelRefundID = "of another payment", ""
	}
	sim.count("a notice named two refunds")
	sim.enter(1-i, f)
}

// told returns the refund to whose number the channel gave an id; -1 = none.
func (sim *simulation) told(id string) int {
	for i := range sim.recs {
		for _, d := range sim.recs[i].Dispatches {
			if id != "" && d.ChannelRefundID == id {
				return i
			}
		}
	}
	return -1
}

// contradicts reports whether a fact about a refund names another one, too, and then opens the cases of both, as the store does.
func (sim *simulation) contradicts(i int, f Fact) bool {
	number := ""
	if d, ok := sim.recs[i].Dispatch(f.Dispatch); ok {
		number = d.Number
	}
	named := []int{i}
	if k := sim.told(f.ChannelRefundID); k >= 0 && k != i {
		named = append(named, k)
	}
	if len(named) == 1 && !f.Names.ContradictsRecord(&sim.recs[i].Refund, number) || sim.subject.mistake == contradictionBelieved {
		return false
	}
	for _, k := range named {
		r := sim.fullRecord(k)
		ch, changed, err := Contradict(r, f, sim.c)
		if err != nil {
			sim.fail("a contradiction in %s: %v", r.State, err)
		}
		if changed {
			sim.trace("rf_%d %s: the channel contradicts itself (%s)", k+1, r.State, f.ChannelRefundID)
			sim.write(k, r, ch)
		}
	}
	return true
}
