package intake

import (
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// ReceiptWindow is how long receipts are looked up. An older event may not create a refund.
const ReceiptWindow = 395 * 24 * time.Hour

// DecideGroup decides the intakes of a group in order; each sees the results of the ones before it, so that the outcome of a
// group is that of its intakes one after another. It is pure; v must not be used again. An intake whose locks were not
// obtained is NotLocked: it is not decided, nothing is stored for it, and the Door tries it again. So is every later intake with
// the same event or refund id, which keeps their order.
func DecideGroup(v View, g []Intake) Plan {
	p := planner{v: v, touched: map[PaymentRef]bool{}, created: map[PaymentRef]bool{}, woken: map[PaymentRef]bool{}}
	for i, in := range g {
		o := Outcome{Verdict: NotLocked}
		if v.Got[i] && !p.followsNotLocked(in) {
			o = p.decide(in)
			p.park(in, o)
		}
		if o.Verdict == NotLocked {
			p.noteNotLocked(in)
		}
		p.plan.Outcomes = append(p.plan.Outcomes, o)
	}
	p.balances(g)
	return p.plan
}

// planner decides the items of one group and collects the plan. Its methods are in decide.go, payment.go, receipts.go and parking.go.
type planner struct {
	v       View
	plan    Plan
	touched map[PaymentRef]bool
	created map[PaymentRef]bool
	woken   map[PaymentRef]bool
	paid    map[PaymentRef]bool // known payments whose time of payment became known; nil = none
	lost    map[any]bool        // identities of lost intakes; nil = none was lost
}

// identities returns the identities that an intake binds. Intakes that share only a payment need no order: the amount that
// one of them takes could equally be taken by another group, and waiting for each other could block groups.
func identities(in Intake) []any {
	if in.Capture != nil {
		return []any{event(in), CaptureRef{PaymentRef{in.Tenant.ID, in.Capture.PaymentID}, in.Capture.CaptureID}}
	}
	return []any{event(in), RefundKey{in.Tenant.ID, in.Refund.RefundID}}
}

func (p *planner) noteNotLocked(in Intake) {
	if p.lost == nil {
		p.lost = map[any]bool{}
	}
	for _, key := range identities(in) {
		p.lost[key] = true
	}
}

func (p *planner) followsNotLocked(in Intake) bool {
	if p.lost == nil {
		return false
	}
	for _, key := range identities(in) {
		if p.lost[key] {
			return true
		}
	}
	return false
}

func (p *planner) decide(in Intake) Outcome {
	if p.v.Parked[in.Parked] == ParkedTaken { // another transaction tries the same parked message: its result comes first
		return Outcome{Verdict: NotLocked}
	}
	if r, known := p.v.Receipts[event(in)]; known && !decidedAnew(in, r) {
		return p.repeated(in, r)
	}
	if p.v.Parked[in.Parked] == ParkedSettled { // accepted or discarded before; nothing is decided again
		return Outcome{Verdict: Replayed, Cause: CauseSettled}
	}
	if in.Capture != nil {
		return p.capture(in)
	}
	return p.request(in)
}

// request decides a refund whose event id is new.
func (p *planner) request(in Intake) Outcome {
	if known, ok := p.v.Refunds[RefundKey{in.Tenant.ID, in.Refund.RefundID}]; ok {
		return p.existingRefund(in, known)
	}
	if in.Tenant.Closed {
		return Outcome{Verdict: Refused, Code: refund.CodeTenantClosed} // binds nothing: the refusal is not about the request
	}
	ref := PaymentRef{in.Tenant.ID, in.Refund.PaymentID}
	pay, known := p.v.Payments[ref]
	switch {
	case !known && in.Refund.Payment == nil:
		return Outcome{Verdict: Waiting, Code: refund.CodePaymentUnknown}
	case !known:
		return p.withNewPayment(in, ref)
	case !pay.Locked:
		return Outcome{Verdict: NotLocked}
	}
	if diff := p.paymentDiff(in); len(diff) > 0 {
		return p.storeReceipt(in, p.conflict(in, refund.CodePaymentConflict, ConflictPaymentParams, diff, refund.RID{}), refund.RID{})
	}
	var paidAt time.Time
	if in.Refund.Payment != nil {
		paidAt = in.Refund.Payment.PaidAt
	}
	if code := p.rules(in, pay.Payment.WithPaidAt(paidAt)); code != "" {
		return p.refuse(in, code, pay.KnownBy)
	}
	p.touched[ref] = true
	return p.accept(in, p.setPaidAt(pay.Payment, paidAt))
}

// existingRefund decides another event for a refund that exists.
func (p *planner) existingRefund(in Intake, r refund.Refund) Outcome {
	if r.RID == in.RID { // created by an earlier run of this intake, whose COMMIT was not answered, and whose receipt has expired since
		return Outcome{Verdict: Taken, Refund: &r}
	}
	if diff := paramsDiff(r.Params, in.Refund.Params); len(diff) > 0 {
		return p.storeReceipt(in, p.conflict(in, refund.CodeRefundConflict, ConflictRefundParams, diff, r.RID), r.RID)
	}
	if diff := p.paymentDiff(in); len(diff) > 0 {
		return p.storeReceipt(in, p.conflict(in, refund.CodePaymentConflict, ConflictPaymentParams, diff, r.RID), r.RID)
	}
	return p.storeReceipt(in, Outcome{Verdict: Replayed, Cause: CauseRefund, Refund: &r}, r.RID)
}

// withNewPayment decides a refund with an inline payment that is not known yet. The payment is created only together with
// the refund.
func (p *planner) withNewPayment(in Intake, ref PaymentRef) Outcome {
	pay, code := p.newPayment(ref, in.Tenant, *in.Refund.Payment, refund.BySnapshot)
	if code == refund.CodePaymentConflict {
		return p.storeReceipt(in, p.conflict(in, code, ConflictPaymentParams, []string{"payment.channelReference"}, refund.RID{}), refund.RID{})
	}
	if code == "" {
		code = p.rules(in, pay)
	}
	if code != "" {
		return p.refuse(in, code, refund.BySnapshot)
	}
	p.create(ref, pay)
	return p.accept(in, pay)
}

// refuse is the outcome of an intake that a rule forbids. An account that this process does not know is no refusal: a process
// with another configuration may know it, so nothing is bound. Nor is an amount beyond what is captured so far, if further
// captures may follow and the sender can wait; only a person's redrive gets the refusal.
func (p *planner) refuse(in Intake, code refund.Code, by refund.KnownBy) Outcome {
	waits := (in.Park != nil || !in.Parked.IsZero()) && !in.Redrive
	switch {
	case code == refund.CodeAccountNotConfigured:
		return Outcome{Verdict: Busy, Code: code}
	case code == refund.CodeAmountExceeds && by == refund.ByCaptures && waits:
		return Outcome{Verdict: Waiting, Code: code}
	}
	return p.storeReceipt(in, Outcome{Verdict: Refused, Code: code}, refund.RID{})
}

// rules returns the code of the business rule that forbids a new refund, or "".
func (p *planner) rules(in Intake, pay refund.Payment) refund.Code {
	contract, known, allowed := p.v.Account(pay.Account, in.Tenant.ID)
	r := in.Refund
	switch {
	case !known:
		return refund.CodeAccountNotConfigured
	case !allowed:
		return refund.CodeAccountNotAllowed
	case r.OrderID != pay.OrderID:
		return refund.CodeOrderMismatch
	case r.Currency != pay.Currency:
		return refund.CodeCurrencyMismatch
	case !in.OccurredAt.IsZero() && p.v.Now.Sub(in.OccurredAt) > ReceiptWindow:
		return refund.CodeEventExpired
	case !contract.Expresses(r.Amount, r.Currency):
		return refund.CodeNotExpressible
	case !pay.WindowEndsAt.IsZero() && !p.v.Now.Before(pay.WindowEndsAt):
		return refund.CodeWindowClosed
	case contract.Limits.MaxRefunds > 0 && pay.Refunds >= contract.Limits.MaxRefunds:
		return refund.CodeCountExceeded
	case r.Amount > pay.Refundable():
		return refund.CodeAmountExceeds
	}
	return ""
}

// accept creates the refund and reserves its amount.
func (p *planner) accept(in Intake, pay refund.Payment) Outcome {
	r := refund.Refund{RefundRef: refund.RefundRef{Tenant: in.Tenant.ID, RID: in.RID}, Params: in.Refund.Params, Account: pay.Account,
		ChannelReference: pay.Reference,
		Exponent:         pay.Exponent, Digest: in.Digest(), Prev: pay.LastRID, Reason: in.Refund.Reason, Metadata: in.Refund.Metadata,
		State: refund.StatePending, PendingReason: refund.PendingQueued, Epoch: p.v.Epoch, DispatchNo: 1, JournalSeq: 1,
		NextActionAt: p.v.Now.Add(refund.HandoutTTL), CreatedAt: p.v.Now, StateSince: p.v.Now, UpdatedAt: p.v.Now}
	pay.Reserved += r.Amount
	pay.Refunds++
	pay.LastRID = r.RID
	p.setPayment(pay)
	data := canonical(map[string]any{"tenant": in.Tenant.Code, "refundId": r.RefundID, "orderId": r.OrderID, "paymentId": r.PaymentID,
		"amount": r.Amount, "currency": string(r.Currency), "account": r.Account, "digest": r.Digest.String(), "consumer": in.Event.Consumer})
	p.plan.Refunds = append(p.plan.Refunds, NewRefund{Refund: r, Number: refund.DispatchNumber(p.v.Installation, in.Tenant.Code, r.RefundID, 1),
		Entry:  refund.Entry{Kind: "requested", To: refund.StatePending, Source: in.Event.Consumer, Actor: in.Actor, Data: data},
		Replay: in.ReplayBatch})
	p.plan.Wakes = append(p.plan.Wakes, refund.Wakeup{RefundRef: r.RefundRef})
	p.v.Refunds[RefundKey{in.Tenant.ID, r.RefundID}] = r
	return p.storeReceipt(in, Outcome{Verdict: Taken, Refund: &r}, r.RID)
}
