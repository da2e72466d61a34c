package intake

import "github.com/refundry/refundry/internal/refund"

// repeated answers an event id that is bound already.
func (p *planner) repeated(in Intake, r Receipt) Outcome {
	fields := differing(r.Params, in)
	switch {
	case r.Type != in.Type:
		return p.conflict(in, refund.CodeKeyReused, ConflictEventType, []string{"type"}, r.RID)
	case in.Refund != nil && contains(fields, "refundId"):
		return p.conflict(in, refund.CodeKeyReused, ConflictEventRefund, fields, r.RID)
	case r.Digest != in.Digest():
		return p.conflict(in, refund.CodeKeyReused, ConflictEventParams, fields, r.RID)
	case r.Outcome == Conflict || r.Outcome == Refused:
		return Outcome{Verdict: r.Outcome, Code: r.Code, Fields: p.repeatedFields(in, r), Replayed: true}
	}
	known, hasRefund := p.v.Refunds[RefundKey{in.Tenant.ID, r.RefundID}]
	if hasRefund && !sameInline(r.Params, in) {
		if diff := p.paymentDiff(in); len(diff) > 0 {
			return p.conflict(in, refund.CodePaymentConflict, ConflictPaymentParams, diff, r.RID)
		}
	}
	if !in.RID.IsZero() && r.RID == in.RID {
		return Outcome{Verdict: Taken, Refund: &known} // our own row, whose COMMIT was lost
	}
	o := Outcome{Verdict: Replayed, Cause: CauseEvent}
	if hasRefund {
		o.Refund = &known
	}
	return o
}

// decidedAnew reports whether a stored refusal is decided again: only when a person redrives the parked message, and only for
// exactly the refused parameters. It is the one exception to the rule that a receipt never changes.
func decidedAnew(in Intake, r Receipt) bool {
	return in.Redrive && r.Outcome == Refused && r.Type == in.Type && r.Digest == in.Digest() && len(differing(r.Params, in)) == 0 && sameInline(r.Params, in)
}

// repeatedFields returns the fields of a stored conflict: the same request differs from the same stored values.
func (p *planner) repeatedFields(in Intake, r Receipt) []string {
	switch r.Code {
	case refund.CodeRefundConflict:
		if known, ok := p.v.Refunds[RefundKey{in.Tenant.ID, in.Refund.RefundID}]; ok {
			return paramsDiff(known.Params, in.Refund.Params)
		}
	case refund.CodePaymentConflict:
		return p.paymentDiff(in)
	default: // a refusal has no fields
	}
	return nil
}

// storeReceipt adds the receipt of this outcome, which binds the event id: from now on a repeat of the event gets the same outcome.
func (p *planner) storeReceipt(in Intake, o Outcome, rid refund.RID) Outcome {
	rec := Receipt{Type: in.Type, Digest: in.Digest(), Params: in.CanonicalParams(), Outcome: o.Verdict, RID: rid, Code: o.Code}
	if in.Refund != nil && !rid.IsZero() {
		rec.RefundID = in.Refund.RefundID
	}
	row := NewReceipt{EventRef: event(in), Receipt: rec, Transport: in.Transport}
	if _, bound := p.v.Receipts[event(in)]; bound { // a refusal, see decidedAnew
		p.plan.Rebound = append(p.plan.Rebound, row)
	} else {
		p.plan.Receipts = append(p.plan.Receipts, row)
	}
	p.v.Receipts[event(in)] = rec
	return o
}

// conflict adds the evidence to the plan. It binds nothing.
func (p *planner) conflict(in Intake, code refund.Code, kind ConflictKind, fields []string, rid refund.RID) Outcome {
	got := in.CanonicalParams()
	row := ConflictRow{EventRef: event(in), Kind: kind, PaymentID: in.PaymentID(), RID: rid, Got: got,
		GotDigest: sum256(got), Fields: fields, Transport: in.Transport}
	if in.Refund != nil {
		row.RefundID = in.Refund.RefundID
	}
	p.plan.Conflicts = append(p.plan.Conflicts, row)
	return Outcome{Verdict: Conflict, Code: code, Fields: fields}
}
