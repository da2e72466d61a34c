package intake

import (
	"strings"
	"time"

	"github.com/refundry/refundry/internal/refund"
)

// newPayment returns the row of a new payment. Codes: those of NewPayment, and CodePaymentConflict (its channel reference
// belongs to another payment).
func (p *planner) newPayment(ref PaymentRef, t refund.Tenant, s PaymentSpec, by refund.KnownBy) (refund.Payment, refund.Code) {
	pay, code := NewPayment(ref, t, s, by, p.v)
	if code != "" {
		return pay, code
	}
	if owner, taken := p.v.References[ReferenceRef{pay.Account, pay.Reference}]; taken && owner != ref {
		return pay, refund.CodePaymentConflict
	}
	return pay, ""
}

// NewPayment returns the row of a payment that is not known yet. It does not look for another payment with the same
// reference. Codes: CodeAccountNotConfigured, CodeAccountNotAllowed, CodeReferenceOutside, CodeNotExpressible.
func NewPayment(ref PaymentRef, t refund.Tenant, s PaymentSpec, by refund.KnownBy, v View) (refund.Payment, refund.Code) {
	contract, known, allowed := v.Account(s.Account, t.ID)
	switch {
	case !known:
		return refund.Payment{}, refund.CodeAccountNotConfigured
	case !allowed:
		return refund.Payment{}, refund.CodeAccountNotAllowed
	// Before anything is looked up: whether a reference of another tenant is known must not be told.
	case !strings.HasPrefix(s.ReferenceFor(t, ref.PaymentID), contract.ReferencePrefix):
		return refund.Payment{}, refund.CodeReferenceOutside
	case s.RefundedElsewhere > s.Amount:
		return refund.Payment{}, refund.CodeNotExpressible
	}
	pay := refund.Payment{Tenant: ref.Tenant, PaymentID: ref.PaymentID, OrderID: s.OrderID, Account: s.Account, Reference: s.ReferenceFor(t, ref.PaymentID),
		Currency: s.Currency, Exponent: s.Currency.Exponent(), KnownBy: by, Version: s.Version, Captured: s.Amount,
		RefundedElsewhere: s.RefundedElsewhere, CreatedAt: v.Now}
	if w := contract.Limits.Window.D(); w > 0 {
		pay.WindowEndsAt = v.Now.Add(w)
	}
	return pay.WithPaidAt(s.PaidAt), ""
}

// ReferenceFor returns the channel's name for the payment; the default is made of tenant code and payment id.
func (s PaymentSpec) ReferenceFor(t refund.Tenant, paymentID string) string {
	if s.Reference != "" {
		return s.Reference
	}
	return t.Code + ":" + paymentID
}

// Differs returns the names of the fields that differ from the stored payment.
func (s PaymentSpec) Differs(t refund.Tenant, pay refund.Payment) []string {
	var out []string
	note := func(differs bool, field string) {
		if differs {
			out = append(out, field)
		}
	}
	note(s.OrderID != pay.OrderID, "orderId")
	note(s.Amount != pay.Captured, "amount")
	note(s.Currency != pay.Currency, "currency")
	note(s.Account != pay.Account, "channelAccount")
	note(s.ReferenceFor(t, pay.PaymentID) != pay.Reference, "channelReference")
	note(!s.PaidAt.IsZero() && !pay.PaidAt.IsZero() && !s.PaidAt.Equal(pay.PaidAt), "paidAt")
	return out
}

// paymentDiff returns the fields in which an inline payment differs from the stored one; nil if either is absent.
func (p *planner) paymentDiff(in Intake) []string {
	if in.Refund == nil || in.Refund.Payment == nil {
		return nil
	}
	pay, known := p.v.Payments[PaymentRef{in.Tenant.ID, in.Refund.PaymentID}]
	if !known {
		return nil
	}
	s := *in.Refund.Payment
	diff := s.Differs(in.Tenant, pay.Payment)
	if s.VersionGiven && s.Version < pay.Version { // an older snapshot says nothing about the present amounts
		diff = without(diff, "amount")
	} else {
		diff = append(diff, s.differsInSnapshot(pay.Payment)...)
	}
	var out []string
	for _, f := range diff {
		out = append(out, "payment."+f)
	}
	return out
}

// differsInSnapshot returns which of version and refundedElsewhere were given and differ from the stored payment.
func (s PaymentSpec) differsInSnapshot(pay refund.Payment) []string {
	var out []string
	if s.VersionGiven && s.Version != pay.Version {
		out = append(out, "version")
	}
	if s.ElsewhereGiven && s.RefundedElsewhere != pay.RefundedElsewhere {
		out = append(out, "refundedElsewhere")
	}
	return out
}

