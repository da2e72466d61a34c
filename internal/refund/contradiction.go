package refund

// Contradicted is the journal's kind of a statement of the channel that names several refunds, or that could not be entered.
// It opens a case and changes nothing else.
const Contradicted FactKind = "CONTRADICTION"

// Contradict opens a contradiction case on a refund that a statement of the channel names, and changes nothing else: a
// statement whose ids belong to more than one refund proves nothing about any of them (rule R23 of docs/rules.md). f has the
// ids that the statement gave and where it came from; Dispatch 0 is the live one. false = the case has the reason already.
func Contradict(r Record, f Fact, c Contract) (Change, bool, error) {
	if r.Case.Has(CaseContradiction) {
		return Change{}, false, nil
	}
	f.Kind, f.Attempt, f.Evidence, f.Voucher = Contradicted, 0, nil, nil
	if _, ok := r.Dispatch(f.Dispatch); !ok {
		f.Dispatch = r.DispatchNo
	}
	return lineChange(r, c, f, func(*transition) {}, CaseContradiction)
}

// ContradictsRecord reports whether what the statement names does not fit the refund whose number it gives. A statement that
// gives another number (Names.Number) fits unless it also names this refund.
func (n Names) ContradictsRecord(r *Refund, number string) bool {
	if n.Number != "" && n.Number != number {
		return n.RefundID == r.RefundID
	}
	return n.Conflict != "" || n.RefundID != "" && n.RefundID != r.RefundID ||
		n.PaymentReference != "" && n.PaymentReference != r.ChannelReference
}

// MarkConflicts marks the lines of one list that contradict each other, in Names.Conflict: lines that give one channel refund
// id different numbers, amounts or currencies. Nothing may follow from any of them. Lines that differ in status alone do not
// contradict each other, since a status may change while a list is read. Marked lines stay marked.
func MarkConflicts(lines []ListedEffect) {
	first, torn := map[string]ListedEffect{}, map[string]bool{}
	for _, l := range lines {
		x, seen := first[l.ChannelRefundID]
		if !seen {
			first[l.ChannelRefundID] = l
			continue
		}
		if x.Number == "" {
			x.Number = l.Number
			first[l.ChannelRefundID] = x
		}
		if l.Number != "" && l.Number != x.Number || l.Amount != x.Amount || l.Currency != x.Currency {
			torn[l.ChannelRefundID] = true
		}
	}
	for i := range lines {
		if id := lines[i].ChannelRefundID; id != "" && torn[id] && lines[i].Names.Conflict == "" {
			lines[i].Names.Conflict = "lines"
		}
	}
}