// capture decides payment.captured.
func (p *planner) capture(in Intake) Outcome {
	c := in.Capture
	ref := PaymentRef{in.Tenant.ID, c.PaymentID}
	pay, known := p.v.Payments[ref]
	switch {
	case known && !pay.Locked:
		return Outcome{Verdict: NotLocked}
	case known:
		return p.moreCaptured(in, ref, pay.Payment)
	}
	spec := PaymentSpec{OrderID: c.OrderID, Amount: c.Amount, Currency: c.Currency, Account: c.Account, Reference: c.Reference, PaidAt: c.PaidAt}
	made, code := p.newPayment(ref, in.Tenant, spec, refund.ByCaptures)
	switch code {
	case "":
		p.create(ref, made)
	case refund.CodePaymentConflict:
		return p.storeReceipt(in, p.conflict(in, code, ConflictPaymentParams, []string{"channelReference"}, refund.RID{}), refund.RID{})
	default:
		return p.refuse(in, code, refund.ByCaptures)
	}
	return p.takeCapture(in, ref)
}

func (p *planner) moreCaptured(in Intake, ref PaymentRef, pay refund.Payment) Outcome {
	c := in.Capture
	spec := PaymentSpec{OrderID: c.OrderID, Amount: pay.Captured, Currency: c.Currency, Account: c.Account, Reference: c.Reference, PaidAt: c.PaidAt}
	diff := spec.Differs(in.Tenant, pay)
	if pay.KnownBy != refund.ByCaptures {
		diff = append(diff, "captureId") // the payment is known by snapshots
	}
	amount, seen := p.v.Captures[CaptureRef{ref, c.CaptureID}]
	if seen && amount != c.Amount {
		diff = append(diff, "amount")
	}
	switch {
	case len(diff) > 0:
		return p.storeReceipt(in, p.conflict(in, refund.CodePaymentConflict, ConflictPaymentParams, diff, refund.RID{}), refund.RID{})
	case seen:
		p.setPaidAt(pay, c.PaidAt)
		return p.storeReceipt(in, Outcome{Verdict: Replayed, Cause: CauseRefund}, refund.RID{})
	case pay.Captured > refund.MaxAmount-c.Amount:
		return p.storeReceipt(in, Outcome{Verdict: Refused, Code: refund.CodeNotExpressible}, refund.RID{})
	}
	pay = p.setPaidAt(pay, c.PaidAt)
	pay.Captured += c.Amount
	p.touched[ref] = true
	p.setPayment(pay.WithExcess())
	p.wake(ref)
	return p.takeCapture(in, ref)
}

func (p *planner) takeCapture(in Intake, ref PaymentRef) Outcome {
	at := CaptureRef{ref, in.Capture.CaptureID}
	p.v.Captures[at] = in.Capture.Amount
	p.plan.Captures = append(p.plan.Captures, NewCapture{at, in.Capture.Amount})
	return p.storeReceipt(in, Outcome{Verdict: Taken}, refund.RID{})
}

// create adds a new payment to the plan and wakes the messages that wait for it.
func (p *planner) create(ref PaymentRef, pay refund.Payment) {
	p.created[ref] = true
	p.v.References[ReferenceRef{pay.Account, pay.Reference}] = ref
	p.setPayment(pay)
	p.wake(ref)
}

// wake wakes the messages that wait for the payment, once.
func (p *planner) wake(ref PaymentRef) {
	if p.v.Waiters[ref] && !p.woken[ref] {
		p.woken[ref] = true
		p.plan.Wakes = append(p.plan.Wakes, refund.Wakeup{RefundRef: refund.RefundRef{Tenant: ref.Tenant}, PaymentID: ref.PaymentID})
	}
}

// setPayment makes a payment's new balances visible to later items.
func (p *planner) setPayment(pay refund.Payment) {
	p.v.Payments[PaymentRef{pay.Tenant, pay.PaymentID}] = SeenPayment{Payment: pay, Locked: true}
}

// balances adds the payments' final state to the plan, in the order in which the items named them.
func (p *planner) balances(g []Intake) {
	for _, in := range g {
		ref := PaymentRef{in.Tenant.ID, in.PaymentID()}
		switch {
		case p.created[ref]:
			p.plan.Payments = append(p.plan.Payments, p.v.Payments[ref].Payment)
		case p.touched[ref]:
			p.plan.Touched = append(p.plan.Touched, p.v.Payments[ref].Payment)
		}
		if p.paid[ref] && !p.created[ref] {
			p.plan.Paid = append(p.plan.Paid, p.v.Payments[ref].Payment)
		}
		delete(p.paid, ref)
		delete(p.created, ref)
		delete(p.touched, ref)
	}
}

// setPaidAt sets the time of payment of a known, locked payment, in the plan and for later items.
func (p *planner) setPaidAt(pay refund.Payment, at time.Time) refund.Payment {
	next := pay.WithPaidAt(at)
	if next == pay {
		return pay
	}
	if p.paid == nil {
		p.paid = map[PaymentRef]bool{}
	}
	p.paid[PaymentRef{pay.Tenant, pay.PaymentID}] = true
	p.setPayment(next)
	return next
}
